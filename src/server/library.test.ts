import { describe, expect, it } from 'vitest';
import { hostError } from './errors.ts';
import * as server from './index.ts';
import { Helpers } from './iterator-helpers.ts';
import { iterateRows } from './row-iterator.ts';

const { errors, SenderError, SpacetimeHostError, t, table, toCamelCase } = server;

describe('the entry', () => {
  it('[module-sdk 1] exports what the interface lists', () => {
    const scalars =
      'Bool String U8 U16 U32 U64 U128 U256 I8 I16 I32 I64 I128 I256 F32 F64 Identity ' +
      'ConnectionId Timestamp TimeDuration Uuid ScheduleAt';
    const names = [
      ...'schema table t SenderError SpacetimeHostError errors Range Router Request'.split(' '),
      ...'SyncResponse Headers ScheduleAt CaseConversionPolicy toCamelCase and or not'.split(' '),
      ...'literal toSql isRowTypedQuery isTypedQuery evaluateBooleanExpr'.split(' '),
      ...'makeQueryBuilder BooleanExpr TypeBuilder ColumnBuilder RowBuilder'.split(' '),
      ...'ProductBuilder SumBuilder SimpleSumBuilder ArrayBuilder ByteArrayBuilder'.split(' '),
      ...'OptionBuilder ResultBuilder RefBuilder SecretBuilder'.split(' '),
      ...'Array ByteArray Option Product Result SimpleSum Sum'
        .split(' ')
        .map((name) => `${name}ColumnBuilder`),
      ...scalars.split(' ').flatMap((name) => [`${name}Builder`, `${name}ColumnBuilder`]),
      ...'CallError HostError Identity ConnectionId Timestamp TimeDuration Uuid'.split(' '),
      ...'Response AbortController AbortSignal AbortError verifySignature'.split(' '),
      ...'migration attachMigrations'.split(' '),
    ];
    expect(Object.keys(server).sort()).toEqual(names.sort());
  });

  it('[module-sdk 1] leaves the console alone until a host asks for the hooks', () => {
    expect(console.log.name).not.toBe('');
    expect(Object.hasOwn(console, 'table')).toBe(true);
  });

  it('[module-sdk 9] names its errors', () => {
    const error = new errors.NoSuchRow();
    expect(error).toBeInstanceOf(SpacetimeHostError);
    expect(error.name).toBe('NoSuchRow');
    expect(errors.NoSuchRow.name).toBe('NoSuchRow');
    expect(error.message).toBe('The row was not found, e.g., in an update call');
    expect(Object.isFrozen(errors)).toBe(true);
    expect(Object.keys(errors)).toHaveLength(20);
    expect(new SenderError('x').name).toBe('SenderError');
    class Own extends SenderError {
      constructor() {
        super('own');
        this.name = 'Own';
      }
    }
    expect([new Own().name, new Own().message]).toEqual(['Own', 'own']);
  });

  it('[abi 7] has a name and a text for each code', () => {
    const codes: [number, string, string][] = [
      [1, 'HostCallFailure', 'cannot call this function during module initialization'],
      [2, 'NotInTransaction', 'ABI call can only be made while in a transaction'],
      [3, 'BsatnDecodeError', "Couldn't decode the BSATN to the expected type"],
      [4, 'NoSuchTable', 'No such table'],
      [5, 'NoSuchIndex', 'No such index'],
      [6, 'NoSuchIter', 'The provided row iterator is not valid'],
      [7, 'NoSuchConsoleTimer', 'The provided console timer does not exist'],
      [9, 'NoSpace', 'The provided sink has no more space left'],
      [10, 'SpacetimeHostError', 'The Index does not support range scans'],
      [12, 'UniqueAlreadyExists', 'Value with given unique identifier already exists'],
      [14, 'IndexNotUnique', 'The index was not unique'],
      [15, 'NoSuchRow', 'The row was not found, e.g., in an update call'],
      [16, 'AutoIncOverflow', 'The auto-increment sequence overflowed'],
      [19, 'TransactionIsReadOnly', 'ABI call can only be made while within a mutable transaction'],
    ];
    for (const [code, name, text] of codes) {
      const error = hostError(-code, () => '{}');
      expect([error.name, error.message]).toEqual([name, text]);
    }
    expect(new errors.HostCallFailure().message).toBe('ABI called by host returned an error');
  });

  it('[module-sdk 1] tells builders apart by class', () => {
    expect(t.u8()).toBeInstanceOf(server.U8Builder);
    expect(t.u8()).not.toBeInstanceOf(server.U16Builder);
    expect(t.u8().unique()).toBeInstanceOf(server.U8ColumnBuilder);
    expect(t.u8().unique()).not.toBeInstanceOf(server.U8Builder);
    expect(t.u8()).toBeInstanceOf(server.TypeBuilder);
    expect(t.string().optional()).toBeInstanceOf(server.OptionBuilder);
    expect(t.enum('E', ['A'])).toBeInstanceOf(server.SimpleSumBuilder);
    expect(t.enum('E', { A: t.u8() })).toBeInstanceOf(server.SumBuilder);
    expect(t.lazy(() => t.u8())).toBeInstanceOf(server.RefBuilder);
    expect(table({}, { a: t.u8() }).rowType).toBeInstanceOf(server.RowBuilder);
    expect(() => new server.U8Builder(undefined as never)).toThrow(TypeError);
  });

  it('[module-sdk 2] spells names as clients do', () => {
    expect(['sent_at', 'sentAt', 'a-b c', '_x'].map(toCamelCase)).toEqual([
      'sentAt',
      'sentAt',
      'aBC',
      'x',
    ]);
  });

  it('[module-sdk 8] has ranges with open ends', () => {
    const range = new server.Range({ tag: 'included', value: 1 }, null);
    expect([range.from, range.to]).toEqual([{ tag: 'included', value: 1 }, { tag: 'unbounded' }]);
  });
});

describe('the iterator helpers', () => {
  /** Yields numbers two at a time, and notes when it is closed. */
  function numbers(count: number) {
    let next = 0;
    const state = { isClosed: false };
    const rows = iterateRows<number>({
      fill(batch) {
        while (batch.length < 2 && next < count) batch.push(next++);
      },
      close() {
        state.isClosed = true;
      },
    });
    return { rows, state };
  }

  it('[module-sdk 8] work without those of the engine', () => {
    const isOurs = !('Iterator' in globalThis);
    expect(numbers(0).rows instanceof Helpers).toBe(isOurs);
    const { rows } = numbers(7);
    expect(
      rows
        .filter((n) => n % 2 === 1)
        .map((n, index) => n * 10 + index)
        .toArray(),
    ).toEqual([10, 31, 52]);
    expect(numbers(5).rows.drop(3).toArray()).toEqual([3, 4]);
    expect(
      numbers(3)
        .rows.flatMap((n) => [n, n])
        .toArray(),
    ).toEqual([0, 0, 1, 1, 2, 2]);
    expect(numbers(4).rows.reduce((sum, n) => sum + n)).toBe(6);
    expect(numbers(4).rows.reduce((sum, n) => sum + n, 10)).toBe(16);
    expect(() => numbers(0).rows.reduce((sum, n) => sum + n)).toThrow(TypeError);
    expect([numbers(3).rows.every((n) => n < 3), numbers(3).rows.some((n) => n > 2)]).toEqual([
      true,
      false,
    ]);
    expect([numbers(3).rows.find((n) => n > 0), numbers(3).rows.find((n) => n > 9)]).toEqual([
      1,
      undefined,
    ]);
    expect(() => numbers(3).rows.take(-1)).toThrow(RangeError);
    expect([...numbers(0).rows]).toEqual([]);
  });

  it('[module-sdk 8] close what they do not read to its end', () => {
    const first = numbers(9);
    for (const n of first.rows) if (n === 1) break;
    expect(first.state.isClosed).toBe(true);
    const taken = numbers(9);
    expect(taken.rows.take(3).toArray()).toEqual([0, 1, 2]);
    expect(taken.state.isClosed).toBe(true);
    const found = numbers(9);
    expect(found.rows.map((n) => n + 1).some((n) => n === 2)).toBe(true);
    expect(found.state.isClosed).toBe(true);
    const none = numbers(9);
    expect(none.rows.take(0).toArray()).toEqual([]);
    expect(none.state.isClosed).toBe(true);
    const unread = numbers(9);
    unread.rows.map((n) => n).return?.();
    expect(unread.state.isClosed).toBe(true);
    const whole = numbers(3);
    expect([...whole.rows]).toEqual([0, 1, 2]);
    expect(whole.state.isClosed).toBe(false);
    expect(whole.rows.next()).toEqual({ done: true, value: undefined });
  });
});
