import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fetchRestore } from '../../backup/fetch.ts';
import type { Repository } from '../../backup/repository.ts';
import type { RestorePlan } from '../../backup/restore-plan.ts';
import { verifyDeeply } from '../../history/deep-verify.ts';
import { verifyStart } from '../../log/verify.ts';
import { MachineDisk } from '../../node/disk.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';

/**
 * Restores a database into a temporary folder, reads it as a start does, and replays it from its
 * snapshot, or from its first commit, to its end. Throws if that cannot be done.
 */
export async function replayPlan(repository: Repository, plan: RestorePlan): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'reducerdb-verify-'));
  try {
    const directory = path.join(folder, 'log');
    await fetchRestore(repository, plan, directory);
    const identity = databaseIdentity(BigInt(`0x${plan.identity}`));
    const disk = new MachineDisk(directory);
    const report = verifyStart(disk, identity);
    if (report.kind !== 'intact') {
      throw new Error('error' in report ? report.error.message : `the log is ${report.kind}`);
    }
    const [fault] = verifyDeeply(disk, identity);
    if (fault !== undefined) throw new Error(`${fault.name}: ${fault.reason}`);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
