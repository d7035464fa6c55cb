import { list, number, object, optional, type Shaped, string } from '../values/json-shape.ts';

const frame = object({ module_name: optional(string), func_name: optional(string) });

/** One line of a module's log, as the service stores and shows it; absent keys are omitted. */
export const logRecord = object({
  /** `Info`, `Panic`, …: a capitalized word. */
  level: string,
  /** Microseconds since the Unix epoch. */
  ts: number,
  target: optional(string),
  filename: optional(string),
  line_number: optional(number),
  function: optional(string),
  message: string,
  trace: optional(list(frame)),
});

export type LogRecord = Shaped<typeof logRecord>;
