import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyType, anyValue, typespace } from '../../test/support/arbitrary-values.ts';
import { someRuns } from '../../test/support/share.ts';
import { BinaryReader, DecodeError } from './binary-reader.ts';
import { BinaryWriter } from './binary-writer.ts';
import { comparatorOf, encodedComparatorOf } from './compare.ts';
import { decodeValue } from './decode.ts';
import { encodeValue } from './encode.ts';
import { float32Text, float64Text } from './float-text.ts';
import { encodedToJsonSteps, JsonError, parseJson, valueFromJson, valueToJson } from './json.ts';
import { looseReaderOf } from './json-loose.ts';
import { fixedSizeOf, skipperOf, validatorOf } from './layout.ts';
import { nativeDecoderOf, nativeEncoderOf } from './native.ts';
import { closureDecoderOf, closureEncoderOf } from './native-closures.ts';
import { optionType, specialKindOf } from './special-types.ts';
import { valueToText } from './text.ts';
import type { AlgebraicType } from './type.ts';
import { decodeType, encodeType, typeFromJson, typeToJson } from './type-codec.ts';
import { resolveType, typesEqual } from './typespace.ts';
import { readUtf8, utf8Length } from './utf8.ts';
import type { Value } from './value.ts';

const runs = { numRuns: 400 };

const anyTyped = anyType.chain((type) => anyValue(type).map((value) => ({ type, value })));
const anyPair = anyType.chain((type) =>
  fc.tuple(anyValue(type), anyValue(type)).map(([a, b]) => ({ type, a, b })),
);

describe('every value of every type', () => {
  it('[values 2] survives encoding and decoding', () => {
    fc.assert(
      fc.property(anyTyped, ({ type, value }) => {
        const bytes = encodeValue(type, value, typespace);
        expect(decodeValue(type, bytes, typespace)).toEqual(value);
        expect(encodeValue(type, decodeValue(type, bytes, typespace), typespace)).toEqual(bytes);
      }),
      runs,
    );
  });

  it('is measured alike by the validator, the skipper and the fixed size', () => {
    fc.assert(
      fc.property(anyTyped, fc.nat(5), ({ type, value }, before) => {
        const bytes = encodeValue(type, value, typespace);
        const padded = new Uint8Array(before + bytes.length + 3).fill(0xff);
        padded.set(bytes, before);
        const end = before + bytes.length;
        expect(validatorOf(type, typespace)(padded, before, end)).toBe(end);
        expect(skipperOf(type, typespace)(padded, before)).toBe(end);
        expect(fixedSizeOf(type, typespace) ?? bytes.length).toBe(bytes.length);
      }),
      runs,
    );
  });

  it('[ease 1.2] is read by the loose reader as by the exact one, if that reads it', () => {
    const shapes = fc.constantFrom('named', 'positional');
    const readAs = (type: AlgebraicType, text: string) => {
      let exact: Value;
      try {
        exact = valueFromJson(type, parseJson(text), typespace);
      } catch {
        return false;
      }
      expect(looseReaderOf(type, typespace)(parseJson(text), 0)).toEqual(exact);
      return true;
    };
    let others = 0;
    fc.assert(
      fc.property(anyTyped, anyTyped, shapes, (one, other, shape) => {
        const text = valueToJson(one.type, one.value, shape, typespace);
        readAs(one.type, text);
        readAs(optionType(one.type), `[0,${text}]`);
        if (readAs(other.type, text)) others += 1;
        readAs(optionType(other.type), text);
      }),
      runs,
    );
    expect(others).toBeGreaterThan(0);
  });

  it('[ease 2.4] is read back from its plain form', () => {
    fc.assert(
      fc.property(anyTyped, ({ type, value }) => {
        const json = parseJson(valueToJson(type, value, 'plain', typespace));
        expect(looseReaderOf(type, typespace)(json, 0)).toEqual(value);
      }),
      runs,
    );
  });

  it('[values 4] survives JSON of both shapes, unless a float has none', () => {
    fc.assert(
      fc.property(anyTyped, fc.constantFrom('named', 'positional'), ({ type, value }, shape) => {
        const text = valueToJson(type, value, shape, typespace);
        JSON.parse(text);
        if (holds(value, (part) => typeof part === 'number' && !Number.isFinite(part))) return;
        expect(valueFromJson(type, parseJson(text), typespace)).toEqual(value);
      }),
      runs,
    );
  });

  it('[values 4] is the same JSON in steps', () => {
    fc.assert(
      fc.property(
        anyTyped,
        fc.constantFrom('named', 'positional', 'plain'),
        ({ type, value }, shape) => {
          const reader = new BinaryReader(encodeValue(type, value, typespace));
          const steps = encodedToJsonSteps(type, reader, shape, typespace);
          let step = steps.next();
          while (step.done !== true) step = steps.next();
          expect(step.value).toBe(valueToJson(type, value, shape, typespace));
          expect(reader.remaining).toBe(0);
        },
      ),
      runs,
    );
  });

  it('[values 8] survives its JavaScript form, unless an option hides in another', () => {
    fc.assert(
      fc.property(anyTyped, ({ type, value }) => {
        const bytes = encodeValue(type, value, typespace);
        const native = nativeDecoderOf(type, typespace)(new BinaryReader(bytes));
        expect(closureDecoderOf(type, typespace)(new BinaryReader(bytes))).toEqual(native);
        for (const encode of [
          nativeEncoderOf(type, typespace),
          closureEncoderOf(type, typespace, 'value'),
        ]) {
          const writer = new BinaryWriter();
          encode(writer, native);
          if (!hasNestedOption(type)) expect(writer.finish()).toEqual(bytes);
        }
      }),
      runs,
    );
  });

  it('[values 6] is ordered alike decoded and encoded', () => {
    fc.assert(
      fc.property(anyPair, ({ type, a, b }) => {
        const [left, right] = [encodeValue(type, a, typespace), encodeValue(type, b, typespace)];
        const order = Math.sign(comparatorOf(type, typespace)(a, b));
        const compare = encodedComparatorOf(type, typespace);
        expect(Math.sign(compare(left, 0, right, 0)) + 0).toBe(order + 0);
        expect(Math.sign(compare(right, 0, left, 0)) + 0).toBe(-order + 0);
        expect(compare(left, 0, left, 0)).toBe(0);
      }),
      runs,
    );
  });

  it('[values 7] has a text', () => {
    fc.assert(
      fc.property(anyTyped, ({ type, value }) => {
        expect(valueToText(type, value, typespace)).not.toBe('');
      }),
    );
  });
});

describe('[values 5] every type', () => {
  it('survives its encodings', () => {
    fc.assert(
      fc.property(anyType, (type) => {
        const writer = new BinaryWriter();
        encodeType(writer, type);
        expect(decodeType(new BinaryReader(writer.view()))).toEqual(type);
        expect(typeFromJson(parseJson(typeToJson(type)))).toEqual(type);
        expect(typesEqual(type, decodeType(new BinaryReader(writer.view())), typespace)).toBe(true);
      }),
    );
  });
});

describe('[values 2] bytes of any content', () => {
  it('decode, or throw DecodeError; all readers agree which', () => {
    fc.assert(
      fc.property(anyType, fc.uint8Array({ maxLength: 40 }), (type, bytes) => {
        expectReadersToAgree(type, bytes);
      }),
      { numRuns: someRuns(1_500) },
    );
  });

  it('do so when they are an encoding that was cut or changed', () => {
    fc.assert(
      fc.property(
        anyTyped,
        fc.nat(),
        fc.nat(255),
        fc.boolean(),
        ({ type, value }, at, byte, cut) => {
          const bytes = encodeValue(type, value, typespace);
          if (bytes.length === 0) return;
          const position = at % bytes.length;
          if (cut) {
            const short = bytes.slice(0, position);
            expect(() => decodeValue(type, short, typespace)).toThrow(DecodeError);
            expectReadersToAgree(type, short);
          } else {
            bytes[position] = byte;
            expectReadersToAgree(type, bytes);
          }
        },
      ),
      { numRuns: someRuns(1_000) },
    );
  });

  it('are a type description, or throw DecodeError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        expectOnly(DecodeError, () => decodeType(new BinaryReader(bytes)));
      }),
      { numRuns: someRuns(1_000) },
    );
  });
});

describe('[values 4] JSON of any content', () => {
  it('is read as JSON.parse reads it, or refused like there', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string(), mangledJson()), (text) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        // The native parser accepts unpaired surrogates.
        if (/\\u[dD]/.test(text)) return;
        if (isJson) parseJson(text);
        else expect(() => parseJson(text)).toThrow(JsonError);
      }),
      { numRuns: someRuns(1_000) },
    );
  });

  it('is a value of a type, or throws JsonError', () => {
    fc.assert(
      fc.property(anyType, fc.json(), (type, text) => {
        expectOnly(JsonError, () => valueFromJson(type, parseJson(text), typespace));
      }),
      { numRuns: someRuns(1_000) },
    );
  });
});

describe('texts and floats', () => {
  it('[values 2] strings are read as the platform reads them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (bytes) => {
        const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
        let expected: string | undefined;
        try {
          expected = decoder.decode(bytes);
        } catch {
          expected = undefined;
        }
        expect(readUtf8(bytes, 0, bytes.length)).toBe(expected);
      }),
      { numRuns: someRuns(3_000) },
    );
  });

  it('[values 2] strings are measured as the platform writes them', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(utf8Length(text)).toBe(Buffer.byteLength(text));
      }),
    );
  });

  it('[values 4] floats are written as the shortest text that reads back', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Number(float64Text(value))).toBe(value);
        expect(float64Text(value)).toMatch(/[.e]/);
      }),
    );
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Math.fround(Number(float32Text(value)))).toBe(value);
        expect(float32Text(value).length).toBeLessThanOrEqual(float64Text(value).length);
      }),
    );
  });
});

function expectReadersToAgree(type: AlgebraicType, bytes: Uint8Array): void {
  const outcomes = [
    () => {
      const reader = new BinaryReader(bytes);
      validatorOf(type, typespace)(bytes, 0, bytes.length);
      return reader;
    },
    () => {
      const end = validatorOf(type, typespace)(bytes, 0, bytes.length);
      expect(skipperOf(type, typespace)(bytes, 0)).toBe(end);
    },
    () => decodeValue(type, bytes, typespace),
    () => nativeDecoderOf(type, typespace)(new BinaryReader(bytes)),
    () => closureDecoderOf(type, typespace)(new BinaryReader(bytes)),
  ].map((read) => expectOnly(DecodeError, read));
  expect(new Set(outcomes).size).toBe(1);
}

/** Runs `act`, which may throw a `Problem` and nothing else; true if it did not. */
function expectOnly(Problem: typeof DecodeError | typeof JsonError, act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return false;
  }
}

function mangledJson(): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.json(),
      fc.nat(),
      fc.constantFrom('', ',', '"', '[', '}', '0', '.', '-', 'e', '\\', ' '),
    )
    .map(([text, at, piece]) => {
      const position = at % (text.length + 1);
      return text.slice(0, position) + piece + text.slice(position + 1);
    });
}

function holds(value: Value, test: (part: Value) => boolean): boolean {
  if (test(value)) return true;
  if (value instanceof Uint8Array) return false;
  if (Array.isArray(value)) return value.some((item) => holds(item, test));
  return typeof value === 'object' && 'tag' in value && holds(value.value, test);
}

function hasNestedOption(type: AlgebraicType): boolean {
  switch (type.kind) {
    case 'product':
      return type.elements.some((element) => hasNestedOption(element.type));
    case 'array':
      return hasNestedOption(type.element);
    case 'sum': {
      const types = type.variants.map((variant) => variant.type);
      if (types.some(hasNestedOption)) return true;
      const isOption = (inner: AlgebraicType) =>
        specialKindOf(resolveType(inner, typespace)) === 'option';
      return isOption(type) && types.some(isOption);
    }
    default:
      return false;
  }
}
