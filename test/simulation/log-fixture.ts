import { CommitLog } from '../../src/log/commit-log.ts';
import type { Disk } from '../../src/log/disk.ts';
import { epoch } from '../../src/log/epoch.ts';
import type { LogOptions } from '../../src/log/log-options.ts';
import { Random } from '../../src/testing/random.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';
import { appendTo, randomRecord, textOf } from './log-records.ts';

export interface OpenedLog {
  readonly log: CommitLog;
  /** Content of the records that recovery handed over. */
  readonly found: readonly string[];
  readonly warnings: readonly string[];
}

export async function openLog(disk: Disk, options: Partial<LogOptions> = {}): Promise<OpenedLog> {
  const found: string[] = [];
  const warnings: string[] = [];
  const log = await CommitLog.open(disk, {
    databaseIdentity: databaseIdentity(77n),
    create: true,
    salt: 99,
    epoch: epoch(5n),
    segmentBytes: 4096,
    onRecord: (record) => found.push(textOf(record)),
    warn: (message) => warnings.push(message),
    ...options,
  });
  return { log, found, warnings };
}

/** Appends `count` random records; returns their content. */
export function appendRandom(log: CommitLog, seed: number, count: number): string[] {
  const random = new Random(seed);
  return Array.from({ length: count }, () => {
    const record = randomRecord(random, log.offset + 1);
    appendTo(log, record);
    return textOf(record);
  });
}
