import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, Running } from './running.ts';

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  expect(await running.publish('cabinet', 'cabinet', owner)).toMatchObject({ status: 200 });
});
afterAll(() => running.stop());

/** Calls with arguments as JSON text or as a value; the answer must be good. */
async function put(reducer: string, args: unknown): Promise<void> {
  expect(await running.call('cabinet', reducer, args)).toMatchObject({ status: 200, text: '' });
}

/** Rows of a table as the text of the answer, in which every digit counts. */
async function rowsText(table: string): Promise<string> {
  const { status, text } = await running.sql('cabinet', `SELECT * FROM ${table}`);
  expect({ status, text }).toMatchObject({ status: 200 });
  return /"rows":(.*),"total_duration_micros"/s.exec(text)?.[1] ?? '';
}

async function linesOf(reducer: string, args: unknown = []): Promise<string[]> {
  const read = async () =>
    (await running.ask('GET', '/v1/database/cabinet/logs', { as: owner })).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const before = (await read()).length;
  await put(reducer, args);
  return (await read()).slice(before).map(({ message }) => message);
}

describe('types as arguments and columns', () => {
  it('[module-sdk 4] booleans, small numbers, floats, text and bytes, by position and by name', async () => {
    await put(
      'put_small',
      '[true,255,65535,4294967295,-128,-32768,-2147483648,1.5,0.1,2,"Zoë 🐈","0001ff"]',
    );
    await put('put_small', {
      ...{ flag: false, u8: 0, u16: 0, u32: 0, i8: 127, i16: 32_767, i32: 2_147_483_647 },
      ...{ f32: -0.1, f64: 5e-324, real: -2.5, text: '', bytes: [1, 2, 3] },
    });
    expect(await rowsText('small')).toBe(
      '[[true,255,65535,4294967295,-128,-32768,-2147483648,1.5,0.1,2.0,"Zoë 🐈","0001ff"],' +
        '[false,0,0,0,127,32767,2147483647,-0.1,5e-324,-2.5,"","010203"]]',
    );
  });

  it('[module-sdk 4] wide numbers, digit by digit', async () => {
    const least = `-${2n ** 127n}`;
    const most = 2n ** 128n - 1n;
    await put(
      'put_wide',
      `[18446744073709551615,${most},"0xff",-9223372036854775808,${least},"-0x1"]`,
    );
    await put('put_wide', '{"i256":"0x10","i128":5,"i64":-1,"u256":"0x0","u128":0,"u64":0}');
    expect(await rowsText('wide')).toBe(
      `[[18446744073709551615,${most},"0xff",-9223372036854775808,${least},"-0x1"],` +
        '[0,0,"0x0",-1,5,"0x10"]]',
    );
  });

  it('[module-sdk 4] arrays, options, results, enums, objects and types within themselves', async () => {
    const tree = ['root', [['leaf', []]]];
    const chain = [1, [1, [0, []]]];
    await put('put_composite', [
      ...[['a', 'b'], [1, 2], [[1], []], [0, 7], [[1.5, [1, []]]], [0, 1], [1, []], [2, [1, -1]]],
      ...[[1.5, [0, 'x']], null, tree, chain, []],
    ]);
    // Inside an argument, fields are spelled as clients see them; parameters as the module does.
    await put('put_composite', {
      ...{ words: [], octets: 'ff', rows: [], maybe: null, spots: [], result: { err: 'no' } },
      ...{ mood: { quiteAngry: {} }, shape: { polyLine: [3] }, perhaps: { some: { dot: [] } } },
      spot: { home_x: 2, label: { some: 'y' } },
      tree: { text: 'r', branches: [{ text: 'l', branches: [] }] },
      ...{ chain: { link: { end: [] } }, nothing: {} },
    });
    expect(JSON.parse(await rowsText('composite'))).toEqual([
      [
        ...[['a', 'b'], '0102', [[1], []], [0, 7], [[1.5, [1, []]]], [0, 1], [1, []], [2, [1, -1]]],
        ...[[1.5, [0, 'x']], [1, []], tree, chain, []],
      ],
      [
        ...[[], 'ff', [], [1, []], [], [1, 'no'], [1, []], [2, [3]], [2, [0, 'y']]],
        ...[[0, [0, []]], ['r', [['l', []]]], [1, [0, []]], []],
      ],
    ]);
  });

  it('[module-sdk 4] a column of a type within itself can be selected alone', async () => {
    const { status, text } = await running.sql('cabinet', 'SELECT tree, chain FROM composite');
    expect({ status, rows: JSON.parse(text)[0].rows[1] }).toEqual({
      status: 200,
      rows: [
        ['r', [['l', []]]],
        [1, [0, []]],
      ],
    });
  });

  it('[module-sdk 4] identities, connections, times, durations, ids and schedules', async () => {
    const who = `0x${owner.identity}`;
    await put('put_special', `[["${who}"],[${2n ** 127n}],[7],[-7],[9],[0,[5]],"late"]`);
    await put('put_special', {
      who: { __identity__: '0x1' },
      link: { __connection_id__: 6 },
      at: { __timestamp_micros_since_unix_epoch__: -5 },
      span: { __time_duration_micros__: 1 },
      uuid: { __uuid__: 3 },
      due: { Time: { __timestamp_micros_since_unix_epoch__: 8 } },
      later: 'x',
    });
    expect(await rowsText('special')).toBe(
      `[[["${who}"],[${2n ** 127n}],[7],[-7],[9],[0,[5]],"late"],` +
        '[["0x1"],[6],[-5],[1],[3],[1,[8]],"x"]]',
    );
  });

  it('[module-sdk 6] a whole row of a table as one argument', async () => {
    const row = [false, 1, 2, 3, 4, 5, 6, 7, 8, 9, 'row', ''];
    await put('put_row', [row]);
    await put('put_row', { row: [...row.slice(0, -2), 'named', ''] });
    const found = await running.rows('cabinet', "SELECT u_8, text FROM small WHERE text = 'named'");
    expect(found).toEqual([[1, 'named']]);
  });

  it('[module-sdk 4] are to the program what the interface says', async () => {
    const [small, composite, special, row] = await linesOf('look');
    expect(small).toBe(
      'flag boolean, u8 number, u16 number, u32 number, i8 number, i16 number, i32 number, ' +
        'f32 number, f64 number, real number, text string, bytes Uint8Array',
    );
    expect(composite).toBe(
      'words Array, octets Uint8Array, rows Array, maybe number, spots Array, result Object, ' +
        'mood Object, shape Object, spot Object, perhaps undefined, tree Object, chain Object, ' +
        'nothing Object',
    );
    expect(special?.replaceAll(' _', ' ')).toBe(
      'who Identity, link ConnectionId, at Timestamp, span TimeDuration, uuid Uuid, ' +
        'due Object, later string',
    );
    expect(row).toContain("result: { ok: 1 }, mood: { tag: 'QuiteAngry'");
    expect(row).toContain("shape: { tag: 'PolyLine', value: [ 1, -1 ] }, spot: { homeX: 1.5");
  });

  it.each([
    ['put_small', 'u8', 256],
    ['put_small', 'i8', -129],
    ['put_small', 'u32', 1.5],
    ['put_small', 'u32', '1'],
    ['put_small', 'flag', 1],
    ['put_small', 'bytes', '0x00'],
    ['put_small', 'text', null],
    ['put_small', 'f64', null],
    ['put_wide', 'u256', 1.5],
    ['put_wide', 'u64', -1],
    ['put_composite', 'maybe', 'seven'],
    ['put_composite', 'mood', 'Calmer'],
    ['put_composite', 'mood', { tag: 'Calmer' }],
    ['put_composite', 'mood', { tag: 'Calm', value: 1 }],
    ['put_composite', 'shape', [3, []]],
    ['put_composite', 'nothing', null],
    ['put_special', 'who', '0x1'],
    ['put_special', 'at', 5.5],
  ])('[values 4] %s refuses %s = %j', async (reducer, name, value) => {
    const good: Record<string, unknown> = JSON.parse(goodArguments[reducer] ?? '');
    expect(await running.call('cabinet', reducer, { ...good, [name]: value })).toMatchObject({
      status: 400,
      text: expect.stringMatching(new RegExp(`^invalid arguments for reducer ${reducer}: `)),
    });
  });

  it('[module-sdk 4] are checked again when the program writes', async () => {
    expect(await linesOf('misfits')).toEqual([
      'TypeError: smallTable.u8: 256 is out of range for u8',
      'TypeError: smallTable.i8: -129 is out of range for i8',
      'TypeError: smallTable.u32: 1.5 is not an integer, as u32 needs',
      'TypeError: smallTable.u32: expected a number (u32), got a string',
      'TypeError: smallTable.text: expected a string, got the number 1',
      'TypeError: smallTable.flag: expected a boolean, got the number 1',
      'TypeError: smallTable.bytes: expected a Uint8Array, got a string',
      'TypeError: wideTable.u64: -1 is out of range for u64',
      'TypeError: wideTable.u64: expected a bigint (u64), got the number 1',
      'TypeError: compositeTable.result: ' +
        'could not serialize result: object had neither a `ok` nor an `err` field',
      "TypeError: compositeTable.mood: 'Furious' is not a variant: " +
        "expected a tag out of 'Calm', 'QuiteAngry'",
      'TypeError: compositeTable.words: expected an array, got a string',
      'unchanged',
    ]);
  });
});

describe('types as keys', () => {
  it('[tables 2.2] rows are found by each kind of column that may have an index', async () => {
    const key = (n: number, flag: boolean, big: string, shape: unknown) => {
      const mood = [n - 1, []];
      return [0, flag, big, `n${n}`, mood, mood, shape, [`0x${n}`], [n], [n], [n], [n]];
    };
    await put('put_key', [key(1, true, '-0x5', [0, []])]);
    await put('put_key', [key(2, false, '0x5', [1, 2.5])]);
    const all = Array(11).fill('true').join(' ');
    expect(await linesOf('find_by_all', [1])).toEqual([all]);
    expect(await linesOf('find_by_all', [2])).toEqual([all]);
  });
});

const goodArguments: Readonly<Record<string, string>> = {
  put_small:
    '{"flag":true,"u8":1,"u16":1,"u32":1,"i8":1,"i16":1,"i32":1,"f32":1,"f64":1,"real":1,' +
    '"text":"","bytes":""}',
  put_wide: '{"u64":1,"u128":1,"u256":"0x1","i64":1,"i128":1,"i256":"0x1"}',
  put_composite:
    '{"words":[],"octets":[],"rows":[],"maybe":null,"spots":[],"result":[0,1],"mood":[0,[]],' +
    '"shape":[0,[]],"spot":[0,null],"perhaps":null,"tree":["",[]],"chain":[0,[]],"nothing":[]}',
  put_special: '{"who":["0x1"],"link":[1],"at":[1],"span":[1],"uuid":[1],"due":[0,[1]],"later":""}',
};
