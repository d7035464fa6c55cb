import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyType, anyValue, typespace } from '../../test/support/arbitrary-values.ts';
import { decodeValue } from '../values/decode.ts';
import { encodeValue } from '../values/encode.ts';
import type { AlgebraicType, ProductType } from '../values/type.ts';
import type { Value } from '../values/value.ts';
import { RowBatches } from './row-batches.ts';
import { type RowFormat, type RowTable, rowFormats } from './row-table.ts';
import { RowWriter } from './row-writer.ts';

interface Sample {
  readonly types: readonly AlgebraicType[];
  readonly rows: readonly (readonly Value[])[];
}

const samples: fc.Arbitrary<Sample> = fc
  .array(anyType, { minLength: 1, maxLength: 5 })
  .chain((types) =>
    fc.record({
      types: fc.constant(types),
      rows: fc.array(fc.tuple(...types.map(anyValue)), { maxLength: 6 }),
    }),
  );

function tableOf(types: readonly AlgebraicType[]): RowTable {
  const columns = types.map((type, at) => {
    const name = at === 0 ? 'first, "column"' : `column_${at}`;
    return { name, sourceName: name, type, isSequence: false };
  });
  return { name: 'sample', columns, types: typespace };
}

function productOf({ columns }: RowTable): ProductType {
  return { kind: 'product', elements: columns.map(({ name, type }) => ({ name, type })) };
}

function written({ types, rows }: Sample, format: RowFormat): string {
  const table = tableOf(types);
  const encoded = rows.map((row) => encodeValue(productOf(table), row, typespace));
  const bytes = Buffer.concat(encoded.map((row) => Buffer.from(row)));
  const writer = new RowWriter(table, format);
  return writer.header + [...writer.pieces(bytes, rows.length)].join('');
}

/** The rows that come out of a text that is cut into pieces of this length. */
function read({ types }: Sample, format: RowFormat, text: Uint8Array, pieceBytes: number): Value[] {
  const table = tableOf(types);
  const batches = new RowBatches({ table, format, ignoresUnknown: false, skips: false });
  const steps = [];
  for (let at = 0; at < text.length; at += pieceBytes) {
    steps.push(batches.push(text.subarray(at, at + pieceBytes)));
  }
  steps.push(batches.end());
  return steps.flatMap(({ batches: some, fault }) => {
    expect(fault).toBeUndefined();
    return some.flatMap(({ rows, count }) => {
      const type: AlgebraicType = { kind: 'array', element: productOf(table) };
      const head = Buffer.alloc(4);
      head.writeUInt32LE(count);
      return decodeValue(type, Buffer.concat([head, rows]), typespace) as Value[];
    });
  });
}

describe('rows of every type', () => {
  it.each(rowFormats)('[history 11.3] survive being written and read as %s', (format) => {
    fc.assert(
      fc.property(samples, fc.integer({ min: 1, max: 70 }), (sample, pieceBytes) => {
        const text = Buffer.from(written(sample, format));
        expect(read(sample, format, text, pieceBytes)).toEqual(sample.rows);
        expect(read(sample, format, text, text.length + 1)).toEqual(sample.rows);
      }),
      { numRuns: 400 },
    );
  });

  it('[history 11.3] survive ends of lines of another system, and a mark at the beginning', () => {
    fc.assert(
      fc.property(samples, fc.constantFrom(...rowFormats), (sample, format) => {
        const text = written(sample, format);
        // A line feed within quotes is part of a value.
        if (format === 'csv' && /"[^"]*\n/.test(text)) return;
        const other = Buffer.from(`\ufeff${text.replaceAll('\n', '\r\n')}`);
        expect(read(sample, format, other, 7)).toEqual(sample.rows);
      }),
      { numRuns: 200 },
    );
  });
});
