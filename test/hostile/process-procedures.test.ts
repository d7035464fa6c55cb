import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../service/harness.ts';
import { Sandbox } from '../service/harness.ts';
import { buildText } from '../support/build-text.ts';
import { startTakenOver } from './taken-over.ts';

const source = `
  import { schema, t, table } from 'reducerdb/server';
  const note = table({ public: true }, { id: t.u32().primaryKey().autoInc(), text: t.string() });
  const db = schema({ note });
  export default db;
  export const write = db.reducer({ text: t.string() }, (ctx, { text }) => {
    ctx.db.note.insert({ id: 0, text });
  });
  export const keep = db.procedure({ text: t.string() }, t.u32(), (ctx, { text }) =>
    ctx.withTx((tx) => tx.db.note.insert({ id: 0, text }).id));
  export const escape = db.procedure(t.unit(), () => ({}));
  export const stay = db.procedure(t.unit(), () => ({}));
  export const crash = db.procedure(t.unit(), () => ({}));
`;

/** Procedures that have left their sandbox, and are all that the thread of their lane may be. */
describe.skipIf(!existsSync('/proc/self/status'))('a lane in a process', () => {
  let sandbox: Sandbox;
  let service: RunningService;

  beforeAll(async () => {
    sandbox = await Sandbox.make();
    const data = path.join(sandbox.folder, 'data');
    const flags = ['--isolation', 'process', '--call-timeout', '1s'];
    service = await startTakenOver(sandbox, data, flags);
    const { bytes } = await buildText(source);
    for (const name of ['victim', 'neighbour']) {
      const url = `${service.url}/v1/database/${name}?host_type=Js`;
      const answer = await fetch(url, { method: 'PUT', body: new Uint8Array(bytes) });
      expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
    }
  }, 90_000);
  afterAll(async () => {
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    sandbox.remove();
  });

  async function call(database: string, name: string, args: readonly unknown[] = []) {
    const answer = await fetch(`${service.url}/v1/database/${database}/call/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(args),
    });
    return { status: answer.status, text: await answer.text() };
  }

  async function texts(): Promise<unknown[]> {
    const body = 'SELECT text FROM note';
    const url = `${service.url}/v1/database/victim/sql`;
    const [{ rows }] = (await (await fetch(url, { method: 'POST', body })).json()) as [
      { rows: unknown[][] },
    ];
    return rows.flat();
  }

  /** Calls the neighbour until the call is answered, at least once. */
  async function besides<Result>(asked: Promise<Result>): Promise<Result> {
    let isOver = false;
    void asked.finally(() => {
      isOver = true;
    });
    do {
      expect(await call('neighbour', 'write', ['there'])).toMatchObject({ status: 200 });
    } while (!isOver);
    return asked;
  }

  it('[living 6.2] starts nothing, reads nothing, and reaches no other thread', async () => {
    const { status, text } = await call('victim', 'escape');
    expect([status, text]).toEqual([500, expect.any(String)]);
    const seen = JSON.parse(text.slice(text.indexOf('{'))) as object;
    expect(Object.keys(seen).length).toBeGreaterThan(10);
    expect(new Set(Object.values(seen))).toEqual(new Set(['ERR_ACCESS_DENIED']));
    expect(await call('victim', 'keep', ['after'])).toMatchObject({ status: 200 });
  });

  it('[living 6.3] that the engine cannot end takes its process with it, and nobody else', async () => {
    expect(await call('victim', 'keep', ['before'])).toMatchObject({ status: 200 });
    const { status, text } = await besides(call('victim', 'stay'));
    expect([status, text]).toEqual([503, expect.stringContaining('not known')]);
    expect(service.output).toContain('a procedure of it could not be interrupted');
    await expect.poll(() => call('victim', 'keep', ['after'])).toMatchObject({ status: 200 });
    expect(await texts()).toContain('before');
  });

  it('[living 6.3] that ends its process fails, and leaves every row', async () => {
    expect(await call('victim', 'write', ['written'])).toMatchObject({ status: 200 });
    const { status } = await besides(call('victim', 'crash'));
    expect(status).toBe(503);
    await expect.poll(() => call('victim', 'keep', ['again'])).toMatchObject({ status: 200 });
    expect(await texts()).toContain('written');
  });
});
