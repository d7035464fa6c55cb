import { hostLine } from '../../database/host-line.ts';
import type { LogsElsewhere } from '../replication/logs-elsewhere.ts';
import { type FollowedLog, type LogRequest, type LogStream, logLineJson } from './module-log.ts';

/** Asks the other hosts for their newest lines; never rejects. */
export type AskLogs = (lines: number) => Promise<LogsElsewhere>;

/**
 * The log of a module whose database several hosts have led. Lines that follow are those of this
 * host, which leads it now. Throws `Refusal` like `FollowedLog`.
 */
export function logOfAllHosts(log: FollowedLog, request: LogRequest, ask: AskLogs): LogStream {
  const { lines, bytesMax, follow } = request;
  const nowMicros = BigInt(Date.now()) * 1_000n;
  if (!follow) {
    const open = (): LogStream => log.read(request);
    return wholeLog(open, lines, () => ask(lines ?? Number.MAX_SAFE_INTEGER), nowMicros);
  }
  const { tail, stream } = log.follow({ lines, bytesMax });
  if (lines === undefined || lines === 0) return stream;
  const head = wholeLog(
    () => piecesOf(tail),
    lines,
    () => ask(lines),
    nowMicros,
  );
  return followedBy(head, stream);
}

async function* wholeLog(
  open: () => LogStream,
  lines: number | undefined,
  ask: () => Promise<LogsElsewhere>,
  nowMicros: bigint,
): LogStream {
  yield* mergedLog({ open, elsewhere: await ask(), lines, nowMicros });
}

async function* piecesOf(text: string): LogStream {
  if (text !== '') yield text;
}

/** Its end does not wait for a line to come, as that of a generator would. */
function followedBy(head: LogStream, stream: LogStream): LogStream {
  let isPast = false;
  return {
    async next() {
      if (!isPast) {
        const next = await head.next();
        if (next.done !== true) return next;
        isPast = true;
      }
      return stream.next();
    },
    return: async () => (await stream.return?.()) ?? { done: true, value: undefined },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

export interface MergedLogOptions {
  /** Opens this host's log, without lines to come; called once or twice. */
  readonly open: () => LogStream;
  readonly elsewhere: LogsElsewhere;
  /** Lines from the end; `undefined` = all. */
  readonly lines: number | undefined;
  readonly nowMicros: bigint;
}

/**
 * The log of a module whose database several hosts have led, by the times of its lines; a first
 * line names hosts whose lines are missing.
 */
export async function* mergedLog({
  open,
  elsewhere,
  lines,
  nowMicros,
}: MergedLogOptions): LogStream {
  if (elsewhere.silent.length > 0) yield `${missingLine(elsewhere.silent, nowMicros)}\n`;
  const others = elsewhere.texts
    .flatMap(linesIn)
    .map((line) => ({ line, micros: microsOf(line) }))
    .sort((one, other) => one.micros - other.micros);
  let skipped = 0;
  if (lines !== undefined && others.length > 0) {
    let count = others.length;
    for await (const piece of open()) count += linesIn(piece).length;
    skipped = Math.max(0, count - lines);
  }
  const left = (some: readonly string[]): string => {
    const shown = some.slice(skipped);
    skipped = Math.max(0, skipped - some.length);
    return shown.map((line) => `${line}\n`).join('');
  };
  let at = 0;
  for await (const piece of open()) {
    const merged: string[] = [];
    for (const line of linesIn(piece)) {
      const micros = microsOf(line);
      for (; at < others.length; at += 1) {
        const other = others[at];
        if (other === undefined || other.micros > micros) break;
        merged.push(other.line);
      }
      merged.push(line);
    }
    const text = left(merged);
    if (text !== '') yield text;
  }
  const rest = left(others.slice(at).map(({ line }) => line));
  if (rest !== '') yield rest;
}

function linesIn(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** The first number by that name is the line's own. A torn line is as old as can be. */
function microsOf(line: string): number {
  return Number(/"ts":(\d+)/.exec(line)?.[1] ?? 0);
}

function missingLine(hosts: readonly string[], micros: bigint): string {
  const who = hosts.length === 1 ? 'This host did not answer' : 'These hosts did not answer';
  const message = `${who}, and what was logged there is missing: ${hosts.join(', ')}`;
  return logLineJson({ micros, line: hostLine('warn', message) });
}
