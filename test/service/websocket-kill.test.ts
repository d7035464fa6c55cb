import { afterAll, beforeAll, expect, it } from 'vitest';
import { rowsOf } from '../../src/protocol/row-list.ts';
import type { ServerMessage } from '../../src/protocol/v2/server-message.ts';
import { Sandbox } from './harness.ts';
import { Remote } from './remote.ts';
import { Guest } from './socket-guest.ts';
import { tavern } from './tavern-module.ts';

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await Sandbox.make();
});
afterAll(() => sandbox.remove());

it('[durability P4] what a client was told survives kill -9, and it has left since', async () => {
  const before = await sandbox.start();
  const remote = await Remote.of(sandbox.url);
  const { status, text } = await remote.upload('tavern', await tavern());
  expect(text).toContain('Success');
  expect(status).toBe(200);
  const [caller, watcher] = [await arrive(), await arrive()];
  watcher.subscribe(1, 1, 'SELECT * FROM person');
  await watcher.expect('subscribeApplied');
  for (let id = 1; id <= 2_000; id += 1) caller.call(id, 'add', id, 'x', 1);
  const told = new Set<number>();
  const seen = new Set<number>();
  const listening = Promise.all([listenTo(caller, told), listenTo(watcher, seen)]);
  await expect.poll(() => told.size).toBeGreaterThan(100);
  before.child.kill('SIGKILL');
  await Promise.all([listening, before.ended]);
  const after = await sandbox.start();
  const rows = await remote.rows('tavern', 'SELECT id FROM person');
  const kept = new Set(rows.map(([id]) => id as number));
  expect([...told, ...seen].filter((id) => !kept.has(id))).toEqual([]);
  expect(kept.size).toBeGreaterThanOrEqual(told.size);
  const visits = await remote.rows('tavern', 'SELECT kind FROM visit');
  const kinds = visits.map(([kind]) => kind);
  // Each request of the owner comes and goes, too; the last of them is still there.
  expect(kinds.filter((kind) => kind === 'came').length).toBe(
    kinds.filter((kind) => kind === 'left').length + 1,
  );
  expect(await after.stop()).toBe(0);
}, 120_000);

it('[cli 8] SIGTERM under load leaves no call that happened without its answer', async () => {
  const before = await sandbox.start();
  const remote = await Remote.of(sandbox.url);
  const known = new Set(await personsOf(remote));
  const callers = await Promise.all(Array.from({ length: 60 }, () => arrive()));
  const told = new Set<number>();
  const calling = Promise.all(callers.map((caller, at) => callOn(caller, 10_000 * (at + 1), told)));
  await expect.poll(() => told.size, { interval: 1 }).toBeGreaterThan(600);
  before.child.kill('SIGTERM');
  await calling;
  expect(await before.ended).toBe(0);
  const after = await sandbox.start();
  const happened = (await personsOf(remote)).filter((id) => !known.has(id));
  expect(happened.length).toBeGreaterThan(600);
  expect(happened.filter((id) => !told.has(id))).toEqual([]);
  expect(await after.stop()).toBe(0);
}, 120_000);

/** Calls again as soon as it is answered, until its connection ends. */
async function callOn(caller: Guest, firstId: number, told: Set<number>): Promise<void> {
  try {
    for (let id = firstId; ; id += 1) {
      caller.call(id, 'add', id, 'x', 1);
      await caller.expect('reducerResult');
      told.add(id);
    }
  } catch {
    await caller.client.ended;
  }
}

async function personsOf(remote: Remote): Promise<number[]> {
  return (await remote.rows('tavern', 'SELECT id FROM person')).map(([id]) => id as number);
}

function arrive(): Promise<Guest> {
  return Guest.arrive(sandbox.url, 'tavern', { protocols: ['v3.bsatn.spacetimedb'] });
}

/** Notes the ids of persons that the guest is told of, until its connection ends. */
async function listenTo(guest: Guest, ids: Set<number>): Promise<void> {
  try {
    for (;;) for (const id of idsIn(await guest.next())) ids.add(id);
  } catch {
    await guest.client.ended;
  }
}

function idsIn(message: ServerMessage): number[] {
  if (message.kind === 'reducerResult') return [message.requestId];
  if (message.kind !== 'transactionUpdate') return [];
  const changes = message.querySets.flatMap(({ tables }) =>
    tables.flatMap((table) => table.changes),
  );
  return changes.flatMap((change) =>
    change.kind === 'persistent' ? Array.from(rowsOf(change.inserts), idOf) : [],
  );
}

function idOf(row: Uint8Array): number {
  return new DataView(row.buffer, row.byteOffset).getUint32(0, true);
}
