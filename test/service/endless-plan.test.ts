import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { processTreeBytes } from '../../src/node/process-memory.ts';
import { takeTurns } from '../support/share.ts';
import { figureOf } from './figure.ts';
import { MigratedModules } from './migrated-module.ts';
import { type Answer, type Person, Running } from './running.ts';

/**
 * Migrations that make rows almost without end, in one go, because rows take values of a sequence:
 * nobody is served meanwhile, so somebody has to be able to end them.
 */

/** More than are rewritten at once. */
const rowCount = 60_000;
const rowBytesMax = 64 * 2 ** 20;

const moduleOf = (columns: string) => `
  import { schema, t, table } from 'reducerdb/server';
  const db = schema({
    note: table({ public: true }, { id: t.u64().primaryKey().autoInc(), ${columns} }),
  });
  export default db;
  export const fill = db.reducer({ count: t.u32() }, (ctx, { count }) => {
    for (let at = 0; at < count; at += 1) ctx.db.note.insert({ id: 0n, text: 'a' } as never);
  });
`;
const endless = `m.mapRows('note', () => {
  return Array.from({ length: 2_000 }, (_, at) => ({ id: 0n, text: 'a', at }));
})`;

let modules: MigratedModules;
let first: Uint8Array<ArrayBuffer>;
let next: Uint8Array<ArrayBuffer>;
let backwards: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  modules = new MigratedModules();
  first = await modules.build(moduleOf('text: t.string()'));
  const after = moduleOf('text: t.string(), at: t.u32()');
  next = await modules.build(after, [{ steps: endless, from: first }]);
  const steps = "m.addColumn('note', 'at', { fill: () => 1 })";
  const down = endless.replace(', at }', ' }');
  backwards = await modules.build(after, [{ steps, down, from: first }]);
}, 200_000);
afterAll(() => modules?.remove());

/** The test's process, which has the service, and those of databases. */
const memoryOfService = () => processTreeBytes(process.pid) ?? 0;

const isolations = ['thread', 'process'] as const;

describe.each(isolations)('a migration without end in a %s', { timeout: 300_000 }, (isolation) => {
  let running: Running;
  let owner: Person;

  beforeAll(async () => {
    running = await Running.start({ isolation: { everywhere: isolation } });
    owner = await running.person();
    await running.upload('endless', first, owner);
    expect((await running.call('endless', 'fill', [rowCount])).status).toBe(200);
  }, 200_000);
  afterAll(() => running?.stop());

  const begin = (
    method: 'PUT' | 'POST',
    where: string,
    body: Uint8Array<ArrayBuffer>,
    signal?: AbortSignal,
  ) =>
    fetch(`${running.service.url}/v1/database/endless${where}`, {
      ...{ method, body, headers: { authorization: `Bearer ${owner.token}` } },
      ...(signal && { signal }),
    });
  const trial = (program: Uint8Array<ArrayBuffer>, signal?: AbortSignal) =>
    begin('POST', '/pre_publish?host_type=Js&style=NoColor&trial=true', program, signal);

  /** Calls until one waits so long that it must be for the migration; that one's answer. */
  async function whenNobodyIsServed(): Promise<{ readonly answer: Promise<Answer> }> {
    for (;;) {
      const answer = running.call('endless', 'fill', [0]);
      const waits = new Promise<'waits'>((resolve) => setTimeout(resolve, 2_000, 'waits'));
      if ((await Promise.race([answer, waits])) === 'waits') return { answer };
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function expectAsBefore(waiting: { readonly answer: Promise<Answer> }): Promise<void> {
    expect((await waiting.answer).status).toBe(200);
    const counted = 'SELECT COUNT(*) AS n FROM note';
    expect(await running.rows('endless', counted)).toEqual([[rowCount]]);
    const facts = await running.ask('GET', '/v1/database/endless/deploys', { as: owner });
    expect(JSON.parse(facts.text).deploys).toHaveLength(1);
    // The program that serves is the one of before, in the actor of before.
    expect(await figureOf(running, 'worker_restarts_total')).toBe(0);
  }

  const cancel = () => running.ask('DELETE', '/v1/database/endless/publish', { as: owner });

  it('[living 5.10] ends a plan when it is cancelled, and calls are answered again', async () => {
    const answer = trial(next);
    const waiting = await whenNobodyIsServed();
    expect((await cancel()).text).toBe('{"cancelled":true}');
    const { status, text } = await answer.then(async (one) => {
      return { status: one.status, text: await one.text() };
    });
    expect([status, text]).toEqual([409, expect.stringContaining('was cancelled before its swap')]);
    await expectAsBefore(waiting);
    expect((await cancel()).text).toBe('{"cancelled":false}');
  });

  it('[living 5.10] ends a plan that has not come to the rows yet', async () => {
    const answer = trial(next);
    const cancelled = async () => expect((await cancel()).text).toBe('{"cancelled":true}');
    await vi.waitFor(cancelled, { timeout: 60_000 });
    const { status, text } = await answer.then(async (one) => {
      return { status: one.status, text: await one.text() };
    });
    expect([status, text]).toEqual([409, expect.stringContaining('was cancelled before its swap')]);
  });

  it('[living 5.10] ends a plan when its client leaves, in the way back as well', async () => {
    for (const program of [next, backwards]) {
      const leaving = new AbortController();
      const answer = trial(program, leaving.signal);
      const waiting = await whenNobodyIsServed();
      leaving.abort();
      await expect(answer).rejects.toThrow('abort');
      await expectAsBefore(waiting);
    }
  });

  it('[living 5.8] ends a publish when it is cancelled, and when its client leaves', async () => {
    const plan = JSON.parse((await running.plan('endless', next, owner)).text).AutoMigrate;
    const where = `?host_type=Js&policy=BreakClients&token=${plan.token}`;
    const answer = begin('PUT', where, next);
    const waiting = await whenNobodyIsServed();
    expect((await cancel()).text).toBe('{"cancelled":true}');
    expect((await answer).status).toBe(409);
    await expectAsBefore(waiting);
    const leaving = new AbortController();
    const left = begin('PUT', where, next, leaving.signal);
    const waitingAgain = await whenNobodyIsServed();
    leaving.abort();
    await expect(left).rejects.toThrow('abort');
    await expectAsBefore(waitingAgain);
  });

  it('[living 5.7] ends it by itself when it made too much, and frees the memory', async () => {
    const before = memoryOfService();
    const answer = await trial(next);
    const { failure } = JSON.parse(await answer.text()).AutoMigrate.trial;
    expect(failure).toMatch(/The tables that it makes take more than 512.* MiB, and those/);
    await expectAsBefore({ answer: running.call('endless', 'fill', [0]) });
    // Twice of what one attempt has made would not be free.
    const again = await trial(next);
    expect(await again.text()).toContain('take more than 512');
    const isFree = async () => {
      await running.call('endless', 'fill', [0]);
      return memoryOfService() - before < 800 * 2 ** 20;
    };
    await expect.poll(isFree, { timeout: 60_000 }).toBe(true);
    await expectAsBefore({ answer: running.call('endless', 'fill', [0]) });
  });

  it('[living 5.7] ends it at the quota of the database', async () => {
    const quotas = { 'row-bytes': rowBytesMax };
    const limited = await Running.start({ isolation: { everywhere: isolation }, quotas });
    const ada = await limited.person();
    await limited.upload('endless', first, ada);
    expect((await limited.call('endless', 'fill', [rowCount])).status).toBe(200);
    const plan = await limited.plan('endless', next, ada, '&style=NoColor&trial=true');
    const { failure } = JSON.parse(plan.text).AutoMigrate.trial;
    expect(failure).toMatch(/Quota exceeded: the rows of this database would take/);
    expect((await limited.call('endless', 'fill', [1])).status).toBe(200);
    await limited.stop();
  });

  takeTurns(isolation);
});
