import { afterAll, beforeAll, expect, it } from 'vitest';
import { logIn } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { jobs } from './jobs-module.ts';
import type { Remote } from './remote.ts';

let sandbox: Sandbox;
let service: RunningService;
let remote: Remote;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  remote = await logIn(sandbox);
  expect((await remote.upload('jobs', await jobs())).status).toBe(200);
}, 90_000);
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

it('[cli 2.13] snapshot takes one, and none without a commit since', async () => {
  await remote.call('jobs', 'once', [3_600_000, 'kept']);
  expect(await sandbox.ok(['snapshot', 'jobs'])).toMatch(
    /^Snapshot of jobs at commit \d+: \d+ rows, \d+ bytes, \d+\.\d s\.\n$/,
  );
  expect(await sandbox.ok(['snapshot', 'jobs'])).toMatch(
    /^Nothing was committed to jobs since the snapshot at commit \d+\.\n$/,
  );
  await remote.call('jobs', 'once', [3_600_000, 'too']);
  const taken = JSON.parse(await sandbox.ok(['snapshot', 'jobs', '--json']));
  expect(taken).toMatchObject({ taken: true, rows: expect.any(Number) });
  // A database reports its figures a little later.
  const status = async () => {
    const { text } = await remote.ask('GET', '/v1/database/jobs/history/status');
    return JSON.parse(text);
  };
  await expect.poll(status).toMatchObject({
    newest_snapshot: { offset: taken.offset, bytes: taken.bytes },
    failures: 0,
  });
  expect(await sandbox.run(['snapshot', 'absent'])).toMatchObject({ code: 1 });
});
