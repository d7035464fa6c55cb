import fs, {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { narrowed, ownerRights } from '../../database/rights.ts';
import { limits } from '../../limits.ts';
import { identityToHex } from '../../values/identity.ts';
import { callerIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import type { Activity, ActivityCaller } from './activity.ts';
import { BlockDraft } from './block-draft.ts';
import { DatabaseLedger } from './database-ledger.ts';
import { Ledger } from './ledger.ts';
import { blocksIn, readBlock } from './ledger-block.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import { LedgerFolder, LedgerMemory } from './ledger-files.ts';
import { cursorText, readCursor, readPage } from './ledger-page.ts';

const shop = databaseIdentity(0x5409n);
const ada = callerIdentity(0xadan);
const bob = callerIdentity(0xb0bn);
const owner: ActivityCaller = { identity: ada, rights: ownerRights, jwtPayload: '{}' };

const did = (over: Partial<Activity> = {}): Activity => ({
  ...{ micros: 1_000_000n, caller: owner, action: 'call', subject: 'add', result: 'done' },
  ...{ rows: 1, offset: 1, durationMillis: 1.5 },
  ...over,
});
const entry = (over: Partial<LedgerEntry> = {}): LedgerEntry => ({
  ...{ micros: 1_000_000n, caller: { identity: ada }, action: 'call', subject: 'add' },
  ...{ result: 'done', rows: 1, count: 1, offset: 1 },
  ...over,
});

let folder: string;
let now: bigint;
const reports: string[] = [];
const clock = { nowMicros: () => now, monotonicMillis: () => Number(now / 1_000n) };
const report = ({ message }: { message: string }) => void reports.push(message);
const bounds = { keepMillis: limits.ledgerKeepMillis, bytesMax: limits.ledgerBytesMax };

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-ledger-'));
  now = BigInt(Date.now()) * 1_000n;
  reports.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A block of entries, as it is in a file. */
function encodeBlock(entries: readonly LedgerEntry[], writtenMicros: bigint): Uint8Array {
  const draft = new BlockDraft();
  for (const one of entries) draft.add(one);
  return draft.encode(writtenMicros);
}

/** What a ledger has to write, read back. */
function taken(ledger: DatabaseLedger, nowMicros: bigint, withReads: boolean): LedgerEntry[] {
  return ledger.take(nowMicros, withReads).flatMap((draft) => {
    const bytes = draft.encode(nowMicros);
    return blocksIn(bytes).places.flatMap((place) => readBlock(bytes, place)?.entries() ?? []);
  });
}

const openFolder = () => LedgerFolder.open(folder, bounds, now);
const openFolderFor = (keepMillis: number) =>
  LedgerFolder.open(folder, { ...bounds, keepMillis }, now);
const filesOf = () => readdirSync(path.join(folder, identityToHex(shop))).sort();

describe('a block', () => {
  it('[ease 4.10] gives back its entries, and nothing if a bit of it has changed', () => {
    const entries = [
      entry({ caller: { identity: bob, token: 'an id', maker: ada }, rows: undefined }),
      entry({ action: 'sql', subject: 'DELETE FROM t WHERE a = ?', offset: 2 ** 40 }),
      entry({ caller: undefined, action: 'refused', result: 'unnamed', count: 7 }),
      entry({ durationMillis: 0.25 }),
    ];
    const bytes = encodeBlock(entries, 5n);
    const [place] = blocksIn(bytes).places;
    if (place === undefined) throw new Error('there is no block');
    expect(readBlock(bytes, place)?.entries()).toEqual(entries);
    for (let at = 8; at < bytes.length; at += 7) {
      const changed = bytes.slice();
      changed[at] = (changed[at] ?? 0) ^ 4;
      expect(readBlock(changed, place)).toBeUndefined();
    }
  });
});

describe('a file of an earlier service', () => {
  const read = () => readFileSync('test/fixtures/ledger-1/00000001.ledger').subarray(8);

  it('[ease 4.10] is read, without how long things took', () => {
    const bytes = read();
    const { places, isDamaged } = blocksIn(bytes);
    expect(isDamaged).toBe(false);
    expect(places.map((place) => readBlock(bytes, place)?.entries())).toEqual([
      [
        entry({ micros: 1_700_000_000_000_000n, offset: 7 }),
        entry({
          ...{ micros: 1_700_000_001_000_000n, action: 'sql', result: 'sql.notAuthorized' },
          caller: { identity: bob, token: 'a-token', maker: ada },
          ...{ subject: 'DELETE FROM t WHERE id = ?', rows: undefined, offset: undefined },
        }),
      ],
      [
        entry({
          ...{ micros: 1_700_000_003_000_000n, caller: undefined, action: 'refused', subject: '' },
          ...{ result: 'unnamed', count: 12, rows: undefined, offset: undefined },
        }),
      ],
    ]);
  });

  it('[ease 4.10] stays beside those that are written now', async () => {
    const place = path.join(folder, identityToHex(shop));
    mkdirSync(place);
    copyFileSync('test/fixtures/ledger-1/00000001.ledger', path.join(place, '00000001.ledger'));
    const store = await openFolder();
    const block = encodeBlock([entry({ micros: now, durationMillis: 2 })], now);
    await store.append(shop, block, Number(now / 1_000n));
    const { entries } = await readPage(store, shop, { limit: 10 });
    expect(entries.map(({ durationMillis }) => durationMillis)).toEqual([
      ...[2, undefined, undefined, undefined],
    ]);
  });
});

describe('what waits to be written', () => {
  it('[ruling 2.6] has 600 refusals a minute, and counts the others', () => {
    const ledger = new DatabaseLedger(() => undefined);
    for (let count = 0; count < 1_000; count++) ledger.did(did({ result: 'sql.notAuthorized' }));
    ledger.did(did());
    ledger.did(did({ micros: 61_000_000n, result: 'reducer.unknown' }));
    const entries = taken(ledger, 61_000_000n, false);
    expect(entries.filter(({ result }) => result === 'sql.notAuthorized')).toHaveLength(600);
    expect(entries).toContainEqual(
      entry({
        ...{ micros: 0n, caller: undefined, action: 'refused', subject: '', result: 'unnamed' },
        ...{ count: 400, rows: undefined, offset: undefined },
      }),
    );
    expect(entries.filter(({ result }) => result === 'reducer.unknown')).toHaveLength(1);
    expect(ledger.isEmpty).toBe(true);
  });

  it('[ruling 2.6] shows literals as ?', () => {
    const ledger = new DatabaseLedger(() => undefined);
    const sql = "DELETE FROM t /* 'x' */ WHERE a = 'secret' AND b IN (1, 0xff, X'00') OR c = $1";
    ledger.did(did({ action: 'sql', subject: sql }));
    ledger.did(did({ action: 'sql', subject: "INSERT INTO t VALUES ('never ends" }));
    expect(taken(ledger, 0n, false).map(({ subject }) => subject)).toEqual([
      'DELETE FROM t WHERE a = ? AND b IN (?, ?, ?) OR c = $1',
      'INSERT …',
    ]);
  });

  it('[ease 4.10] counts reads of limited tokens by table, with the token', () => {
    const ledger = new DatabaseLedger(() => undefined);
    const capability = { readOnly: true, sqlWrites: false, previews: false, isReadOnly: false };
    const reader: ActivityCaller = {
      identity: bob,
      rights: narrowed(ownerRights, capability),
      jwtPayload: JSON.stringify({
        jti: 'the id',
        reducerdb: { database: identityToHex(shop), by: identityToHex(ada) },
      }),
    };
    for (let count = 0; count < 3; count++) ledger.read(reader, ['a', 'b'], 5n);
    const caller = { identity: bob, token: 'the id', maker: ada };
    const read = { micros: 5n, caller, action: 'read', count: 3 } as const;
    const unknown = { rows: undefined, offset: undefined };
    expect(taken(ledger, 6n, true)).toEqual([
      entry({ ...read, subject: 'a', ...unknown }),
      entry({ ...read, subject: 'b', ...unknown }),
    ]);
  });

  it('[ease 4.10] counts who was turned away at a door, by few tokens', () => {
    const ledger = new DatabaseLedger(() => undefined);
    const most = limits.ledgerTurnedAwayMax;
    for (let time = 0; time < 5_000; time += 1) {
      ledger.turnedAway(undefined, 'token.invalid', 7n);
      const token = `token ${time % (most + 10)}`;
      const identity = callerIdentity(BigInt(1_000 + (time % (most + 10))));
      ledger.turnedAway({ identity, token, maker: bob }, 'token.limited', 7n);
    }
    expect(ledger.isEmpty).toBe(false);
    const entries = taken(ledger, now, true);
    // One for bad tokens, one for tokens beyond those that have their own.
    expect(entries).toHaveLength(most + 1);
    expect(entries[0]).toEqual({
      ...{ micros: 7n, caller: undefined, action: 'refused', subject: '', count: 5_000 },
      ...{ result: 'token.invalid', rows: undefined, offset: undefined },
    });
    expect(entries[1]).toMatchObject({
      ...{ caller: { token: 'token 0', maker: bob }, result: 'token.limited' },
    });
    const limited = entries.filter(({ result }) => result === 'token.limited');
    expect(limited.reduce((sum, { count }) => sum + count, 0)).toBe(5_000);
    expect(limited.filter(({ caller }) => caller === undefined)).toHaveLength(1);
    expect(ledger.isEmpty).toBe(true);
    // Once a minute, however many there are.
    ledger.turnedAway(undefined, 'token.invalid', 8n);
    expect(taken(ledger, now + 1_000_000n, false)).toEqual([]);
    expect(taken(ledger, now + 61_000_000n, false)).toHaveLength(1);
  });

  it('[ease 4.10] counts runs of schedules by function, with rows and the last offset', () => {
    const ledger = new DatabaseLedger(() => undefined);
    const run = {
      ...{ functionName: 'sweep', hasFailed: false, startMicros: 5, count: 1 },
      ...{ rows: 2, offset: 7 },
    };
    ledger.ran(bob, run);
    ledger.ran(bob, { ...run, startMicros: 6, count: 3, rows: 4, offset: 9 });
    const failed = { ...run, hasFailed: true, rows: undefined, offset: undefined };
    ledger.ran(bob, failed);
    ledger.ran(bob, failed);
    const by = { caller: { identity: bob }, action: 'schedule', subject: 'sweep' } as const;
    expect(taken(ledger, 6n, true)).toEqual([
      { ...by, micros: 5n, result: 'done', rows: 6, count: 4, offset: 9 },
      {
        ...by,
        micros: 5n,
        result: 'schedule.failed',
        rows: undefined,
        count: 2,
        offset: undefined,
      },
    ]);
    expect(ledger.isEmpty).toBe(true);
    const most = limits.ledgerReadsMax;
    for (let at = 0; at < most + 2; at += 1) ledger.ran(bob, { ...run, functionName: `f${at}` });
    const entries = taken(ledger, 7n, true);
    expect(entries).toContainEqual(
      expect.objectContaining({ action: 'lost', result: 'overload', count: 2 }),
    );
    expect(entries).toHaveLength(most + 1);
  });

  it('is bounded; what is dropped is counted', () => {
    const ledger = new DatabaseLedger(() => undefined);
    for (let count = 0; count < limits.ledgerWaitingMax + 5; count++) ledger.did(did());
    const lost = taken(ledger, 9n, false).at(-1);
    expect(lost).toMatchObject({ action: 'lost', result: 'overload', count: 5 });
  });
});

describe('the pages of a ledger', () => {
  it('[ease 4.10] go from the newest entry to the oldest, each once', async () => {
    const store = new LedgerMemory();
    const all: LedgerEntry[] = [];
    for (let block = 0; block < 20; block++) {
      const entries = Array.from({ length: 7 }, (_, at) => {
        const offset = block * 7 + at;
        const caller = { identity: offset % 3 === 0 ? ada : bob };
        return entry({ micros: BigInt(offset), caller, offset });
      });
      all.push(...entries);
      await store.append(shop, encodeBlock(entries, BigInt(block * 7 + 6)));
    }
    all.reverse();
    for (const [filter, wanted] of [
      [{}, all],
      [{ identity: ada }, all.filter(({ caller }) => caller?.identity === ada)],
      [{ sinceMicros: 50n }, all.filter(({ micros }) => micros >= 50n)],
    ] as const) {
      const found: LedgerEntry[] = [];
      let cursor: string | undefined;
      do {
        const place = cursor === undefined ? undefined : readCursor(cursor);
        const page = await readPage(store, shop, {
          ...{ ...filter, limit: 9 },
          ...(place !== undefined && { cursor: place }),
        });
        found.push(...page.entries);
        cursor = page.cursor && cursorText(page.cursor);
      } while (cursor !== undefined);
      expect(found).toEqual(wanted);
    }
  });

  it('[ease 4.10] say where a service ended without notice, and what is damaged', async () => {
    const first = await openFolder();
    await first.append(shop, encodeBlock([entry({ micros: now })], now), Number(now / 1_000n));
    // It never closes. A block was being written.
    const [file = ''] = filesOf();
    appendFileSync(path.join(folder, identityToHex(shop), file), 'half a block');
    const crashed = now + 1_000_000n;
    now = crashed;
    const second = await openFolder();
    now += 1_000_000n;
    await second.append(shop, encodeBlock([entry({ micros: now })], now), Number(now / 1_000n));
    const { entries } = await readPage(second, shop, { limit: 10 });
    expect(entries.map(({ action, result }) => `${action} ${result}`)).toEqual([
      'call done',
      'lost crash',
      'lost damaged',
      'call done',
    ]);
    expect(entries[1]?.micros).toBe(crashed);
    await second.close();
    now += 1_000_000n;
    const third = await openFolder();
    expect(third.crashes).toEqual([crashed]);
    expect(filesOf()).toEqual(['00000001.ledger', '00000002.ledger']);
  });
});

describe('the files of a ledger', () => {
  it('[ease 4.10] go when they are too old, or too many', async () => {
    const store = await LedgerFolder.open(
      folder,
      { keepMillis: limits.ledgerKeepMillis, bytesMax: 3 * limits.ledgerFileBytesMax },
      now,
    );
    const block = new Uint8Array(limits.ledgerFileBytesMax - 8);
    for (let count = 0; count < 5; count++) {
      await store.append(shop, block, Date.now());
    }
    expect(filesOf()).toEqual(['00000003.ledger', '00000004.ledger', '00000005.ledger']);
    const old = new Date(Date.now() - limits.ledgerKeepMillis - 1_000);
    utimesSync(path.join(folder, identityToHex(shop), '00000003.ledger'), old, old);
    await store.sweep(Date.now());
    expect(filesOf()).toEqual(['00000004.ledger', '00000005.ledger']);
    await store.forget(shop);
    expect(readdirSync(folder)).toEqual(['running']);
  });

  it('[ease 4.10] go by age without activity too, and what is too old is not shown', async () => {
    const keepMillis = 3_600_000;
    const store = await LedgerFolder.open(folder, { ...bounds, keepMillis }, now);
    const file = path.join(folder, identityToHex(shop), '00000001.ledger');
    const old = now - BigInt(keepMillis) * 1_000n - 1n;
    const entries = [entry({ micros: old, offset: 1 }), entry({ micros: now, offset: 2 })];
    await store.append(shop, encodeBlock(entries, now), Number(now / 1_000n));
    const ledger = new Ledger({ store, clock, report, keepMillis });
    const page = await ledger.page(shop, { limit: 9 });
    expect(page.entries.map(({ offset }) => offset)).toEqual([2]);
    const aged = new Date(Date.now() - keepMillis - 1_000);
    utimesSync(file, aged, aged);
    await store.sweep(Number(now / 1_000n));
    expect(filesOf()).toEqual([]);
    await store.append(shop, encodeBlock(entries, now), Number(now / 1_000n));
    expect((await ledger.page(shop, { limit: 9 })).entries).toHaveLength(1);
    await ledger.close();
    // A service that starts looks at once.
    utimesSync(file, aged, aged);
    const next = new Ledger({ store: await openFolderFor(keepMillis), clock, report, keepMillis });
    await expect.poll(filesOf).toEqual([]);
    await next.close();
  });

  it('leave no files of what a full disk has not taken', async () => {
    const store = await LedgerFolder.open(folder, bounds, now);
    const open = fs.promises.open.bind(fs.promises);
    const full = vi.spyOn(fs.promises, 'open').mockImplementation(async (...where) => {
      const handle = await open(...where);
      handle.appendFile = () => Promise.reject(new Error('ENOSPC'));
      return handle;
    });
    for (let time = 0; time < 3; time += 1) {
      await expect(store.append(shop, new Uint8Array(8), Date.now())).rejects.toThrow('ENOSPC');
      expect(await store.files(shop)).toEqual([]);
    }
    full.mockRestore();
    const block = encodeBlock([entry()], now);
    await store.append(shop, block, Date.now());
    expect(await store.files(shop)).toEqual([1]);
    expect(await store.read(shop, 1)).toEqual(Buffer.from(block));
    await store.close();
  });

  it('that cannot be written are reported once, and stop nothing', async () => {
    const store = await openFolder();
    writeFileSync(path.join(folder, identityToHex(shop)), 'no folder');
    const ledger = new Ledger({ store, clock, report, keepMillis: bounds.keepMillis });
    const follow = ledger.followerOf(shop);
    const call = (reducer: string) => {
      const request = { kind: 'call', call: { caller: owner, reducer } } as never;
      const outcome = { kind: 'committed', offset: 3, rows: 2, micros: 0 } as never;
      follow({ request, acceptedMicros: now }, { kind: 'called', outcome });
    };
    call('one');
    expect((await ledger.page(shop, { limit: 5 })).entries).toEqual([]);
    call('two');
    await ledger.page(shop, { limit: 5 });
    expect(reports).toHaveLength(1);
    rmSync(path.join(folder, identityToHex(shop)));
    call('three');
    const { entries } = await ledger.page(shop, { limit: 5 });
    const shown = entries.map(({ action, subject, count, rows }) => [action, subject, count, rows]);
    expect(shown).toEqual([
      ['lost', '', 2, undefined],
      ['call', 'three', 1, 2],
    ]);
    await ledger.close();
  });
});
