import { cpSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeBundle } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';

/** Rows of a size that a few of them fill a segment of 64 MiB. */
const source = `
  import { schema, t, table } from 'reducerdb/server';
  const page = table({ public: true }, { id: t.u32().primaryKey().autoInc(), text: t.string() });
  const db = schema({ page });
  export default db;
  export const fill = db.reducer((ctx) => {
    ctx.db.page.insert({ id: 0, text: 'x'.repeat(7 * 1024 * 1024) });
  });
`;
const fillCount = 11;

let sandbox: Sandbox;
let data: string;
let whole: string;
let folder: string;
/** Of the last commit: each call is one, and so are the coming and the going of its caller. */
let lastOffset = 0;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  data = path.join(sandbox.folder, 'root/data');
  whole = path.join(sandbox.folder, 'whole');
  const bundle = await writeBundle(sandbox, 'pages', source);
  const service = await sandbox.start();
  for (const name of ['big', 'small']) await sandbox.ok(['publish', name, '-j', bundle]);
  const call = (name: string) =>
    fetch(`${sandbox.url}/v1/database/${name}/call/fill`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '[]',
    });
  for (let count = 0; count < fillCount; count++) expect((await call('big')).status).toBe(200);
  expect((await call('small')).status).toBe(200);
  expect(await service.stop()).toBe(0);
  const found = await sandbox.ok(['verify']);
  expect(found).not.toContain('damaged');
  const logs = [...found.matchAll(/(databases\/\S+) +\| intact +\| (\d+) /g)];
  for (const [, log = '', commits] of logs) {
    if (Number(commits) > lastOffset) [folder, lastOffset] = [log, Number(commits)];
  }
  // With a snapshot of its end, which a stop may have taken, more would be known of what is lost.
  for (const name of readdirSync(path.join(data, folder))) {
    if (name.endsWith('.rdbs')) rmSync(path.join(data, folder, name));
  }
  cpSync(data, whole, { recursive: true });
}, 120_000);
afterAll(() => sandbox.remove());

function segments(): string[] {
  const names = readdirSync(path.join(data, folder)).filter((name) => name.endsWith('.log'));
  return names.sort().map((name) => path.join(data, folder, name));
}

/** What a statement is answered with; the rows of `big` are too long to be shown. */
async function ask(name: string): Promise<{ status: number; text: string }> {
  const body = 'SELECT COUNT(*) AS n FROM page';
  const answer = await fetch(`${sandbox.url}/v1/database/${name}/sql`, { method: 'POST', body });
  return { status: answer.status, text: await answer.text() };
}

async function whileRunning(flags: string[], use: (service: RunningService) => Promise<void>) {
  const service = await sandbox.startAt(sandbox.port, flags);
  try {
    await use(service);
  } finally {
    expect(await service.stop()).toBe(0);
  }
}

const losses: [string, () => void][] = [
  ['its last segment', () => rmSync(segments().at(-1) ?? '')],
  [
    'half of its last segment',
    () => {
      const last = segments().at(-1) ?? '';
      const length = readFileSync(last).findLastIndex((byte) => byte !== 0);
      truncateSync(last, Math.floor(length / 2));
    },
  ],
];

it.each(losses)(
  '[P10] a log that lacks %s is refused, and can be accepted',
  async (_what, lose) => {
    rmSync(data, { recursive: true });
    cpSync(whole, data, { recursive: true });
    expect(segments().length).toBe(2);
    lose();

    const verified = await sandbox.run(['verify']);
    expect([verified.code, verified.stderr]).toEqual([1, 'Error: 1 of 3 logs are damaged.\n']);
    const text = /it ends at offset (\d+), but (\d+) was durable: (\d+) commits? (is|are) missing/;
    const [, end, durable, missing] = (text.exec(verified.stdout) ?? []).map(Number);
    expect([durable, missing]).toEqual([lastOffset, lastOffset - Number(end)]);
    const advice = /reducerdb start (--accept-loss-after) ([0-9a-f]{64}:\d+)/.exec(verified.stdout);
    expect(advice?.[2]).toBe(`${path.basename(path.dirname(folder))}:${end}`);

    await whileRunning([], async (service) => {
      expect(await ask('small')).toMatchObject({ status: 200 });
      const refused = await ask('big');
      expect(refused.status).toBe(500);
      expect(refused.text).toMatch(text);
      expect(service.output).toMatch(/"level":50.*no longer serves: .*it ends at offset/);
    });
    for (const [given, words] of [
      [`big:${lastOffset}`, `its log ends at offset ${end}, not ${lastOffset}`],
      ['small:2', 'is complete'],
      [`${end}`, 'Say which database it is'],
      ['nobody:7', '`nobody` not found'],
    ] as const) {
      const args = ['start', '--listen-addr', '127.0.0.1:0', '--accept-loss-after', given];
      const refused = await sandbox.run(args);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain('Error: --accept-loss-after: ');
      expect(refused.stderr).toContain(words);
    }
    const before = segments();

    await whileRunning(['--accept-loss-after', advice?.[2] ?? ''], async (service) => {
      const { status, text } = await ask('big');
      expect(status).toBe(200);
      const count = Number(JSON.parse(text)[0].rows[0][0]);
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThan(fillCount);
      expect(Number(end)).toBeGreaterThan(count);
      expect(service.output).toContain(`the loss of what followed offset ${end} was accepted`);
    });
    const kept = readdirSync(path.join(data, folder)).filter((name) => name.includes('.torn-'));
    expect(kept).toHaveLength(before.length === 2 ? 1 : 0);
    const audit = await sandbox.ok(['audit', '--format', 'json', '--data-dir', data]);
    const line = audit.split('\n').find((one) => one.includes('accept loss')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({
      action: 'accept loss',
      outcome: 'done',
      database: path.basename(path.dirname(folder)),
      after_offset: end,
      missing_commits: missing,
    });
    expect(await sandbox.ok(['verify'])).not.toMatch(/damaged|unreadable|missing/);
  },
  120_000,
);

it.each(['', 'big', 'big:', 'big:x', ':7'])('[cli 8] refuses `%s` as a loss', async (given) => {
  const refused = await sandbox.run(['start', '--accept-loss-after', given]);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain(`--accept-loss-after: \`${given}\` is not <database>:<offset>`);
});
