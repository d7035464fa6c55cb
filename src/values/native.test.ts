import { describe, expect, it } from 'vitest';
import { BinaryReader, DecodeError } from './binary-reader.ts';
import { BinaryWriter } from './binary-writer.ts';
import { ConnectionId } from './connection-id.ts';
import { toHex } from './hex.ts';
import { Identity } from './identity.ts';
import { benchmarks } from './native.bench.ts';
import {
  type NativeDecoder,
  type NativeEncoder,
  nativeDecoderOf,
  nativeEncoderOf,
} from './native.ts';
import { closureDecoderOf, closureEncoderOf } from './native-closures.ts';
import { generatedDecoderOf, generatedEncoderOf } from './native-generated.ts';
import { ScheduleAt } from './schedule-at.ts';
import {
  bytesType,
  connectionIdType,
  identityType,
  optionType,
  product,
  resultType,
  scheduleAtType,
  sum,
  timeDurationType,
  timestampType,
  unitType,
  uuidType,
} from './special-types.ts';
import { TimeDuration } from './time-duration.ts';
import { Timestamp } from './timestamp.ts';
import type { AlgebraicType, ScalarKind, Typespace } from './type.ts';
import { emptyTypespace } from './type.ts';
import { Uuid } from './uuid.ts';

interface Implementation {
  readonly name: string;
  encoderOf(type: AlgebraicType, typespace?: Typespace): NativeEncoder;
  decoderOf(type: AlgebraicType, typespace?: Typespace): NativeDecoder;
}

const implementations: readonly Implementation[] = [
  {
    name: 'generated',
    encoderOf(type, typespace = emptyTypespace) {
      const encoder = generatedEncoderOf(type, typespace, 'hero');
      if (encoder === undefined) throw new Error('the source does not compile');
      return encoder;
    },
    decoderOf(type, typespace = emptyTypespace) {
      const decoder = generatedDecoderOf(type, typespace);
      if (decoder === undefined) throw new Error('the source does not compile');
      return decoder;
    },
  },
  {
    name: 'closures',
    encoderOf: (type, typespace) => closureEncoderOf(type, typespace, 'hero'),
    decoderOf: closureDecoderOf,
  },
];

const color = sum(['Red', unitType], ['Green', unitType]);
const shape = sum(['Circle', { kind: 'f64' }], ['Empty', unitType], ['Named', { kind: 'string' }]);
const listSpace: Typespace = {
  types: [
    sum(['Nil', unitType], ['Cons', product(['head', { kind: 'u8' }], ['tail', ref(0)])]),
    product(['list', ref(0)], ['color', ref(2)]),
    color,
  ],
};

function ref(index: number): AlgebraicType {
  return { kind: 'ref', ref: index };
}

for (const { name, encoderOf, decoderOf } of implementations) {
  const encode = (type: AlgebraicType, value: unknown, typespace?: Typespace): string => {
    const writer = new BinaryWriter();
    encoderOf(type, typespace)(writer, value);
    return toHex(writer.view());
  };
  const refusal = (type: AlgebraicType, value: unknown, typespace?: Typespace): string => {
    try {
      encode(type, value, typespace);
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError);
      return (error as TypeError).message;
    }
    throw new Error('the value was accepted');
  };
  const expectBothWays = (type: AlgebraicType, value: unknown, hex: string, space?: Typespace) => {
    expect(encode(type, value, space)).toBe(hex.replaceAll(' ', ''));
    const bytes = Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
    expect(decoderOf(type, space)(new BinaryReader(bytes))).toEqual(value);
  };

  describe(`[values 8] native values, ${name}`, () => {
    it('map products to objects', () => {
      const type = product(
        ['id', { kind: 'u32' }],
        ['name', { kind: 'string' }],
        ['pos', product(['x', { kind: 'f32' }], ['y', { kind: 'f32' }])],
        ['unit', unitType],
        ['flag', { kind: 'bool' }],
      );
      const value = { id: 7, name: 'Ann', pos: { x: 1.5, y: -2 }, unit: {}, flag: true };
      expectBothWays(type, value, '07000000 03000000 416e6e 0000c03f 000000c0 01');
      const decoded = decoderOf(type)(new BinaryReader(new Uint8Array(17)));
      expect(Object.keys(decoded as object)).toEqual(['id', 'name', 'pos', 'unit', 'flag']);
    });

    it('map options to T or undefined', () => {
      const option = optionType({ kind: 'u8' });
      expectBothWays(option, 5, '0005');
      expectBothWays(option, undefined, '01');
      expect(encode(option, null)).toBe('01');
      expect(encode(optionType(option), undefined)).toBe('01');
      const decode = decoderOf(optionType(option));
      expect(decode(new BinaryReader(Uint8Array.of(0, 1)))).toBeUndefined();
      expectBothWays(optionType(unitType), {}, '00');
      expectBothWays(product(['o', option]), { o: undefined }, '01');
    });

    it('map results to { ok } or { err }, each arm with its own type', () => {
      const result = resultType({ kind: 'u32' }, { kind: 'string' });
      expectBothWays(result, { ok: 3 }, '00 03000000');
      expectBothWays(result, { err: 'boom' }, '01 04000000 626f6f6d');
      expectBothWays(resultType(unitType, unitType), { err: {} }, '01');
      expect(refusal(result, {})).toBe(
        'hero: could not serialize result: object had neither a `ok` nor an `err` field',
      );
      expect(refusal(result, { err: 5 })).toBe('hero.err: expected a string, got the number 5');
    });

    it('map sums to { tag, value }', () => {
      expectBothWays(color, { tag: 'Green', value: {} }, '01');
      expect(encode(color, { tag: 'Green' })).toBe('01');
      expectBothWays(shape, { tag: 'Named', value: 'n' }, '02 01000000 6e');
      expectBothWays(shape, { tag: 'Empty', value: {} }, '01');
      expect(encode(shape, { tag: 'Empty' })).toBe('01');
    });

    it('map arrays to arrays and bytes to Uint8Array', () => {
      expectBothWays(bytesType, Uint8Array.of(1, 255), '02000000 01ff');
      expect(encode(bytesType, Buffer.from([1, 255]))).toBe('0200000001ff');
      expect(encode(bytesType, [1, 255])).toBe('0200000001ff');
      const list = (element: AlgebraicType): AlgebraicType => ({ kind: 'array', element });
      expectBothWays(list({ kind: 'u16' }), [1, 2], '02000000 0100 0200');
      expectBothWays(list(unitType), [{}, {}], '02000000');
      expectBothWays(list(list({ kind: 'bool' })), [[], [true]], '02000000 00000000 01000000 01');
      expectBothWays(list(optionType({ kind: 'u8' })), [1, undefined], '02000000 0001 01');
      expect(refusal(list(unitType), { length: 1 })).toBe('hero: expected an array, got an object');
    });

    it('map special types to their classes', () => {
      const type = product(
        ['owner', identityType],
        ['link', connectionIdType],
        ['at', timestampType],
        ['span', timeDurationType],
        ['key', uuidType],
        ['when', scheduleAtType],
      );
      const value = {
        owner: new Identity(2n ** 255n + 1n),
        link: new ConnectionId(2n ** 127n),
        at: new Timestamp(-1n),
        span: new TimeDuration(5n),
        key: Uuid.MAX,
        when: ScheduleAt.interval(7n),
      };
      const writer = new BinaryWriter();
      encoderOf(type)(writer, value);
      const decoded = decoderOf(type)(new BinaryReader(writer.finish())) as typeof value;
      expect(decoded).toEqual(value);
      expect(decoded.owner).toBeInstanceOf(Identity);
      expect(decoded.when.value).toBeInstanceOf(TimeDuration);
      expect(refusal(type, { ...value, owner: 5n })).toBe(
        'hero.owner: expected an Identity, got the bigint 5n',
      );
      expect(refusal(type, { ...value, at: { micros: 5n } })).toBe(
        'hero.at: expected a Timestamp, got an object',
      );
    });

    it('go through refs, recursive ones too', () => {
      const nil = { tag: 'Nil', value: {} };
      const two = { tag: 'Cons', value: { head: 2, tail: nil } };
      const value = {
        list: { tag: 'Cons', value: { head: 1, tail: two } },
        color: { tag: 'Red', value: {} },
      };
      expectBothWays(ref(1), value, '0101 0102 00 00', listSpace);
      const wrong = {
        tag: 'Cons',
        value: { head: 1, tail: { tag: 'Cons', value: { head: 300 } } },
      };
      expect(refusal(ref(1), { list: wrong }, listSpace)).toBe(
        'hero.list.value.tail.value.head: 300 is out of range for u8',
      );
    });

    it('end in an error for endless values', () => {
      const value: { head: number; tail: unknown } = { head: 1, tail: undefined };
      value.tail = { tag: 'Cons', value };
      expect(refusal(ref(0), value.tail, listSpace)).toContain('nested deeper than 128 levels');
    });

    it('use the names of elements whatever they are', () => {
      const type: AlgebraicType = {
        kind: 'product',
        elements: [
          { name: '__proto__', type: { kind: 'u8' } },
          { name: 'a"b\\\n\u2028`${', type: { kind: 'u8' } },
          { name: undefined, type: { kind: 'u8' } },
          { name: 'constructor', type: sum(['__proto__', { kind: 'u8' }]) },
        ],
      };
      const decoded = decoderOf(type)(new BinaryReader(Uint8Array.of(1, 2, 3, 0, 4))) as object;
      expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
      expect(Object.entries(decoded)).toEqual([
        ['2', 3],
        ['__proto__', 1],
        ['a"b\\\n\u2028`${', 2],
        ['constructor', { tag: '__proto__', value: 4 }],
      ]);
      expect(encode(type, decoded)).toBe('0102030004');
    });

    it('are refused with the path and the reason', () => {
      const type = product(['level', { kind: 'u8' }], ['tags', { kind: 'array', element: shape }]);
      expect(refusal(type, { level: 300, tags: [] })).toBe(
        'hero.level: 300 is out of range for u8',
      );
      expect(refusal(type, { level: 1.5, tags: [] })).toBe(
        'hero.level: 1.5 is not an integer, as u8 needs',
      );
      expect(refusal(type, { tags: [] })).toBe('hero.level: expected a number (u8), got undefined');
      expect(refusal(type, { level: 1n, tags: [] })).toBe(
        'hero.level: expected a number (u8), got the bigint 1n',
      );
      expect(refusal(type, { level: Symbol('s'), tags: [] })).toBe(
        'hero.level: expected a number (u8), got a symbol',
      );
      expect(
        refusal(type, { level: 1, tags: [{ tag: 'Empty' }, { tag: 'Named', value: 1 }] }),
      ).toBe('hero.tags[1].value: expected a string, got the number 1');
      expect(refusal(type, { level: 1, tags: [{ tag: 'Nope' }] })).toBe(
        "hero.tags[0]: 'Nope' is not a variant: expected a tag out of 'Circle', 'Empty', 'Named'",
      );
      expect(refusal(type, null)).toBe('hero: expected an object, got null');
      expect(refusal(type, [1])).toBe('hero.level: expected a number (u8), got undefined');
      expect(refusal(color, 'Red')).toBe('hero: expected an object { tag, value }, got a string');
      expect(refusal(color, { tag: 0 })).toBe(
        "hero: the number 0 is not a variant: expected a tag out of 'Red', 'Green'",
      );
      expect(refusal({ kind: 'u64' }, 1)).toBe('hero: expected a bigint (u64), got the number 1');
      expect(refusal(bytesType, [256])).toBe('hero: expected a Uint8Array, got an array');
      expect(refusal({ kind: 'bool' }, 1)).toBe('hero: expected a boolean, got the number 1');
    });

    const bounds: readonly (readonly [ScalarKind, number | bigint, number | bigint])[] = [
      ['i8', -128, 127],
      ['u8', 0, 255],
      ['i16', -32768, 32767],
      ['u16', 0, 65535],
      ['i32', -(2 ** 31), 2 ** 31 - 1],
      ['u32', 0, 2 ** 32 - 1],
      ['i64', -(2n ** 63n), 2n ** 63n - 1n],
      ['u64', 0n, 2n ** 64n - 1n],
      ['i128', -(2n ** 127n), 2n ** 127n - 1n],
      ['u128', 0n, 2n ** 128n - 1n],
      ['i256', -(2n ** 255n), 2n ** 255n - 1n],
      ['u256', 0n, 2n ** 256n - 1n],
    ];
    for (const [kind, min, max] of bounds) {
      it(`keep ${kind} within its range`, () => {
        const type = { kind } as const;
        for (const value of [min, max]) {
          const writer = new BinaryWriter();
          encoderOf(type)(writer, value);
          expect(decoderOf(type)(new BinaryReader(writer.finish()))).toBe(value);
        }
        const beyond =
          typeof min === 'bigint' ? [min - 1n, BigInt(max) + 1n] : [min - 1, Number(max) + 1];
        for (const value of beyond) {
          expect(refusal(type, value)).toBe(`hero: ${value} is out of range for ${kind}`);
        }
      });
    }

    it('throw DecodeError on bytes that are none', () => {
      const decode = decoderOf(product(['c', color], ['s', { kind: 'string' }]));
      expect(() => decode(new BinaryReader(Uint8Array.of(2)))).toThrow(DecodeError);
      expect(() => decode(new BinaryReader(Uint8Array.of(0, 1)))).toThrow(DecodeError);
    });
  });
}

describe('[values 8] the choice of implementation', () => {
  it('is kept per type and name, and the name begins the paths', () => {
    const type = product(['level', { kind: 'u8' }]);
    expect(nativeEncoderOf(type)).toBe(nativeEncoderOf(type));
    expect(nativeDecoderOf(type)).toBe(nativeDecoderOf(type));
    const writer = new BinaryWriter();
    expect(() => nativeEncoderOf(type)(writer, { level: -1 })).toThrow('value.level: -1 is out');
    expect(() => nativeEncoderOf(type, undefined, 'npc')(writer, {})).toThrow(
      'npc.level: expected',
    );
  });

  it('is measured', () => {
    for (const { value } of benchmarks(0.001)) expect(value).toBeGreaterThan(0);
  });
});
