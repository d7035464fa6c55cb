import { limits } from '../../limits.ts';
import type { SnapshotPlace } from '../../log/snapshot.ts';
import type { Clock } from '../clock.ts';
import {
  type LogSurroundings,
  NoProgramError,
  type ReplayedLog,
  replayLog,
} from '../open-database.ts';
import { RunningSnapshot, type SnapshotSource } from './running-snapshot.ts';
import { snapshotBytesOf } from './snapshot-bytes.ts';
import { SnapshotJob, type SnapshotSurroundings } from './snapshot-job.ts';

/**
 * Replays a log that nobody has open, as an opening does, and writes a snapshot of all of it to
 * `into`, which can be another folder; no user code runs. It is durable when this resolves. Rejects
 * with `NoProgramError`, `LogDamageError`, or because it cannot be written.
 */
export async function snapshotOfLog(
  options: LogSurroundings & { readonly clock: Clock },
  into: SnapshotSurroundings,
): Promise<SnapshotPlace> {
  const replayed = await replayLog(options);
  try {
    return await write({ ...sourceOf(replayed), clock: options.clock }, into);
  } finally {
    replayed.log.abandon();
  }
}

function sourceOf({ log, store, replay }: ReplayedLog): Omit<SnapshotSource, 'clock'> {
  const { program } = replay;
  if (program === undefined) throw new NoProgramError('the log holds no program');
  const { source, described, publishedMicros, offset: schemaVersion } = program;
  return { log, store, program: { source, described, publishedMicros, schemaVersion } };
}

function write(source: SnapshotSource, into: SnapshotSurroundings): Promise<SnapshotPlace> {
  return new Promise((resolve, reject) => {
    let snapshot: RunningSnapshot | undefined;
    const goOn = (running: RunningSnapshot): void => {
      while (running.isReading && running.hasRoom) running.read(limits.snapshotSliceMillisMax);
      running.tryToFinish();
    };
    const attempt = (step: () => void): void => {
      try {
        step();
      } catch (error) {
        file.cancel();
        reject(error);
      }
    };
    const file = new SnapshotJob(into, snapshotBytesOf(source.store), {
      ready: () =>
        attempt(() => {
          snapshot = new RunningSnapshot(source, file, new Set(), 0);
          goOn(snapshot);
        }),
      taken: (buffer) =>
        attempt(() => {
          snapshot?.taken(buffer);
          if (snapshot !== undefined) goOn(snapshot);
        }),
      finished: () => {
        snapshot?.release();
        if (snapshot !== undefined) resolve(snapshot.place);
      },
      failed: (message) => reject(new Error(message)),
    });
  });
}
