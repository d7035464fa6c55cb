import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fetchRestore } from '../../backup/fetch.ts';
import type { Repository } from '../../backup/repository.ts';
import type { RestorePlan } from '../../backup/restore-plan.ts';
import { verifyStart } from '../../log/verify.ts';
import { MachineDisk } from '../../node/disk.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';

/** Restores a database into a temporary folder, and reads it as a start does; throws if not. */
export async function replayPlan(repository: Repository, plan: RestorePlan): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'reducerdb-verify-'));
  try {
    const directory = path.join(folder, 'log');
    await fetchRestore(repository, plan, directory);
    const identity = databaseIdentity(BigInt(`0x${plan.identity}`));
    const report = verifyStart(new MachineDisk(directory), identity);
    if (report.kind === 'intact') return;
    throw new Error('error' in report ? report.error.message : `the log is ${report.kind}`);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
