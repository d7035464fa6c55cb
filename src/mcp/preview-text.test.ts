import { describe, expect, it } from 'vitest';
import type { Preview, PreviewedTable } from '../database/preview-outcome.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { encodeValue } from '../values/encode.ts';
import { emptyTypespace } from '../values/type.ts';
import { changedRowsText, changesJson, changesText, shownTables } from './preview-text.ts';

const columns = [
  { name: 'id', type: { kind: 'u32' } },
  { name: 'text', type: { kind: 'string' } },
] as const;

type Row = readonly [id: number, text: string];

function rowList(rows: readonly Row[]): PreviewedTable['inserts'] {
  const writer = new BinaryWriter();
  for (const row of rows) writer.raw(encodeValue({ kind: 'product', elements: columns }, row));
  return { bytes: writer.finish().slice(), count: rows.length };
}

interface Changes {
  readonly inserts?: readonly Row[];
  readonly deletes?: readonly Row[];
  readonly more?: Partial<PreviewedTable>;
}

function changed({ inserts = [], deletes = [], more = {} }: Changes): Pick<Preview, 'changes'> {
  const table = {
    ...{ table: 'item', columns, types: emptyTypespace, primaryKey: 0, isEvent: false },
    ...{ insertCount: inserts.length, deleteCount: deletes.length, updateCount: 0 },
    ...{ inserts: rowList(inserts), deletes: rowList(deletes) },
    ...more,
  };
  return { changes: [table] };
}

const shown = (changes: Changes) => {
  const tables = shownTables(changed(changes));
  return { words: changesText(tables, true), json: JSON.parse(changesJson(tables))[0] };
};

describe('the changes of a preview', () => {
  it('[ease 4.8] tell rows that change, and how, from rows that come and go', () => {
    const { words, json } = shown({
      inserts: [
        [1, 'new'],
        [3, 'c'],
      ],
      deletes: [
        [1, 'old'],
        [2, 'b'],
      ],
    });
    expect(words).toBe('item: 1 inserted, 1 updated, 1 deleted');
    expect(json).toEqual({
      ...{ table: 'item', event: false, hidden: 0 },
      inserted: [{ id: 3, text: 'c' }],
      deleted: [{ id: 2, text: 'b' }],
      updated: [{ key: { id: 1 }, before: { text: 'old' }, after: { text: 'new' } }],
    });
  });

  it('have no updates where there is no primary key', () => {
    const row: Row = [1, 'same'];
    const { words } = shown({
      inserts: [row, row],
      deletes: [row],
      more: { primaryKey: undefined },
    });
    expect(words).toBe('item: 2 inserted, 1 deleted');
  });

  it('say how many are not shown', () => {
    const { words, json } = shown({
      deletes: [[1, 'a']],
      more: { insertCount: 2, deleteCount: 5 },
    });
    expect(words).toBe('item: 1 deleted, 6 more changed, which are not shown');
    expect(json.hidden).toBe(6);
  });

  it('call rows of event tables what they are', () => {
    const { words, json } = shown({ inserts: [[1, 'ring']], more: { isEvent: true } });
    expect(words).toBe('item: 1 sent to subscribers');
    expect(json.event).toBe(true);
  });

  it('[ease 4.8] show themselves to the user who confirms them, as many as fit', () => {
    const tables = shownTables(
      changed({
        inserts: [
          [1, 'new'],
          [3, 'c'],
        ],
        deletes: [
          [1, 'old'],
          [2, 'b'],
        ],
      }),
    );
    expect(changedRowsText(tables, 1_000).split('\n')).toEqual([
      '+ item {"id":3,"text":"c"}',
      '~ item {"id":1} {"text":"old"} → {"text":"new"}',
      '- item {"id":2,"text":"b"}',
    ]);
    expect(changedRowsText(tables, 40)).toBe('+ item {"id":3,"text":"c"}\nand 2 more');
    expect(changedRowsText([], 10)).toBe('');
  });

  it('may be none', () => {
    expect(changesText([], true)).toBe('no rows');
    expect(changesText([], false)).toBe('rows of tables that you may not read');
    expect(changesJson([])).toBe('[]');
  });
});
