import { describe, expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';

const u32 = { kind: 'u32' } as const;

const lab = new QueryLab(
  [
    {
      name: 'note',
      columns: { id: u32, room: u32, sent: { kind: 'i64' }, text: { kind: 'string' } },
      indexes: ['unique:btree:id', 'btree:room,sent', 'hash:text'],
    },
    { name: 'room', columns: { id: u32, open: { kind: 'bool' } }, indexes: ['unique:btree:id'] },
    { name: 'tag', columns: { note: u32, word: { kind: 'string' } } },
  ],
  {},
);
lab.insert(
  'note',
  Array.from({ length: 200 }, (_, id) => [id, id % 10, BigInt(id), `t${id % 50}`]),
);
lab.insert(
  'room',
  Array.from({ length: 10 }, (_, id) => [id, id % 2 === 0]),
);
lab.insert(
  'tag',
  Array.from({ length: 60 }, (_, at) => [at * 3, `w${at % 4}`]),
);

/** The plan without its numbers. */
function explain(sql: string): string {
  return lab.explain(sql).replaceAll(/ \(about \d+ rows\)/g, '');
}

/** The line of the plan that looks for the rows of `note`. */
function accessOf(where: string): string {
  const lines = explain(`SELECT * FROM note WHERE ${where}`).split('\n');
  return (lines[1] ?? '').trim();
}

describe('choice of access', () => {
  it('takes a unique index before all others', () => {
    expect(accessOf('id = 5')).toBe('look up note by note_id_idx_btree (5)');
    expect(accessOf("text = 'x' AND id = 5")).toBe(
      'look up note by note_id_idx_btree (5): note.text = "x"',
    );
  });

  it('takes any index whose columns are all fixed, then the longest prefix with a range', () => {
    expect(accessOf("'x' = text")).toBe('look up note by note_text_idx_hash ("x")');
    expect(accessOf('room = 2 AND sent = 7')).toBe(
      'look up note by note_room_sent_idx_btree (2, 7)',
    );
    expect(accessOf('room = 2')).toBe('range of note by note_room_sent_idx_btree (note.room = 2)');
    expect(accessOf('room = 2 AND sent > 10 AND sent >= 5 AND sent < 20')).toBe(
      'range of note by note_room_sent_idx_btree ' +
        '(note.room = 2 AND note.sent > 10 AND note.sent < 20): note.sent >= 5',
    );
  });

  it('looks lists up, written with IN or with OR', () => {
    expect(accessOf('id IN (1, 2, 2)')).toBe('look up note by note_id_idx_btree (1; 2; 2)');
    expect(accessOf('id = 1 OR id = 4')).toBe('look up note by note_id_idx_btree (1; 4)');
    expect(lab.rows('SELECT id FROM note WHERE id IN (1, 2, 2, 999)')).toEqual([[1], [2]]);
    expect(accessOf('room = 2 AND sent IN (2, 12, 3)')).toBe(
      'look up note by note_room_sent_idx_btree (2, 2; 2, 12; 2, 3)',
    );
    expect(lab.rows('SELECT id FROM note WHERE room = 2 AND sent IN (2, 12, 3)')).toEqual([
      [2],
      [12],
    ]);
  });

  it('scans where no index helps', () => {
    expect(accessOf('sent = 7')).toBe('scan note: note.sent = 7');
    expect(accessOf("text > 'a'")).toBe('scan note: note.text > "a"');
    expect(accessOf("id <> 5 OR text = 'x'")).toMatch(/^scan note/);
  });

  it('folds constants, and plans nothing for what never holds', () => {
    expect(explain('SELECT * FROM note WHERE id = 5 AND FALSE')).toBe('output *\n  nothing');
    expect(accessOf('id = 5 AND TRUE')).toBe('look up note by note_id_idx_btree (5)');
  });

  it('takes a parameter for a key', () => {
    const plan = lab.explain('SELECT * FROM note WHERE id = $1', { parameters: { 1: 5 } });
    expect(plan).toContain('look up note by note_id_idx_btree ($1)');
    expect(lab.rows('SELECT id FROM note WHERE id = $1', { parameters: { 1: 5 } })).toEqual([[5]]);
  });
});

describe('joins', () => {
  it('starts at the relation that has few rows, and goes on by index', () => {
    expect(
      explain('SELECT note.id FROM note JOIN room ON note.room = room.id WHERE room.id = 3'),
    ).toBe(
      'output note.id\n' +
        '  join by index\n' +
        '    look up room by room_id_idx_btree (3)\n' +
        '    range of note by note_room_sent_idx_btree (note.room = room.id)',
    );
  });

  it('hashes where there is no index', () => {
    expect(explain('SELECT t.word FROM tag AS t JOIN tag AS s ON t.word = s.word')).toContain(
      'join by hash on t.word = s.word',
    );
  });

  it('makes an inner join of a left join whose absent rows no condition lets through', () => {
    const from = 'FROM tag LEFT JOIN note ON tag.note = note.id';
    expect(explain(`SELECT tag.word ${from} WHERE note.sent > 3`)).not.toContain('left join');
    expect(explain(`SELECT tag.word ${from} WHERE note.id IS NULL`)).toContain('left join');
  });

  it('opens derived queries and common tables that are named once', () => {
    const plan = explain(
      'WITH w AS (SELECT id, room FROM note WHERE sent > 5) ' +
        'SELECT w.id FROM w JOIN (SELECT id FROM room WHERE open) AS r ON w.room = r.id',
    );
    expect(plan).not.toContain('rows of');
    expect(plan).toContain('sent > 5');
  });

  it('computes a common table that is named twice once', () => {
    const plan = explain(
      'WITH w AS (SELECT room, COUNT(*) AS n FROM note GROUP BY room) ' +
        'SELECT a.n FROM w AS a JOIN w AS b ON a.room = b.n',
    );
    expect(plan.match(/aggregate count/g)).toHaveLength(1);
    expect(plan).toContain('rows of a, common table');
  });

  it('moves conditions into groups when they are about keys', () => {
    const plan = explain(
      'SELECT d.n FROM (SELECT room, COUNT(*) AS n FROM note GROUP BY room) AS d WHERE d.room = 3',
    );
    expect(plan).toContain('range of note by note_room_sent_idx_btree (note.room = 3)');
    const other = explain(
      'SELECT d.n FROM (SELECT room, COUNT(*) AS n FROM note GROUP BY room) AS d WHERE d.n = 3',
    );
    expect(other).toContain('rows of d: d.n = 3');
  });
});

describe('order and counts', () => {
  it('lets an index order', () => {
    expect(explain('SELECT id FROM note ORDER BY id DESC LIMIT 3')).toBe(
      'limit 3\n  output note.id\n    range of note by note_id_idx_btree (all, descending)',
    );
    expect(lab.rows('SELECT id FROM note ORDER BY id DESC LIMIT 3')).toEqual([[199], [198], [197]]);
    expect(explain('SELECT id FROM note WHERE room = 2 ORDER BY sent')).not.toContain('sort');
    expect(explain('SELECT id FROM note ORDER BY text')).toContain('sort: note.text');
  });

  it('keeps the order of a derived query that is shown as it comes', () => {
    const inner = '(SELECT id, text FROM note ORDER BY text DESC, id)';
    expect(lab.rows(`SELECT d.id FROM ${inner} AS d LIMIT 2`)).toEqual([[9], [59]]);
    expect(explain(`SELECT COUNT(*) AS n FROM ${inner} AS d`)).not.toContain('sort');
  });

  it('keeps only the first rows of an order when a limit asks for no more', () => {
    expect(explain('SELECT id FROM note ORDER BY text, id LIMIT 2')).toContain(
      'sort, the first rows only: note.text, note.id',
    );
    expect(lab.rows('SELECT id FROM note ORDER BY text DESC, id LIMIT 2 OFFSET 1')).toEqual([
      [59],
      [109],
    ]);
  });

  it('finds the smallest and the greatest key at the end of an index', () => {
    const plan = explain('SELECT MAX(id) AS m FROM note');
    expect(plan).toContain('first row\n      range of note by note_id_idx_btree (all, descending)');
    expect(lab.rows('SELECT MAX(id) AS m FROM note')).toEqual([[{ tag: 0, value: 199 }]]);
    const sql = 'SELECT MIN(sent) AS m FROM note WHERE room = 3';
    expect(explain(sql)).toContain('first row');
    expect(lab.rows(sql)).toEqual([[{ tag: 0, value: 3n }]]);
    expect(lab.rows('SELECT MIN(id) AS m FROM note WHERE id > 999')).toEqual([
      [{ tag: 1, value: [] }],
    ]);
    expect(explain('SELECT MIN(id) AS m FROM note WHERE sent > 3')).not.toContain('first row');
  });

  it('counts a whole table without looking at it', () => {
    expect(explain('SELECT COUNT(*) AS n FROM note')).toBe('count of note');
    expect(lab.rows('SELECT COUNT(*) AS n FROM note')).toEqual([[200n]]);
  });
});

describe('subqueries', () => {
  it('asks once what hangs on no outer row', () => {
    const plan = explain('SELECT word FROM tag WHERE note IN (SELECT id FROM room)');
    expect(plan).toContain('subquery, asked once');
  });

  it('looks the answers of a subquery up in an index', () => {
    const sql = 'SELECT id FROM note WHERE id IN (SELECT id FROM room)';
    expect(explain(sql)).toContain('look up note by note_id_idx_btree (answers of a subquery)');
    expect(lab.rows(sql)).toHaveLength(10);
  });

  it('collects the keys of an EXISTS that hangs on the outer row by equality', () => {
    const sql =
      'SELECT id FROM note WHERE EXISTS (SELECT tag.word FROM tag WHERE tag.note = note.id)';
    expect(explain(sql)).toContain('subquery, keys collected once');
    expect(lab.rows(sql)).toHaveLength(60);
  });

  it('asks for each row what an index answers, when there are few', () => {
    const sql =
      'SELECT word FROM tag WHERE note = 3 AND EXISTS ' +
      '(SELECT note.id FROM note WHERE note.id = tag.note)';
    expect(explain(sql)).toContain('subquery, asked for each row');
  });
});
