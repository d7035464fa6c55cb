/**
 * Statements of SQL against SQLite in memory, measured in the same run: both engines hold the same
 * rows, answer the same statements, and must agree on a checksum. Where rows come out, both sides
 * decode them to JavaScript values.
 */
import { assert } from '../src/assert.ts';
import { Random } from '../src/testing/random.ts';
import type { SumValue } from '../src/values/value.ts';
import { Engine, type PreparedQuery } from '../test/sql/engine.ts';
import type { SampleTable } from '../test/sql/sample-tables.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  /** Our time by SQLite's, in the same run: above 1 we are slower. Absent without SQLite. */
  readonly ratio?: number;
  readonly bar?: string;
}

/** What a side answers with: something that both must agree on. */
type Run = (turn: number) => number;

interface Work {
  readonly name: string;
  readonly ours: Run;
  readonly theirs: Run | undefined;
  /** Runs in one round. */
  readonly count: number;
  readonly unit: 'µs' | 'ms';
  /** The ratio that it may have. */
  readonly bar: number | undefined;
}

export async function benchmarks(scale: number): Promise<Figure[]> {
  const sizes = {
    notes: Math.max(1_000, Math.round(1_000_000 * scale)),
    rooms: Math.max(100, Math.round(100_000 * scale)),
  };
  const rows = new Rows(sizes.notes, sizes.rooms);
  const ours = fillOurs(rows);
  const sqlite = await openSqlite();
  if (sqlite !== undefined) fillSqlite(sqlite, rows);
  const both: Both = { ours, sqlite, rows, scale };
  const works = [
    pointLookup(both),
    pointLookupFromText(both),
    ...newTexts(both),
    rangeScan(both),
    rangeAggregate(both),
    filterScan(both),
    ...joins(both),
    ...groupings(both),
    ...arrays(both),
    sorting(both),
  ];
  return works.map(measured);
}

interface Both {
  readonly ours: Engine;
  readonly sqlite: Sqlite | undefined;
  readonly rows: Rows;
  readonly scale: number;
}

const rounds = 3;

/** The best of a few rounds, turn by turn about, so that noise meets both. */
function measured({ name, ours, theirs, count, unit, bar }: Work): Figure {
  const factor = (unit === 'µs' ? 1_000 : 1) / count;
  let best = Number.POSITIVE_INFINITY;
  let bestOfTheirs = Number.POSITIVE_INFINITY;
  let checksum = 0;
  for (let round = 0; round < rounds; round++) {
    const first = timed(ours, count);
    best = Math.min(best, first.millis);
    ({ checksum } = first);
    if (theirs === undefined) continue;
    const second = timed(theirs, count);
    bestOfTheirs = Math.min(bestOfTheirs, second.millis);
    assert(second.checksum === checksum, `${name}: ${checksum} here, ${second.checksum} in SQLite`);
  }
  const shared = { name: `${name} (checksum ${checksum})`, unit, value: best * factor };
  if (theirs === undefined) return shared;
  const compared = { ...shared, ratio: best / bestOfTheirs };
  return bar === undefined ? compared : { ...compared, bar: `at most ${bar.toFixed(1)}` };
}

function timed(run: Run, count: number): { readonly millis: number; readonly checksum: number } {
  let checksum = 0;
  const begin = performance.now();
  for (let turn = 0; turn < count; turn++) checksum += run(turn);
  return { millis: performance.now() - begin, checksum };
}

/** A note of one room; a room has about ten notes, a kind about a hundredth of all. */
class Rows {
  readonly notes: number;
  readonly rooms: number;
  readonly #sent: readonly number[];

  constructor(notes: number, rooms: number) {
    this.notes = notes;
    this.rooms = rooms;
    const random = new Random(3);
    this.#sent = Array.from({ length: notes }, () => random.below(1_000_000_000));
  }

  note(id: number): readonly [number, number, number, number, string] {
    const room = (id * 7) % this.rooms;
    return [id, room, id % 100, this.#sent[id] ?? 0, `note ${String(id).padStart(7, '0')}`];
  }

  room(id: number): readonly [number, number, string] {
    return [id, id % Math.ceil(this.rooms / 100), `room ${id}`];
  }
}

function pointLookup({ ours, sqlite, rows, scale }: Both): Work {
  const sql = 'SELECT * FROM note WHERE id = $1';
  const query = ours.prepare(sql, 1);
  const statement = sqlite?.prepare('SELECT * FROM note WHERE id = ?').raw();
  const key = (turn: number) => (turn * 7_919) % rows.notes;
  return {
    name: 'point lookup by key, prepared, row decoded',
    ours: (turn) => lengthOf(query.rows([String(key(turn))])[0]),
    theirs: statement && ((turn) => lengthOf(statement.get(key(turn)) as Row)),
    count: Math.ceil(200_000 * scale),
    unit: 'µs',
    bar: 1,
  };
}

function pointLookupFromText({ ours, sqlite, rows, scale }: Both): Work {
  const text = (turn: number) => `SELECT * FROM note WHERE id = ${(turn * 7_919) % rows.notes}`;
  return {
    name: 'point lookup by key, from text',
    ours: (turn) => lengthOf(ours.rows(text(turn))[0]),
    theirs: sqlite && ((turn) => lengthOf(sqlite.prepare(text(turn)).raw().get() as Row)),
    count: Math.ceil(50_000 * scale),
    unit: 'µs',
    bar: undefined,
  };
}

/** Until a text that nobody has sent before can run. */
function newTexts({ ours, sqlite, scale }: Both): readonly Work[] {
  const texts: readonly (readonly [name: string, text: (turn: number) => string])[] = [
    ['a key', (turn) => `SELECT * FROM note WHERE id = ${turn}`],
    [
      'a join',
      (turn) =>
        'SELECT n.id, r.name FROM note AS n JOIN room AS r ON r.id = n.room_id ' +
        `WHERE n.kind = 3 AND n.sent > ${turn} AND n.text <> 'no ${turn}' ORDER BY n.id LIMIT 10`,
    ],
    ['a write', (turn) => `UPDATE note SET text = 'new ${turn}' WHERE id = ${turn} AND kind < 5`],
  ];
  // Nothing that was prepared before has the same names: each is parsed, checked and planned.
  let forms = 0;
  const otherForm = (turn: number) => `SELECT id AS a${forms++}, text FROM note WHERE id = ${turn}`;
  const work = (name: string, text: (turn: number) => string, bar?: number): Work => ({
    name: `prepare a new text: ${name}`,
    ours: (turn) => ours.ready(text(turn)),
    theirs: sqlite && ((turn) => (sqlite.prepare(text(turn)) === undefined ? 0 : 1)),
    count: Math.ceil(20_000 * scale),
    unit: 'µs',
    bar,
  });
  return [
    ...texts.map(([name, text]) => work(name, text, 2)),
    work('a key, of a form that is new too', otherForm),
  ];
}

type Row = readonly unknown[];

/** The length of the text of a note: as good a checksum as any. */
function lengthOf(row: Row | undefined): number {
  return String(row?.[4]).length + Number(row?.[0]);
}

const rangeRows = 1_000;

function rangeScan({ ours, sqlite, rows, scale }: Both): Work {
  const first = (turn: number) => (turn * 4_093) % Math.max(1, rows.notes - rangeRows);
  const query = ours.prepare('SELECT id, text FROM note WHERE id >= $1 AND id < $2', 2);
  const theirs = sqlite?.prepare('SELECT id, text FROM note WHERE id >= ? AND id < ?').raw();
  const sum = (found: readonly Row[]) => {
    let total = 0;
    for (const row of found) total += Number(row[0]);
    return total;
  };
  return {
    name: `range scan over an index, ${rangeRows} rows decoded`,
    ours: (turn) => sum(query.rows([String(first(turn)), String(first(turn) + rangeRows)])),
    theirs: theirs && ((turn) => sum(theirs.all(first(turn), first(turn) + rangeRows) as Row[])),
    count: Math.ceil(2_000 * scale),
    unit: 'µs',
    bar: 2,
  };
}

function rangeAggregate({ ours, sqlite, rows, scale }: Both): Work {
  const first = (turn: number) => (turn * 4_093) % Math.max(1, rows.notes - rangeRows);
  const list = 'SELECT COUNT(*) AS n, SUM(sent) AS s FROM note';
  const query = ours.prepare(`${list} WHERE id >= $1 AND id < $2`, 2);
  const theirs = sqlite?.prepare(`${list} WHERE id >= ? AND id < ?`).raw();
  return {
    name: `range scan over an index, ${rangeRows} rows summed`,
    ours: (turn) => total(query.rows([String(first(turn)), String(first(turn) + rangeRows)])),
    theirs: theirs && ((turn) => total(theirs.all(first(turn), first(turn) + rangeRows) as Row[])),
    count: Math.ceil(2_000 * scale),
    unit: 'µs',
    bar: 2,
  };
}

/** All numbers of the answer, added up. */
function total(rows: readonly Row[]): number {
  let sum = 0;
  for (const row of rows) {
    for (const cell of row) sum += typeof cell === 'string' ? cell.length : numberOf(cell);
  }
  return sum;
}

/** A sum over nothing is null, so ours comes as an Option. */
function numberOf(cell: unknown): number {
  return typeof cell === 'object' ? Number((cell as SumValue).value) : Number(cell);
}

/** A statement without parameters, as both write it. */
function whole({ ours, sqlite }: Both, name: string, sql: string): Work {
  const query: PreparedQuery = ours.prepare(sql, 0);
  const theirs = sqlite?.prepare(sql).raw();
  return {
    name,
    ours: () => total(query.rows([])),
    theirs: theirs && (() => total(theirs.all() as Row[])),
    count: 1,
    unit: 'ms',
    bar: 2,
  };
}

function filterScan(both: Both): Work {
  const where = "sent > 500000000 AND sent < 510000000 AND text <> 'note 0000077'";
  const sql = `SELECT COUNT(*) AS n, SUM(note.id) AS s FROM note WHERE ${where}`;
  return whole(both, `filter scan of ${both.rows.notes} rows`, sql);
}

function joins(both: Both): Work[] {
  const { rooms, notes } = both.rows;
  const joined = 'FROM room JOIN note ON note.room_id = room.id';
  return [
    whole(
      both,
      `index join, ${rooms} x ${notes} rows`,
      `SELECT COUNT(*) AS n, SUM(note.sent) AS s, SUM(room.floor) AS f ${joined}`,
    ),
    whole(
      both,
      'index join from a hundred rooms',
      `SELECT note.id, room.name ${joined} WHERE room.floor = 7`,
    ),
  ];
}

function groupings(both: Both): Work[] {
  const { notes } = both.rows;
  const list = 'COUNT(*) AS n, SUM(sent) AS s, MIN(id) AS a, MAX(id) AS b FROM note GROUP BY';
  return [
    whole(both, `group-by over ${notes} rows, 100 groups`, `SELECT kind, ${list} kind`),
    whole(
      both,
      `group-by over ${notes} rows, a tenth as many groups`,
      `SELECT room_id, ${list} room_id`,
    ),
  ];
}

/** Rows with one of many labels, by an index of the elements and by a scan; SQLite has no arrays. */
function arrays({ ours, rows, scale }: Both): Work[] {
  const tickets = ticketsOf(rows);
  const lookup = (label: (turn: number) => string, how: string, count: number): Work => {
    const array = how === 'a scan' ? 'scanned' : 'labels';
    const query = ours.prepare(`SELECT id FROM ticket WHERE $1 = ANY(${array})`, 1);
    return {
      name: `${ticketsPerLabel} rows of ${tickets} by an element, by ${how}`,
      ours: (turn) => total(query.rows([label(turn)])),
      theirs: undefined,
      count,
      unit: 'µs',
      bar: undefined,
    };
  };
  const rare = (turn: number) => `label ${(turn * 7_919) % (tickets / ticketsPerLabel)}`;
  return [
    lookup(rare, 'an index', Math.ceil(20_000 * scale)),
    lookup(rare, 'a scan', Math.ceil(20 * scale)),
  ];
}

const ticketsPerLabel = 10;

function ticketsOf({ notes }: Rows): number {
  return Math.ceil(notes / 50) * ticketsPerLabel;
}

function sorting(both: Both): Work {
  const sql = 'SELECT id, sent FROM note ORDER BY sent DESC, id LIMIT 100';
  return whole(both, `top 100 of ${both.rows.notes} rows`, sql);
}

const tables: readonly SampleTable[] = [
  {
    name: 'note',
    columns: {
      id: { kind: 'u32' },
      room_id: { kind: 'u32' },
      kind: { kind: 'u8' },
      sent: { kind: 'i64' },
      text: { kind: 'string' },
    },
    indexes: ['unique:btree:id', 'btree:room_id'],
  },
  {
    name: 'room',
    columns: { id: { kind: 'u32' }, floor: { kind: 'u32' }, name: { kind: 'string' } },
    indexes: ['unique:btree:id', 'btree:floor'],
  },
  {
    name: 'ticket',
    columns: {
      id: { kind: 'u32' },
      labels: { kind: 'array', element: { kind: 'string' } },
      scanned: { kind: 'array', element: { kind: 'string' } },
    },
    indexes: ['unique:btree:id', 'inverted:labels'],
  },
];

function fillOurs(rows: Rows): Engine {
  const mode = { useIndexes: true, optimise: true, pauses: false, shares: true };
  const engine = new Engine(tables, mode);
  engine.load(
    'note',
    made(rows.notes, (id) => {
      const [, room, kind, sent, text] = rows.note(id);
      return [id, room, kind, BigInt(sent), text];
    }),
  );
  engine.load(
    'room',
    made(rows.rooms, (id) => rows.room(id)),
  );
  const tickets = ticketsOf(rows);
  engine.load(
    'ticket',
    made(tickets, (id) => {
      const labels = ['open', `state ${id % 7}`, `label ${id % (tickets / ticketsPerLabel)}`];
      return [id, labels, labels];
    }),
  );
  return engine;
}

function* made<T>(count: number, make: (id: number) => T): Generator<T> {
  for (let id = 0; id < count; id++) yield make(id);
}

type Sqlite = import('libsql').Database;

/** The native engine, where the registry has a binary for this machine. */
async function openSqlite(): Promise<Sqlite | undefined> {
  try {
    const { default: Database } = await import('libsql');
    return new Database(':memory:');
  } catch {
    return undefined;
  }
}

function fillSqlite(sqlite: Sqlite, rows: Rows): void {
  sqlite.exec(`
    CREATE TABLE note (id INTEGER PRIMARY KEY, room_id INTEGER NOT NULL, kind INTEGER NOT NULL,
      sent INTEGER NOT NULL, text TEXT NOT NULL);
    CREATE TABLE room (id INTEGER PRIMARY KEY, floor INTEGER NOT NULL, name TEXT NOT NULL);
    CREATE INDEX note_room ON note (room_id);
    CREATE INDEX room_floor ON room (floor);
    BEGIN;
  `);
  const note = sqlite.prepare('INSERT INTO note VALUES (?, ?, ?, ?, ?)');
  for (let id = 0; id < rows.notes; id++) note.run(...rows.note(id));
  const room = sqlite.prepare('INSERT INTO room VALUES (?, ?, ?)');
  for (let id = 0; id < rows.rooms; id++) room.run(...rows.room(id));
  sqlite.exec('COMMIT; ANALYZE;');
}
