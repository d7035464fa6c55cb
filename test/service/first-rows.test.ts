import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { rowsOf } from '../../src/protocol/row-list.ts';
import type { TransactionUpdate } from '../../src/protocol/v2/server-message.ts';
import { Running } from './running.ts';
import { Guest } from './socket-guest.ts';
import { written } from './written-module.ts';

const module = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../bench/modules/board');
const count = 400_000;
let running: Running;

beforeAll(async () => {
  running = await Running.start();
  const owner = await running.person();
  const { program } = await buildModule(module, {});
  const { status, text } = await running.upload('board', new Uint8Array(program), owner);
  if (status !== 200) throw new Error(text);
  const writer = await arrive();
  writer.call(1, 'join', 0, count);
  await writer.expect('reducerResult');
  await writer.client.close();
});
afterAll(() => running.stop());

const arrive = () => Guest.arrive(running.service.url, 'board', { query: 'compression=None' });

/** Ids that an update brings; a u32 stands first in the row. */
function idsIn({ querySets }: Pick<TransactionUpdate, 'querySets'>): number[] {
  const changes = querySets.flatMap(({ tables }) => tables.flatMap((table) => table.changes));
  return changes.flatMap((change) => (change.kind === 'persistent' ? ids(change.inserts) : []));
}

function ids(rows: Parameters<typeof rowsOf>[0]): number[] {
  return Array.from(rowsOf(rows), (row) =>
    new DataView(row.buffer, row.byteOffset).getUint32(0, true),
  );
}

describe('many first rows', () => {
  it('[subscriptions 2, 6] are those of one commit; others write, and what they write follows', async () => {
    const [watcher, writer] = await Promise.all([arrive(), arrive()]);
    watcher.subscribe(1, 1, 'SELECT * FROM player');
    watcher.call(2, 'join', count, 1);
    const written: number[] = [];
    const applied = watcher.expect('subscribeApplied');
    let isApplied = false;
    void applied.then(() => {
      isApplied = true;
    });
    for (let id = count + 1; !isApplied || written.length < 3; id += 1) {
      writer.call(id, 'join', id, 1);
      await writer.expect('reducerResult');
      written.push(id);
    }
    const [first] = (await applied).tables;
    const seen = new Set(first === undefined ? [] : ids(first.rows));
    // Writers who came before it are in the rows, all later ones in updates, each once.
    const before = written.filter((id) => seen.has(id));
    expect(before).toEqual(written.slice(0, before.length));
    expect(seen.size).toBe(count + before.length);
    const told: number[] = [];
    while (told.length < written.length - before.length + 1) {
      const message = await watcher.next();
      if (message.kind === 'transactionUpdate') told.push(...idsIn(message));
      if (message.kind !== 'reducerResult' || message.outcome.kind !== 'ok') continue;
      told.push(...idsIn(message.outcome));
    }
    const own = told.indexOf(count);
    expect(own).toBeGreaterThanOrEqual(0);
    expect(told.toSpliced(own, 1)).toEqual(written.slice(before.length));
    await Promise.all([watcher.client.close(), writer.client.close()]);
  });

  it('[subscriptions 14.3] end with their client, and the database goes on', async () => {
    const [watcher, writer] = await Promise.all([arrive(), arrive()]);
    watcher.subscribe(1, 1, 'SELECT * FROM player');
    writer.call(1, 'join', 2 * count, 1);
    await writer.expect('reducerResult');
    watcher.client.socket.terminate();
    writer.call(2, 'join', 2 * count + 1, 1);
    expect((await writer.expect('reducerResult')).outcome.kind).toBe('ok');
    await writer.client.close();
  });
});

describe('many first rows of a database with a bound on calls', () => {
  const tables = { item: '{ public: true }, { id: t.u32().primaryKey(), text: t.string() }' };
  const exports = `
    export const fill = db.reducer({ from: t.u32() }, (ctx, { from }) => {
      for (let id = from; id < from + 20_000; id++) ctx.db.item.insert({ id, text: 'item ' + id });
    });
    export const spin = db.reducer(() => { for (;;) {} });
  `;

  it('[websocket 7] once they are told, a call without an end is still ended', async () => {
    const other = await Running.start({ budget: { callMillisMax: 2_000 } });
    try {
      const owner = await other.person();
      await other.upload('spinning', await written({ tables, exports }), owner);
      const guest = await Guest.arrive(other.service.url, 'spinning', {});
      for (let from = 0; from < 200_000; from += 20_000) {
        guest.call(from, 'fill', from);
        await guest.expect('reducerResult');
      }
      for (let set = 0; set < 4; set += 1) {
        guest.subscribe(set, set, `SELECT * FROM item WHERE id > ${set}`);
        await guest.expect('subscribeApplied');
      }
      guest.call(1, 'spin');
      const { outcome } = await guest.expect('reducerResult');
      expect(outcome).toMatchObject({ kind: 'internalError' });
    } finally {
      await other.stop();
    }
  });
});
