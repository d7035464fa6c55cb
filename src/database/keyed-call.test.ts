import { describe, expect, it } from 'vitest';
import {
  createTiny,
  namesIn,
  openTiny,
  queryTiny,
  tinyDatabase,
} from '../../test/support/tiny-database.ts';
import { programHash } from '../host/linking/program-hash.ts';
import { registryReducers } from '../host/registry/registry-module.ts';
import type { SupervisedDatabase } from '../host/supervision/supervised-database.ts';
import { limits } from '../limits.ts';
import { MemoryDisk } from '../node/memory-disk.ts';
import { emptyCatalog } from '../schema/build-catalog.ts';
import { ownerRights, strangerRights } from '../sql/rights.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { Store } from '../store/store.ts';
import { TestClock } from '../testing/test-clock.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { encodeValue } from '../values/encode.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { KeptOutcomes } from './kept-outcomes.ts';
import type { CallOutcome, Rights } from './outcome.ts';
import { hasRole, narrowed, rightsOfRole } from './rights.ts';

const day = 24 * 3_600_000;

interface Given {
  readonly key?: string;
  readonly as?: bigint;
  readonly rights?: Rights;
}

let connections = 0n;

/** Puts a name under a key. */
async function put(
  database: SupervisedDatabase,
  name: string,
  { key = 'k', as = 1n, rights = ownerRights }: Given = {},
): Promise<CallOutcome> {
  const { schemaVersion } = await database.describe();
  connections += 1n;
  return database.call({
    caller: { identity: callerIdentity(as), rights, jwtPayload: '' },
    connection: { kind: 'temporary', id: connectionNumber(connections) },
    reducer: 'put_name',
    args: encodeValue(registryReducers.put_name, [name, 1n, 2n]),
    schemaVersion,
    confirmed: true,
    idempotencyKey: key,
  });
}

const offsetOf = (outcome: CallOutcome) =>
  outcome.kind === 'committed' ? outcome.offset : outcome.error;

const codeOf = (outcome: CallOutcome) =>
  outcome.kind === 'committed' ? 'committed' : outcome.error.code;

const keptIn = async (database: SupervisedDatabase) =>
  (await queryTiny(database, 'SELECT * FROM st_idempotency')).rowCount;

async function opened(disk = new MemoryDisk(), clock = new TestClock()) {
  const database = tinyDatabase(disk, createTiny, undefined, [], { clock });
  await database.started();
  return { database, clock, disk };
}

describe('a call with an idempotency key', () => {
  it('[ease 4.11] runs once, and is answered with its first outcome again', async () => {
    const { database } = await opened();
    const first = offsetOf(await put(database, 'a'));
    const before = await namesIn(database);
    expect(offsetOf(await put(database, 'a'))).toBe(first);
    expect(offsetOf(await put(database, 'a'))).toBe(first);
    expect(await namesIn(database)).toEqual(before);
    expect(await keptIn(database)).toBe(1);
    await database.close();
  });

  it('[ease 4.11] is one of its caller, its function and its key', async () => {
    const { database } = await opened();
    const own = offsetOf(await put(database, 'a'));
    const others = [
      offsetOf(await put(database, 'a', { as: 2n })),
      offsetOf(await put(database, 'a', { key: 'K' })),
    ];
    expect(new Set([own, ...others]).size).toBe(3);
    await database.close();
  });

  it('[ease 4.11] is refused with other arguments, and changes nothing', async () => {
    const { database } = await opened();
    await put(database, 'a');
    const outcome = await put(database, 'b');
    expect(outcome).toMatchObject({
      kind: 'aborted',
      error: {
        code: 'idempotency.refused',
        message:
          'The idempotency key "k" belongs to a call of put_name with other arguments; nothing ' +
          'was done. Use a new key for each new call',
      },
    });
    expect((await namesIn(database)).map(({ name }) => name)).toEqual(['a']);
    await database.close();
  });

  it('[ease 4.11] that fails is not kept, and runs again', async () => {
    const { database } = await opened();
    const codes = [
      codeOf(await put(database, 'waste')),
      codeOf(await put(database, 'waste')),
      // So the key is still free.
      codeOf(await put(database, 'a')),
    ];
    expect(codes).toEqual(['reducer.refused', 'reducer.refused', 'committed']);
    expect(await keptIn(database)).toBe(1);
    await database.close();
  });

  it('[ease 4.11] asks for the rights again before it is answered', async () => {
    const { database } = await opened();
    await put(database, 'a');
    const isReadOnly = { ...ownerRights, key: 'reads', isReadOnly: true };
    const others = { ...ownerRights, key: 'others', reducers: new Set(['put_grant']) };
    expect([
      codeOf(await put(database, 'a', { rights: isReadOnly })),
      codeOf(await put(database, 'a', { rights: others })),
      codeOf(await put(database, 'a')),
    ]).toEqual(['call.readOnly', 'reducer.unknown', 'committed']);
    await database.close();
  });

  it('[ease 4.11] is answered after a restart', async () => {
    const { database, disk, clock } = await opened();
    const first = offsetOf(await put(database, 'a'));
    await put(database, 'b', { key: 'of b' });
    await database.close();
    const again = tinyDatabase(disk, openTiny, undefined, [], { clock });
    await again.started();
    expect(offsetOf(await put(again, 'a'))).toBe(first);
    expect(codeOf(await put(again, 'c'))).toBe('idempotency.refused');
    expect(await keptIn(again)).toBe(2);
    await again.close();
  });

  it('[ease 4.11] is kept for 24 hours, and its row is removed some time after', async () => {
    const { database, clock } = await opened();
    const first = offsetOf(await put(database, 'a'));
    await clock.advance(day - 1);
    expect(offsetOf(await put(database, 'a'))).toBe(first);
    await clock.advance(1);
    const second = offsetOf(await put(database, 'b'));
    expect(second).toBeGreaterThan(Number(first));
    expect(offsetOf(await put(database, 'b'))).toBe(second);
    expect(await keptIn(database)).toBe(1);
    // What had the key before must not take the later outcome with it.
    await clock.advance(limits.keptOutcomeMillis / 2);
    await put(database, 'c', { key: 'of c' });
    expect(offsetOf(await put(database, 'b'))).toBe(second);
    await clock.advance(day);
    await put(database, 'd', { key: 'of d' });
    expect(await keptIn(database)).toBe(1);
    await database.close();
  });

  it('[ease 4.11] is refused beyond 10,000 of one identity, until some expire', async () => {
    const { database, clock } = await opened();
    const most = limits.callerKeptOutcomesMax;
    for (let from = 0; from < most; from += 500) {
      const calls = Array.from({ length: 500 }, (_, at) =>
        put(database, 'a', { key: `k${from + at}` }),
      );
      await Promise.all(calls);
    }
    expect(await keptIn(database)).toBe(most);
    expect([
      codeOf(await put(database, 'a', { key: 'one more' })),
      codeOf(await put(database, 'a', { key: 'k0' })),
      codeOf(await put(database, 'a', { key: 'one more', as: 2n })),
    ]).toEqual(['idempotency.tooMany', 'committed', 'committed']);
    await clock.advance(day);
    expect(codeOf(await put(database, 'a', { key: 'one more' }))).toBe('committed');
    expect(await keptIn(database)).toBe(most + 2 - limits.keptOutcomesRemovedMax);
    await database.close();
  });

  it('[ease 4.11] is in a table that only the owner sees', async () => {
    const { database } = await opened();
    await put(database, 'a');
    expect(await keptIn(database)).toBe(1);
    for (const rights of [strangerRights]) {
      const outcome = await database.query({
        caller: { identity: callerIdentity(7n), rights, jwtPayload: '' },
        connection: { kind: 'temporary', id: connectionNumber(7_777n) },
        sql: 'SELECT * FROM st_idempotency',
        confirmed: false,
      });
      expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'sql.noTable' } });
    }
    await database.close();
  });
});

it('[ease 4.11] the table comes to a database from before with a change of its schema', () => {
  const tables = emptyCatalog.tables.filter(({ name }) => name !== 'st_idempotency');
  const store = new Store({ ...emptyCatalog, tables });
  const kept = new KeptOutcomes(store, programHash);
  expect(kept.exists).toBe(false);
  store.prepareMigration(emptyCatalog, new Map()).apply();
  expect(kept.exists).toBe(true);
  expect(kept.isFull(callerIdentity(1n), false)).toBe(false);
});

it('[ease 4.11] many identities leave the last places to callers with a role', () => {
  const store = new Store(emptyCatalog);
  const kept = new KeptOutcomes(store, programHash);
  const transaction = store.begin();
  const most = limits.keptOutcomesMax - limits.reservedKeptOutcomes;
  const outcome = { functionName: 'f', key: 'k', micros: 0n, body: 0n, returns: 0n };
  for (let id = 1; id < most; id += 1) {
    const identity = callerIdentity(BigInt(id));
    kept.put(transaction, { ...outcome, identity, offset: commitOffset(1), value: undefined });
  }
  const isFull = (hasRole: boolean) => kept.isFull(callerIdentity(0n), hasRole);
  expect([isFull(false), isFull(true)]).toEqual([false, false]);
  const identity = callerIdentity(0n);
  kept.put(transaction, { ...outcome, identity, offset: commitOffset(1), value: undefined });
  expect([isFull(false), isFull(true)]).toEqual([true, false]);
});

it('[ease 4.11] a role is known through the limits of a token', () => {
  const limited = { readOnly: false, sqlWrites: false, previews: false, isReadOnly: false };
  const kinds = [ownerRights, strangerRights, rightsOfRole('reader')].flatMap((rights) => {
    return [rights, narrowed(rights, { ...limited, tables: ['a'] })];
  });
  expect(kinds.map(hasRole)).toEqual([true, true, false, false, true, true]);
});
