import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../support/share.ts';
import { type Person, Running } from './running.ts';
import { writtenFrom } from './written-module.ts';

const moduleWith = (expression: string, options = '') =>
  writtenFrom(`
    import { schema, t, table } from 'reducerdb/server';
    const ran = table(
      { public: true },
      { n: t.u64().primaryKey().autoInc(), due: t.timestamp(), by: t.identity(), late: t.i64() },
    );
    const db = schema({ ran });
    export default db;
    export const tick = db.cron('${expression}'${options}, (ctx, { due }) => {
      const late = ctx.timestamp.since(due).micros;
      ctx.db.ran.insert({ n: 0n, due, by: ctx.sender, late });
    });
    export const twice = db.reducer((ctx) => {
      tick(ctx, { due: ctx.timestamp });
      tick(ctx, { due: ctx.timestamp });
    });`);

const micros = 1_000_000n;

const kinds = someOf(['thread', 'process'] as const, 2);

describe.each(kinds)('crons of a database in a %s', (isolation) => {
  let running: Running;
  let owner: Person;
  beforeAll(async () => {
    running = await Running.start({ isolation: { everywhere: isolation } });
    owner = await running.person();
  });
  afterAll(() => running.stop());

  const dues = async () => {
    const rows = await running.rows('ticking', 'SELECT due FROM ran ORDER BY n');
    // Those of the reducer that is called by hand are at no whole second.
    return rows.map(([due]) => BigInt(due as number)).filter((due) => due % micros === 0n);
  };

  it('[living 1.11] run at each time of their expression once, as the database', async () => {
    const program = await moduleWith('* * * * * *');
    const { status, text } = await running.upload('ticking', program, owner);
    expect([status, status === 200 ? '' : text]).toEqual([200, '']);
    await expect.poll(async () => (await dues()).length, { timeout: 20_000 }).toBeGreaterThan(2);
    const found = await dues();
    expect(new Set(found).size).toBe(found.length);
    expect([...found].sort()).toEqual(found);
    const late = await running.rows('ticking', 'SELECT n FROM ran WHERE late < 0');
    expect(late).toEqual([]);
    const { identity } = running.service.host.database('ticking');
    const hex = identity.toString(16).padStart(64, '0');
    const others = await running.rows('ticking', `SELECT n FROM ran WHERE by <> X'${hex}'`);
    expect(others).toEqual([]);
  });

  it('[living 1.11] are private, and callable from other reducers', async () => {
    const { status, text } = await running.call('ticking', 'tick', [0], undefined);
    expect(status).toBe(404);
    expect(text).toMatch(/^No such procedure\nhint: /);
    expect(text).not.toContain('`tick`');
    expect((await running.call('ticking', 'twice', [], owner)).status).toBe(200);
  });

  it('[living 1.11] go on after an update, and after a restart', async () => {
    const goOn = async () => {
      const last = (await dues()).at(-1) ?? 0n;
      await expect.poll(async () => (await dues()).some((due) => due > last)).toBe(true);
    };
    const patient = await moduleWith('* * * * * *', ", { catchUp: 'once' }");
    expect((await running.upload('ticking', patient, owner)).status).toBe(200);
    await goOn();
    await running.pause();
    const { folder: dataDirectory } = running;
    running = await Running.start({ dataDirectory, isolation: { everywhere: isolation } });
    await goOn();
    const found = await dues();
    expect(new Set(found).size).toBe(found.length);
  });

  it('[living 1.11, migrations 5] are in the plan of an update', async () => {
    const where = '/v1/database/ticking/pre_publish?host_type=Js&style=NoColor';
    const body = await moduleWith('@monthly');
    const plan = JSON.parse((await running.ask('POST', where, { as: owner, body })).text);
    expect(plan.AutoMigrate.migrate_plan).toContain(
      '▸ Removed cron tick (* * * * * *, UTC)\n▸ Created cron tick (@monthly, UTC)\n',
    );
  });

  it('[living 1.11] that cannot be read are refused when they are published', async () => {
    const program = await moduleWith('0 25 * * *');
    const { status, text } = await running.upload('wrong', program, owner);
    expect([status, text]).toEqual([
      500,
      'cron `tick`: hour 25 is not from 0 to 23 (character 3 of `0 25 * * *`)',
    ]);
  });
});
