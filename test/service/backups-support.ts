import { mkdirSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { parsePlace } from '../../src/backup/parse-place.ts';
import { initRepository as init } from '../../src/backup/repository.ts';
import { openStore } from '../../src/backup/repository-place.ts';
import type { Remote } from './remote.ts';

/** Makes a folder a repository. */
export async function initRepository(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await init(await openStore(parsePlace(folder)), { nowMicros: Date.now() * 1_000 });
}

/** Waits for a job. */
export async function jobEnd(by: Remote, id: string) {
  for (;;) {
    const job = JSON.parse((await by.ask('GET', `/v1/jobs/${id}`)).text);
    if (job.state !== 'running') return job;
    await wait(20);
  }
}
