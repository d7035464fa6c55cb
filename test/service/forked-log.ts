import path from 'node:path';
import { CommitLog } from '../../src/log/commit-log.ts';
import { epoch } from '../../src/log/epoch.ts';
import { MachineDisk } from '../../src/node/disk.ts';
import type { TableChange } from '../../src/store/change-set.ts';
import { commitOffset } from '../../src/store/commit-offset.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { identityFromHex } from '../../src/values/identity.ts';
import { callerIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';

/** A commit that each writer makes, after those that both have. */
export interface ForkedWriter {
  readonly commits: number;
  /** Rows of the commit of this number, from 1. */
  readonly tables?: (number: number) => TableChange[];
}

/**
 * Has two writers open the log of a stopped service, `log-<n>` of a database, and write to it by
 * turns, as two services did before anything kept them apart. Both leave it in order. The second
 * one begins, with a segment of its own, so that both have all that they wrote.
 */
export async function forkLog(
  directory: string,
  first: ForkedWriter,
  second: ForkedWriter,
): Promise<void> {
  const logs = [await open(directory), await open(directory, 1)] as const;
  for (let number = 1; number <= Math.max(first.commits, second.commits); number++) {
    if (number <= second.commits) await commit(logs[1], second.tables?.(number) ?? []);
    if (number <= first.commits) await commit(logs[0], first.tables?.(number) ?? []);
  }
  for (const log of logs) await log.close();
}

function open(directory: string, segmentBytes?: number): Promise<CommitLog> {
  const identity = identityFromHex(path.basename(path.dirname(directory)));
  if (identity === undefined) throw new Error(`${directory} is not the log of a database`);
  return CommitLog.open(new MachineDisk(directory), {
    databaseIdentity: databaseIdentity(identity),
    create: false,
    salt: 0,
    epoch: epoch(5n),
    onRecord: () => undefined,
    warn: () => undefined,
    ...(segmentBytes === undefined ? {} : { segmentBytes }),
  });
}

async function commit(log: CommitLog, tables: readonly TableChange[]): Promise<void> {
  const nothing = new Uint8Array(0);
  log.appendCommit(
    { offset: commitOffset(log.offset + 1), tables, sequences: [] },
    {
      reducer: '',
      caller: callerIdentity(0n),
      connectionId: connectionNumber(0n),
      timestampMicros: BigInt(Date.now()) * 1000n,
      seed: nothing,
      args: nothing,
    },
  );
  await log.sync();
}
