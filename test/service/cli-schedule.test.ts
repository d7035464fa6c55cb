import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { logIn, writeFiles } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { jobs } from './jobs-module.ts';
import type { Remote } from './remote.ts';
import { written } from './written-module.ts';

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

const schedule = (...words: string[]) => sandbox.run(['schedule', ...words]);

it('[cli 2.11] list shows what is due, as a table and as JSON', async () => {
  await remote.call('jobs', 'once', [3_600_000, 'later']);
  const [header, , job] = (await sandbox.ok(['schedule', 'list', 'jobs'])).split('\n');
  expect(header).toMatch(
    /^ NAME +\| KIND +\| STATE +\| ARMED +\| NEXT DUE +\| LAST RUN +\| RUNS +\| FAILED +\| LATE +$/,
  );
  const due = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`;
  expect(job).toMatch(new RegExp(`^ job +\\| table +\\| armed +\\| 1 +\\| ${due} \\| +\\| 0 `));
  const { schedules } = JSON.parse(await sandbox.ok(['schedule', 'list', 'jobs', '--json']));
  expect(schedules.map(({ name }: { name: string }) => name)).toEqual(['job', 'secret']);
});

it('[cli 2.11] orders say what they were carried out on', async () => {
  expect(await sandbox.ok(['schedule', 'run', 'jobs', 'job'])).toBe('Run: job.\n');
  expect(await sandbox.ok(['schedule', 'run', 'jobs'])).toBe('Run: nothing.\n');
  await remote.call('jobs', 'once', [3_600_000, 'later']);
  expect(await sandbox.ok(['schedule', 'skip', 'jobs', 'job', '--row', '2'])).toBe(
    'Skipped: job.\n',
  );
  expect(await sandbox.ok(['schedule', 'pause', 'jobs'])).toBe('Paused: job, secret.\n');
  const list = await schedule('list', 'jobs');
  expect(list.stdout).toContain('| paused |');
  expect(list.stderr).toBe('All schedules of jobs are paused.\n');
  expect(await sandbox.ok(['schedule', 'resume', 'jobs'])).toBe('Resumed: job, secret.\n');
  await remote.call('jobs', 'once', [0, 'fail']);
  await expect
    .poll(() => sandbox.ok(['schedule', 'list', 'jobs']))
    .toMatch(/UTC, failed: it failed \|/);
});

it('[cli 2.11] refuse what makes no sense', async () => {
  expect(await schedule('run', 'jobs', '--row', '1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--row needs the name of its schedule'),
  });
  expect(await schedule('pause', 'jobs', 'x')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no schedule `x`'),
  });
  expect(await schedule('pause')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('were not provided:\n  <database>'),
  });
  const program = await written({ tables: { note: '{ public: true }, { id: t.u32() }' } });
  expect((await remote.upload('none', program)).status).toBe(200);
  expect(await sandbox.ok(['schedule', 'list', 'none'])).toBe('There are no schedules in none.\n');
});

it('[cli 2.11, cli 3.5] need no database in a project that names one', async () => {
  const cwd = path.join(sandbox.folder, 'project');
  writeFiles(cwd, { 'service.json': { database: 'jobs' } });
  const run = (...words: string[]) => sandbox.run(['schedule', ...words], { cwd });
  expect((await run('list')).stdout).toContain(' job ');
  expect((await run('pause')).stdout).toBe('Paused: job, secret.\n');
  expect((await run('resume', 'jobs')).stdout).toBe('Resumed: job, secret.\n');
  expect((await run('pause', 'job')).stdout).toBe('Paused: job.\n');
  expect((await run('resume', 'jobs', 'job')).stdout).toBe('Resumed: job.\n');
  await remote.call('jobs', 'once', [3_600_000, 'later']);
  expect((await run('skip', 'job')).stdout).toBe('Skipped: job.\n');
  // Any other word is a database, as elsewhere.
  expect((await run('pause', 'none')).stdout).toBe('Paused: nothing.\n');
  expect(await run('run', 'jbo')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/`jbo` not found\n.*\n`jobs` has no schedule `jbo` either\.\n/),
  });
});
