import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tableId } from '../../src/schema/ids.ts';
import { emptyRowList, type TableChange } from '../../src/store/change-set.ts';
import { forkLog } from './forked-log.ts';
import { Sandbox } from './harness.ts';
import { unpackOldData } from './old-data.ts';

let sandbox: Sandbox;
let data: string;
let identity: string;
let log: string;

beforeEach(async () => {
  sandbox = await Sandbox.make();
  data = path.join(sandbox.folder, 'root/data');
  unpackOldData(data);
  [identity = ''] = readdirSync(path.join(data, 'databases'));
  log = path.join(data, 'databases', identity, 'log-1');
});
afterEach(() => sandbox.remove());

/** A row of the table `entry` of that database: an id of 64 bits, and a number of 32. */
function entryRow(number: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32LE(number, 0);
  bytes.writeUInt32LE(number, 8);
  return bytes;
}

function entryChange(number: number): TableChange {
  const inserts = { count: 1, bytes: entryRow(number) };
  return { tableId: tableId(4096), inserts, deletes: emptyRowList, truncated: false };
}

/** All files of the log, by their names. */
function contents(): Map<string, string> {
  const files = readdirSync(log).filter((name) => statSync(path.join(log, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(path.join(log, name), 'base64')]));
}

async function entries(): Promise<string> {
  const where = `${sandbox.url}/v1/database/counted/sql`;
  const answer = await fetch(where, { method: 'POST', body: 'SELECT number FROM entry' });
  return answer.text();
}

async function expectRefused(words: readonly string[], code: number, text: string): Promise<void> {
  const refused = await sandbox.run(['repair', 'counted', ...words]);
  expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(text)]);
}

/** Numbers from 101 are of the one writer, those from 201 of the other. */
async function fork(): Promise<void> {
  const first = { commits: 3, tables: (number: number) => [entryChange(100 + number)] };
  const second = { commits: 5, tables: (number: number) => [entryChange(200 + number)] };
  await forkLog(log, first, second);
}

it('[cli 7.8] a forked history is shown, and nothing is changed', async () => {
  await fork();
  const before = contents();
  const verified = await sandbox.run(['verify']);
  expect([verified.code, verified.stderr]).toEqual([1, 'Error: 1 of 2 logs are forked.\n']);
  expect(verified.stdout).toMatch(new RegExp(`${identity}/log-1 \\| forked +\\| `));
  const flag = `--data-dir ${data}`;
  const command = `reducerdb repair ${identity} ${flag}`;
  expect(verified.stdout).toContain(`\`${command}\` shows what each has written`);
  for (const line of verified.stdout.split('\n').slice(0, 4)) {
    expect(line.length).toBeLessThan(180);
  }

  const shown = await sandbox.run(['repair', 'counted']);
  const fault = 'Error: The history is forked. Nothing was changed.\n';
  expect([shown.code, shown.stderr]).toEqual([1, fault]);
  expect(shown.stdout).toMatch(/^ common +\| 1 to 12 +\| 12 /m);
  expect(shown.stdout).toMatch(/^ tail 1 +\| 13 to 15 +\| 3 +\| \+3 -0 .* UTC \| .* UTC/m);
  expect(shown.stdout).toMatch(/^ tail 2 +\| 13 to 17 +\| 5 +\| \+5 -0 /m);
  expect(shown.stdout).toMatch(/^tail 2: commit-00000002-0+13\.log, bytes 0 to \d+$/m);
  expect(shown.stdout).toContain('The segments lead to tail 1');
  expect(shown.stdout).toContain(`reducerdb repair counted --keep 2 ${flag}`);

  const asked = await sandbox.run(['repair', identity, '--json']);
  expect(asked.code).toBe(1);
  expect(JSON.parse(asked.stdout)).toMatchObject({
    database: identity,
    log,
    state: 'forked',
    parting_known: true,
    common: { first_offset: 1, last_offset: 12, commits: 12 },
    tails: [
      { tail: 1, can_be_kept: true, first_offset: 13, last_offset: 15, is_first: true },
      { tail: 2, can_be_kept: true, first_offset: 13, last_offset: 17, is_first: false },
    ],
  });
  await expectRefused(['--keep', 'x'], 2, '--keep must be the number of a tail, or common');
  await expectRefused(['--keep', '3'], 1, 'there is no tail 3');
  const no = await sandbox.run(['repair', 'counted', '--keep', '2'], { input: 'n\n' });
  expect(no.code).toBe(0);
  expect(no.stdout).toContain('will end after offset 17; 3 commits are set aside. Proceed? [y/N]');
  expect(no.stdout).toContain('nothing was changed');
  expect(contents()).toEqual(before);
}, 120_000);

it('[cli 7.8] one tail is kept, the other is set aside, and the database serves', async () => {
  await fork();
  const before = contents();
  const service = await sandbox.start();
  const refused = await entries();
  expect(refused).toContain('forked history: ');
  expect(refused).toContain(
    `\`reducerdb repair ${identity}\` (with the --data-dir of the service)`,
  );
  await expectRefused(['--keep', '2', '--yes'], 1, 'Stop the service first');
  expect(await service.stop()).toBe(0);
  expect(service.output).toMatch(/"level":50.*forked history/);
  expect(contents()).toEqual(before);

  const kept = await sandbox.ok(['repair', 'counted', '--keep', '2'], { input: 'y\n' });
  const aside = /^Set aside, not deleted: (.*)$/m.exec(kept)?.[1] ?? '';
  expect(aside).toBe(path.join(path.dirname(log), 'set-aside-1'));
  const saved = readdirSync(aside).filter((name) => name !== 'report.json');
  expect(saved.length).toBeGreaterThan(1);
  for (const name of saved) {
    expect(readFileSync(path.join(aside, name), 'base64')).toBe(before.get(name));
  }
  const report = JSON.parse(readFileSync(path.join(aside, 'report.json'), 'utf8'));
  expect(report).toMatchObject({ kept: 2, state: 'forked', tails: [{ tail: 1 }, { tail: 2 }] });
  const again = await sandbox.ok(['repair', 'counted', '--keep', '2', '--yes']);
  expect(again).toContain('there is nothing to repair');
  const audit = await sandbox.ok(['audit', '--format', 'json', '--data-dir', data]);
  const line = audit.split('\n').find((one) => one.includes('repair log')) ?? '{}';
  expect(JSON.parse(line)).toMatchObject({ database: identity, kept: '2', set_aside: aside });

  const next = await sandbox.start();
  const rows = await entries();
  for (const number of [1, 2, 3, 201, 205]) expect(rows).toContain(`[${number}]`);
  expect(rows).not.toContain('[101]');
  expect(await next.stop()).toBe(0);
}, 120_000);

it('[durability 5.2] what is damaged is shown, and the part before can be kept', async () => {
  const [segment = ''] = readdirSync(log);
  const file = path.join(log, segment);
  const bytes = readFileSync(file);
  const at = bytes.indexOf(entryRow(2));
  bytes[at] = (bytes[at] ?? 0) ^ 16;
  writeFileSync(file, bytes);
  const shown = await sandbox.run(['repair', 'counted']);
  const fault = 'Error: The log is damaged. Nothing was changed.\n';
  expect([shown.code, shown.stderr]).toEqual([1, fault]);
  const [, end, behind] = /^ common +\| 1 to (\d+) [\s\S]*\n lost +\| \d+ to 12 +\| (\d+) /m
    .exec(shown.stdout)
    ?.map(Number) ?? [0, 0, 0];
  expect(behind).toBe(12 - Number(end) - 1);
  expect(shown.stdout).toContain('What follows the damage cannot be kept');
  expect(shown.stdout).not.toContain('tail');
  expect(shown.stdout).toContain(`reducerdb repair counted --keep common --data-dir ${data}`);
  await expectRefused(['--keep', '1', '--yes'], 1, 'keep `common`');
  const kept = await sandbox.ok(['repair', 'counted', '--keep', 'common', '--yes']);
  expect(kept).toContain(`the loss of what followed offset ${end} was accepted`);
  expect(kept).toContain(`Commits missing: ${12 - Number(end)}`);
  expect(kept).toContain(`The log of counted opens again and continues after offset ${end}.`);
  expect(readdirSync(log)).toContain(`${segment}.torn-1`);
  expect((await sandbox.ok(['verify'])).match(/intact/g)).toHaveLength(2);
}, 120_000);
