import { limits } from '../limits.ts';
import type { LogPoint } from '../log/log-point.ts';
import type { LogName } from './log-name.ts';
import type { Replica } from './replica.ts';
import { restOf } from './rest-of.ts';
import { EngineError, type SharedLog } from './shared-log.ts';
import { Tail, type TailStep } from './tail.ts';

/** Takes in what a shared log holds. */
export interface LogSink extends Pick<Replica, 'begin' | 'apply'> {
  /** What begins at a snapshot, where the log does not begin with entry 0; absent: nothing can. */
  readonly copy?: Pick<Replica, 'restart' | 'startPosition' | 'end'>;
}

export interface FetchOptions {
  /** The last entry to read; absent: as far as the engine shows them. */
  readonly last?: number | undefined;
  /** Called after each read with the bytes of entries that were read in all. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/**
 * Reads a shared log from its beginning, checks every entry against all before it, and hands what
 * they hold to `sink`. Rejects with `EngineError`, also for a log that contradicts itself.
 */
export async function fetchLog(
  sharedLog: Pick<SharedLog, 'read'>,
  log: LogName,
  sink: LogSink,
  { last = Number.MAX_SAFE_INTEGER, onBytes }: FetchOptions = {},
): Promise<Tail> {
  const tail = new Tail();
  let bytes = 0;
  while (tail.next <= last) {
    const answer = await sharedLog.read(log, tail.next, limits.sharedReadBytesMax);
    if (answer.first > tail.next && tail.next > 0) throw new EngineError(cutText);
    for (const entry of answer.entries.filter(({ seq }) => seq <= last)) {
      const before = tail.point;
      const step = tail.accept(entry);
      if (step.kind === 'fault') {
        throw new EngineError(
          `the shared log is damaged: entry ${entry.seq}: ${step.fault.reason}`,
        );
      }
      if (step.kind === 'beginning') await sink.begin(step.beginning);
      if (step.kind === 'restart') await restart(sink, step);
      if (step.kind === 'records') await apply(sink, step, before);
      bytes += entry.bytes.length;
    }
    onBytes?.(bytes);
    if (answer.entries.length === 0) break;
  }
  return tail;
}

type Step<Kind extends TailStep['kind']> = Extract<TailStep, { readonly kind: Kind }>;

async function restart({ copy }: LogSink, { beginning, point }: Step<'restart'>): Promise<void> {
  if (await copy?.restart(beginning, point)) return;
  throw new EngineError(`entries up to commit ${point.offset} are gone, without a snapshot`);
}

async function apply(sink: LogSink, step: Step<'records'>, before: LogPoint): Promise<void> {
  const { copy } = sink;
  const begins = copy?.startPosition ?? 0;
  if (copy === undefined || before.position >= begins) return sink.apply(step);
  if (step.end.position <= begins) return;
  const rest = restOf(step, before, copy);
  if (rest === undefined) throw new EngineError('the snapshot is none of the log');
  await sink.apply(rest);
}

const cutText = 'entries were removed while they were read; try again';
