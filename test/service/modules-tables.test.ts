import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CallFailed, openTestDatabase, type TestDatabase } from '../../src/testing/index.ts';
import { root } from './harness.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await openTestDatabase({ module: path.join(root, 'test/fixtures/modules/warehouse') });
});
afterAll(() => db.close());

/** What the module logged while it ran. */
async function linesOf(reducer: string): Promise<unknown[]> {
  const before = (await db.logs()).length;
  await db.call(reducer);
  return (await db.logs()).slice(before).map(({ message }) => message);
}

const taken = 'UniqueAlreadyExists: Value with given unique identifier already exists';
const noRow = 'NoSuchRow: The row was not found, e.g., in an update call';

describe('a table', () => {
  it('[tables R1, R2, R6, R7, 14.1] is a set of rows, compared by their bytes', async () => {
    expect(await linesOf('sets')).toEqual([
      'false {"text":"same","weight":1} 1n',
      'NaN 2n',
      '4n true 3n',
      'false',
      '{"n":"100n","text":"full duplicate"} 1n',
      'false 3n 0n 0n',
    ]);
  });

  it('[tables 4, 14.7] is scanned as it was when the scan began', async () => {
    await db.call('fill');
    expect(await linesOf('snapshots')).toEqual(['5 5n true', 'a,b,c,d 8 0n']);
  });

  it('[module-sdk 8] has iterators with helpers', async () => {
    await db.call('fill');
    expect(await linesOf('helpers')).toEqual(['11223344 3', 'c,d', 'number true']);
  });

  it('[tables 3.2] is cleared of as many rows as it counts', async () => {
    await db.call('fill');
    expect(await linesOf('empty')).toEqual(['true 0n', '0n']);
    expect(await db.query('SELECT COUNT(*) AS n FROM item')).toEqual([{ n: 0n }]);
  });

  it('[tables 9, 14.9] of events is empty again in the next call, and for SQL', async () => {
    const lines = ['0n', `${taken} [flash flash_n_idx_btree n]`, '1n [{"n":1,"text":"uno"}] uno'];
    expect(await linesOf('flashes')).toEqual(lines);
    expect(await linesOf('flashes')).toEqual(lines);
    expect(await db.query('SELECT * FROM flash')).toEqual([]);
  });
});

describe('an index', () => {
  beforeEach(() => db.call('fill'));

  it('[tables 3, 14.12] of trees takes values, prefixes and ranges', async () => {
    expect(await linesOf('ranges')).toEqual([
      'b,c,d c,d a',
      'b,c c a,b,c,d',
      '||b',
      'e,f,g,h e,f,g,h',
      'g ',
      'e,f,g,h',
      'b b',
      'b,c,d',
      'b',
      'd ',
      'c,d,e d',
    ]);
  });

  it('[module-sdk 8] that is unique finds and deletes one row, by one column or several', async () => {
    expect(await linesOf('uniques')).toEqual([
      'box null a',
      'e null',
      'e null',
      'true false true 6n',
      'false true false false',
    ]);
  });

  it('[tables 3] deletes by range, by point and altogether, and counts', async () => {
    expect(await linesOf('removals')).toEqual(['2', '1 0', '5 0n 0n']);
  });

  it('[tables 3] refuses keys that do not fit it', async () => {
    const tooMany = 'TypeError: too many elements';
    const wrong = 'TypeError: wrong number of elements';
    expect(await linesOf('wrong_keys')).toEqual([
      ...[tooMany, tooMany, tooMany, wrong, wrong, wrong],
      'TypeError: item.rank: expected a number (i32), got an object',
      ...[wrong, wrong, wrong],
      'TypeError: item.id: expected a number (u32), got a string',
    ]);
  });

  it('[tables 3.1] that is the primary key updates', async () => {
    expect(await linesOf('updates')).toEqual([
      'true 70 8n',
      noRow,
      `${taken} [item item_name_idx_btree name] b`,
      `${taken} [item item_column_row_idx_hash column,row]`,
      noRow,
      '8',
    ]);
  });

  it('[tables 3.3, 14.3] reports what it holds already, and the call goes on', async () => {
    expect(await linesOf('violations')).toEqual([
      `${taken} [item item_name_idx_btree name]`,
      `${taken} [item item_column_row_idx_hash column,row]`,
      `${taken} [item item_id_idx_btree id]`,
      'true false true',
    ]);
    const kept = await db.query("SELECT row FROM item WHERE name = 'kept'");
    expect(kept).toEqual([{ row: 101 }]);
  });

  it('[tables 6] of hashes or of small numbers can be the key, too', async () => {
    expect(await linesOf('other_keys')).toEqual([
      `${taken} [hashed hashed_key_idx_hash key]`,
      `${taken} [hashed hashed_slot_idx_direct slot]`,
      '4 4',
      `${taken} [hashed hashed_slot_idx_direct slot]`,
      'null 255 true',
      '[{"key":"a","slot":0,"n":4}] false true',
    ]);
  });

  it('[tables 1] is checked at once: two values are swapped in four steps', async () => {
    expect(await linesOf('swap')).toEqual([`${taken} [item item_name_idx_btree name]`, 'true']);
  });

  it('[tables 6, 14.13] [ease 3.2] passes over rows without a value', async () => {
    expect(await linesOf('options')).toEqual([
      `${taken} [nick nick_owner_idx_hash owner]`,
      'mine undefined',
      'false 4n',
      '{"n":1} [{"n":1}] 4n',
    ]);
    const found = await db.query('SELECT text FROM nick WHERE owner IS NULL');
    expect(found).toHaveLength(3);
  });
});

describe('a sequence', () => {
  it('[tables 5, 5.2, 14.5] counts from 1, past explicit values, and loses what fails', async () => {
    expect(await linesOf('sequence')).toEqual([
      '"1n" "2n" "3n" "10n"',
      `"4n" "5n" "6n" "7n" "8n" "9n" ${taken} [ticket ticket_n_idx_btree n] "11n"`,
      '{"n":1,"i":"1n","text":"both"}',
      '{"n":9,"i":"2n","text":"second"}',
      '{"n":2,"i":"-5n","text":"first"}',
      '{"n":3,"i":"3n","text":"untouched"} {"n":0,"i":"0n","text":"untouched"}',
    ]);
  });

  it('[tables 5] fills every type of integer', async () => {
    expect(await linesOf('meters')).toEqual([
      '2 2 2 2 2 2 2 2 2 2 2 2',
      '3 3 3 9 3 3 3 3 3 3 3 -5',
    ]);
  });

  it('[tables 11.4] goes on after a call that failed', async () => {
    expect(await linesOf('next')).toEqual(['12n']);
    await expect(db.call('next_and_fail')).rejects.toThrow('never mind');
    expect(await linesOf('next')).toEqual(['14n']);
  });

  it('[tables 5.3] ends where its column ends', async () => {
    const overflow = 'AutoIncOverflow: The auto-increment sequence overflowed';
    expect(await linesOf('overflow')).toEqual([
      `${overflow} 127n`,
      `${overflow} null`,
      `${overflow} 255n`,
    ]);
  });
});

describe('a reducer', () => {
  it('[abi 10.6, module-sdk 5, tables 11.1] called by another shares its transaction; what is caught stays', async () => {
    expect(await linesOf('outer')).toEqual(['SenderError: inner refuses', '2n']);
    const texts = (await db.query('SELECT text FROM tag')).map(({ text }) => text);
    expect(texts.sort()).toEqual(['accepted', 'refused']);
    await expect(db.call('outer_fails')).rejects.toThrow(CallFailed);
    expect(await db.query("SELECT text FROM tag WHERE text = 'gone'")).toEqual([]);
  });

  it('[tables 11.3, 14.2, 14.4] that changes nothing leaves all as it is', async () => {
    await db.call('fill');
    const before = await db.query('SELECT * FROM item');
    await db.call('no_change');
    const sorted = (rows: unknown[]) => rows.map((row) => JSON.stringify(row)).sort();
    expect(sorted(await db.query('SELECT * FROM item'))).toEqual(sorted(before));
  });
});
