import { describe, expect, it } from 'vitest';
import { SampleDatabase } from '../../../test/sql/sample-database.ts';

const u32 = { kind: 'u32' } as const;
const columns = {
  id: u32,
  room: u32,
  sent: { kind: 'i64' },
  kind: { kind: 'u8' },
  text: { kind: 'string' },
  flag: { kind: 'bool' },
} as const;

const db = new SampleDatabase([
  {
    name: 'note',
    columns,
    indexes: ['unique:btree:id', 'btree:room,sent,kind', 'hash:text', 'direct:kind'],
  },
]);

function planOf(where: string): string {
  return db.explain(`SELECT * FROM note WHERE ${where}`).replace(/\noutput \*$/, '');
}

describe('choice of access', () => {
  it('takes a unique index before all others', () => {
    expect(planOf('id = 5')).toBe('point note_id_idx_btree (id = 5)');
    expect(planOf("text = 'x' AND id = 5")).toBe(
      'point note_id_idx_btree (id = 5)\nfilter text = "x"',
    );
  });

  it('takes any index whose columns are all fixed', () => {
    expect(planOf("'x' = text")).toBe('point note_text_idx_hash (text = "x")');
    expect(planOf('kind = 3')).toBe('point note_kind_idx_direct (kind = 3)');
    expect(planOf('kind = 3 AND sent = -1 AND room = 2')).toBe(
      'point note_room_sent_kind_idx_btree (room = 2, sent = -1, kind = 3)',
    );
  });

  it('takes the longest fixed prefix of an ordered index', () => {
    expect(planOf('room = 2')).toBe('range note_room_sent_kind_idx_btree (room = 2)');
    expect(planOf('room = 2 AND sent = 7 AND flag')).toBe(
      'range note_room_sent_kind_idx_btree (room = 2, sent = 7)\nfilter flag = true',
    );
  });

  it('adds a range on the column behind the prefix, both bounds merged', () => {
    expect(planOf('room = 2 AND sent > 10 AND sent >= 5 AND sent <= 20 AND sent < 20')).toBe(
      'range note_room_sent_kind_idx_btree (room = 2, sent > 10, sent < 20)',
    );
    expect(planOf('id >= 5 AND 9 > id')).toBe('range note_id_idx_btree (id >= 5, id < 9)');
    expect(planOf('kind <= 4')).toBe('range note_kind_idx_direct (kind <= 4)');
    expect(planOf('NOT (id < 5 OR flag)')).toBe(
      'range note_id_idx_btree (id >= 5)\nfilter flag = false',
    );
  });

  it('reads bounds that meet as equality', () => {
    expect(planOf('id >= 5 AND id <= 5')).toBe('point note_id_idx_btree (id = 5)');
  });

  it('never asks a hash index for a range', () => {
    expect(planOf("text > 'x'")).toBe('scan note\nfilter text > "x"');
  });

  it('scans when no index helps', () => {
    expect(planOf('sent = 5')).toBe('scan note\nfilter sent = 5');
    expect(planOf('id <> 5')).toBe('scan note\nfilter id <> 5');
    expect(planOf('id = 5 OR room = 2')).toBe('scan note\nfilter id = 5 OR room = 2');
    expect(planOf('id = room')).toBe('scan note\nfilter id = room');
    expect(db.explain('SELECT * FROM note')).toBe('scan note\noutput *');
  });

  it('keeps what an access does not guarantee', () => {
    expect(planOf('id = 5 AND id <> 6')).toBe('point note_id_idx_btree (id = 5)\nfilter id <> 6');
    expect(planOf("room = 2 AND kind > 1 AND text < 'x'")).toBe(
      'range note_room_sent_kind_idx_btree (room = 2)\nfilter kind > 1 AND text < "x"',
    );
  });

  it('sees contradictions', () => {
    for (const where of [
      'id = 5 AND id = 6',
      'id > 5 AND id < 5',
      'sent >= 5 AND sent < 5',
      'id = 5 AND id > 5',
      'FALSE',
    ]) {
      expect(planOf(where), where).toBe('nothing');
    }
  });
});

describe('normal form', () => {
  it('decides constants and removes NOT', () => {
    expect(planOf('TRUE')).toBe('scan note');
    expect(planOf('flag AND TRUE')).toBe('scan note\nfilter flag = true');
    expect(planOf('NOT flag')).toBe('scan note\nfilter flag = false');
    expect(planOf('NOT NOT flag')).toBe('scan note\nfilter flag = true');
    expect(planOf('flag OR TRUE')).toBe('scan note');
    expect(planOf('(sent = 1) = TRUE')).toBe('scan note\nfilter sent = 1');
    expect(planOf('(sent = 1) = FALSE')).toBe('scan note\nfilter sent <> 1');
    expect(planOf('(sent = 1) < TRUE')).toBe('scan note\nfilter sent <> 1');
    expect(planOf('(sent = 1) <= TRUE')).toBe('scan note');
    expect(planOf('(sent = 1) = flag')).toBe('scan note\nfilter (sent = 1) = (flag = true)');
    expect(planOf('NOT ((sent = 1 OR flag) AND kind < 2)')).toBe(
      'scan note\nfilter (sent <> 1 AND flag = false) OR kind >= 2',
    );
    expect(planOf('(flag AND (sent = 1 AND (sent = 2 OR flag)))')).toBe(
      'scan note\nfilter flag = true AND sent = 1 AND (sent = 2 OR flag = true)',
    );
  });
});

describe('whole plans', () => {
  it('reads and writes', () => {
    expect(db.explain('SELECT text, id FROM note WHERE id = 5 LIMIT 3')).toBe(
      'point note_id_idx_btree (id = 5)\noutput text, id\nlimit 3',
    );
    expect(db.explain('SELECT COUNT(*) AS n FROM note')).toBe('scan note\ncount');
    expect(db.explain("UPDATE note SET text = '', kind = 1 WHERE id < 3")).toBe(
      'range note_id_idx_btree (id < 3)\nupdate text, kind',
    );
    expect(db.explain('DELETE FROM note WHERE id = 1')).toBe(
      'point note_id_idx_btree (id = 1)\ndelete',
    );
    expect(db.explain('SET row_limit = 5')).toBe('insert 1 into st_var');
  });
});
