import { describe, expect, it } from 'vitest';
import { parseJson } from '../values/json.ts';
import { drawTable, readResult, resultText } from './sql-table.ts';

/** The type of an option, as an answer has it. */
function option(some: string): string {
  const none = '{"name":{"some":"none"},"algebraic_type":{"Product":{"elements":[]}}}';
  return `{"Sum":{"variants":[{"name":{"some":"some"},"algebraic_type":${some}},${none}]}}`;
}

describe('a result as a table', () => {
  it('[cli 3.2] names columns and fields that have no name by their position', () => {
    const pair = '{"Product":{"elements":[{"name":{"none":[]},"algebraic_type":{"U8":[]}}]}}';
    const result = parseJson(
      `{"schema":{"elements":[{"name":{"none":[]},"algebraic_type":{"Bool":[]}},` +
        `{"name":{"none":[]},"algebraic_type":${pair}}]},"rows":[[true,[7]]]}`,
    );
    expect(drawTable(readResult(result))).toBe(
      ' column 0 | column 1 \n' + '----------+----------\n' + ' true     | {"0":7}  ',
    );
  });

  it('[ease 3.7] says how many rows a statement wrote', () => {
    const written = (inserted: number, updated: number, deleted: number, columns = '') =>
      resultText(
        parseJson(
          `{"schema":{"elements":[${columns}]},"rows":[],"stats":{"rows_inserted":${inserted},` +
            `"rows_updated":${updated},"rows_deleted":${deleted}}}`,
        ),
      );
    expect(written(2, 0, 0)).toBe('2 rows inserted');
    expect(written(1, 3, 0)).toBe('1 row inserted, 3 rows updated');
    expect(written(0, 0, 1)).toBe('1 row deleted');
    expect(written(0, 0, 0)).toBe('No rows changed');
    const column = '{"name":{"some":"a"},"algebraic_type":{"Bool":[]}}';
    expect(written(0, 0, 4, column)).toBe(' a \n---\n4 rows deleted');
    expect(written(0, 0, 0, column)).toBe(' a \n---');
  });

  it('[cli 3.2] is as wide as its widest cell, in characters', () => {
    expect(
      drawTable({
        header: ['a', 'b'],
        rows: [
          ['äö', ''],
          ['𝄞', 'x'],
        ],
      }),
    ).toBe(' a  | b \n----+---\n äö |   \n 𝄞  | x ');
  });

  it('[cli 1] has a line for each row, whatever is in its cells', () => {
    const rows = [['x\n y |', '\u001b[2J']];
    expect(drawTable({ header: ['a', 'b'], rows }).split('\n')).toEqual([
      ' a       | b         ',
      '---------+-----------',
      ' x\\n y | | \\u001b[2J ',
    ]);
  });

  it.each([
    [option('{"U8":[]}').replace('"some"}', '"done"}'), '[1,[]]', 'none'],
    [option('{"String":[]}'), '[0,"a \\"b\\""]', '"a "b""'],
    [option('{"String":[]}'), '[0,"null"]', '"null"'],
    [option('{"String":[]}'), '[1,[]]', 'null'],
    [option('{"U8":[]}'), '[0,5]', '5'],
    ['{"U64":[]}', '18446744073709551615', '18446744073709551615'],
    ['{"Array":{"String":[]}}', '["a"]', '["a"]'],
    ['{"Array":{"U8":[]}}', '"00ff"', '00ff'],
  ])('[ease 2.4] shows a cell of %s: %s', (type, json, cell) => {
    const element = `{"name":{"some":"it"},"algebraic_type":${type}}`;
    const result = parseJson(`{"schema":{"elements":[${element}]},"rows":[[${json}]]}`);
    expect(readResult(result).rows).toEqual([[cell]]);
  });

  it('shows what JSON has no number for', () => {
    const result = parseJson(
      '{"schema":{"elements":[{"name":{"some":"f"},"algebraic_type":{"F64":[]}}]},"rows":[[null]]}',
    );
    expect(readResult(result).rows).toEqual([['NaN']]);
  });
});
