import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { type LogRecord, logRecord } from '../../protocol/log-record.ts';
import { JsonError } from '../../values/json-error.ts';
import { parseAs } from '../../values/json-shape.ts';
import type { LogRequest, LogStream } from './module-log.ts';

/** Opens the log of one module. */
type OpenLog = (request: LogRequest) => LogStream;

/** A function that has just crashed. */
export interface Crashed {
  /** Canonical. */
  readonly name: string;
  /** When the call began, in milliseconds. */
  readonly since: number;
}

/** The last lines that a function logged, or that report its failure; oldest first. */
export async function linesOfFunction(open: OpenLog, name: string): Promise<readonly string[]> {
  const lines = await candidates(open, name, limits.agentLogScanLinesMax);
  return lines.filter((line) => recordIn(line)?.function === name);
}

/**
 * Why a function crashed, and where in its source: `Uncaught TypeError: a detail, at
 * src/index.ts:12:9`. `undefined` where the log does not tell, or may not be read.
 */
export async function crashReason(
  open: OpenLog,
  { name, since }: Crashed,
): Promise<string | undefined> {
  try {
    const lines = await candidates(open, name, limits.crashScanLinesMax);
    for (let at = lines.length - 1; at >= 0; at -= 1) {
      const record = recordIn(lines[at] as string);
      if (record === undefined) continue;
      if (record.ts / 1_000 < since) return undefined;
      if (record.level === 'Panic' && record.function === name) return reasonIn(record);
    }
    return undefined;
  } catch (error) {
    // The call has failed all the same.
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** Of the last lines those that may be of the function: most are of others, and not parsed. */
async function candidates(open: OpenLog, name: string, lines: number): Promise<readonly string[]> {
  let text = '';
  const request = { lines, bytesMax: limits.agentLogScanBytesMax, follow: false };
  for await (const chunk of open(request)) text += chunk;
  const mark = `"function":${JSON.stringify(name)}`;
  return text.split('\n').filter((line) => line.includes(mark));
}

/** `undefined` for a line that a full disk or a power cut has torn. */
function recordIn(line: string): LogRecord | undefined {
  try {
    return parseAs(line, logRecord);
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

function reasonIn({ message, trace = [] }: LogRecord): string {
  const place = trace.find((frame) => frame.module_name !== undefined)?.module_name;
  return place === undefined ? message : `${message}, at ${place}`;
}
