import { databasePath, send } from './http.ts';
import { type Json, listOf, numberOf, objectOf, parseJson, textOf } from './json.ts';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'panic';

/** A line of the log of a module. */
export interface LogLine {
  /** Counts the lines of this page, to tell them apart. */
  readonly id: number;
  readonly level: LogLevel;
  /** Milliseconds since the Unix epoch. */
  readonly millis: number;
  /** Empty: outside of any function. */
  readonly function: string;
  /** Such as `src/index.ts:16`; empty: not known. */
  readonly place: string;
  readonly message: string;
  readonly trace: readonly { readonly function: string; readonly place: string }[];
  /** True for lines of the service itself. */
  readonly isOfHost: boolean;
  /** As it came. */
  readonly text: string;
}

let lastId = 0;

/** The last `count` lines. */
export async function readLog(
  database: string,
  count: number,
  signal?: AbortSignal,
): Promise<readonly LogLine[]> {
  const path = `${databasePath(database, 'logs')}?num_lines=${count}`;
  const answer = await send(path, signal === undefined ? {} : { signal });
  return linesOf(await answer.text());
}

/**
 * Follows the log: the last `count` lines, then those to come, handed to `onLines` in the pieces
 * in which they come. Ends when the service ends it.
 */
export async function followLog(
  database: string,
  count: number,
  options: {
    readonly onOpen: () => void;
    readonly onLines: (lines: readonly LogLine[]) => void;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { onOpen, onLines, signal } = options;
  const path = `${databasePath(database, 'logs')}?num_lines=${count}&follow=true`;
  const answer = await send(path, { signal });
  onOpen();
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let rest = '';
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    const text = rest + value;
    const end = text.lastIndexOf('\n') + 1;
    rest = text.slice(end);
    if (end > 0) onLines(linesOf(text.slice(0, end)));
  }
}

function linesOf(text: string): readonly LogLine[] {
  return text.split('\n').flatMap((line) => (line === '' ? [] : [lineOf(line)]));
}

const hostTarget = '__spacetimedb__';

function lineOf(text: string): LogLine {
  const body = objectOf(parsed(text));
  const [file, line] = [textOf(body.filename), numberOf(body.line_number)];
  const isOfHost = body.target === hostTarget;
  lastId += 1;
  return {
    id: lastId,
    level: textOf(body.level).toLowerCase() as LogLevel,
    millis: (numberOf(body.ts) ?? 0) / 1_000,
    function: isOfHost ? '' : textOf(body.function),
    place: isOfHost || file === '' ? '' : line === null ? file : `${file}:${line}`,
    message: textOf(body.message),
    trace: listOf(body.trace).map((each) => {
      const { func_name: name, module_name: place } = objectOf(each);
      return { function: textOf(name), place: textOf(place) };
    }),
    isOfHost,
    text,
  };
}

function parsed(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return { message: text };
  }
}
