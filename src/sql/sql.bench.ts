import { owner } from '../../test/sql/sample-database.ts';
import { sampleCatalog } from '../../test/sql/sample-tables.ts';
import { assert, present } from '../assert.ts';
import { Store } from '../store/store.ts';
import { Random } from '../testing/random.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { unlimitedBudget } from './budget.ts';
import { executeRead, type PreparedStatement, prepare } from './statement.ts';

/**
 * The cost of statements on a table of a million rows (`scale` 1) of (id u32, room u32, sent i64,
 * text string of 12 characters) with a unique index on `id` and an ordered one on `room, sent`.
 */
export function benchmarks(scale: number): readonly Measure[] {
  const rowCount = Math.max(1_000, Math.round(1_000_000 * scale));
  const store = fill(rowCount);
  return [
    ...pointLookups(store, rowCount, scale),
    ...rangeScans(store, rowCount, scale),
    ...filterScans(store, rowCount),
  ];
}

interface Measure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

const rowsPerRoom = 100;

function pointLookups(store: Store, rowCount: number, scale: number): Measure[] {
  const count = Math.ceil(200_000 * scale);
  const random = new Random(1);
  let sum = 0;
  const begin = performance.now();
  for (let left = count; left > 0; left--) {
    sum += run(`SELECT * FROM note WHERE id = ${random.below(rowCount)}`, store);
  }
  const micros = ((performance.now() - begin) * 1000) / count;
  assert(sum === count, 'every lookup finds a row');
  const statements = Array.from({ length: 100 }, () =>
    make(`SELECT * FROM note WHERE id = ${random.below(rowCount)}`, store),
  );
  const again = performance.now();
  for (let left = count; left > 0; left--) {
    sum += runPrepared(present(statements[left % 100], 'a prepared lookup'), store);
  }
  const preparedMicros = ((performance.now() - again) * 1000) / count;
  return [
    { name: `point lookup, from text (rows ${sum})`, unit: 'µs', value: micros },
    { name: `point lookup, prepared (rows ${sum})`, unit: 'µs', value: preparedMicros },
  ];
}

function rangeScans(store: Store, rowCount: number, scale: number): Measure[] {
  const count = Math.ceil(20_000 * scale);
  const random = new Random(2);
  let sum = 0;
  const begin = performance.now();
  for (let left = count; left > 0; left--) {
    const room = random.below(rowCount / rowsPerRoom);
    sum += run(`SELECT id, text FROM note WHERE room = ${room} AND sent >= 0`, store);
  }
  const nanos = ((performance.now() - begin) * 1e6) / sum;
  return [
    { name: `range scan, ${rowsPerRoom} rows each (rows ${sum})`, unit: 'ns/row', value: nanos },
  ];
}

function filterScans(store: Store, rowCount: number): Measure[] {
  const filters = {
    integer: 'sent > 500000000 AND sent < 510000000',
    'text equality': "text = 'note 0000077'",
    'three columns': "(room < 7 OR sent = 5) AND text <> 'x'",
  };
  return Object.entries(filters).map(([name, where]) => {
    const statement = make(`SELECT * FROM note WHERE ${where}`, store);
    let found = 0;
    const rounds = 5;
    const begin = performance.now();
    for (let round = 0; round < rounds; round++) found += runPrepared(statement, store);
    const nanos = ((performance.now() - begin) * 1e6) / (rounds * rowCount);
    return { name: `filter scan, ${name} (rows ${found})`, unit: 'ns/row', value: nanos };
  });
}

function run(sql: string, store: Store): number {
  return runPrepared(make(sql, store), store);
}

function make(sql: string, store: Store): PreparedStatement {
  return prepare(sql, { store, caller: owner });
}

function runPrepared(prepared: PreparedStatement, store: Store): number {
  assert(prepared.kind === 'read', 'a SELECT reads');
  return executeRead(prepared, store, unlimitedBudget).rowCount;
}

function fill(rowCount: number): Store {
  const store = new Store(
    sampleCatalog({
      name: 'note',
      columns: {
        id: { kind: 'u32' },
        room: { kind: 'u32' },
        sent: { kind: 'i64' },
        text: { kind: 'string' },
      },
      indexes: ['unique:hash:id', 'btree:room,sent'],
    }),
  );
  const random = new Random(3);
  const table = present(store.tableByName('note'), 'the table');
  const transaction = store.begin();
  const writer = new BinaryWriter();
  for (let id = 0; id < rowCount; id++) {
    writer.reset();
    writer.u32(id);
    writer.u32(id % Math.ceil(rowCount / rowsPerRoom));
    writer.i64(BigInt(random.below(1_000_000_000)));
    writer.string(`note ${String(id).padStart(7, '0')}`);
    transaction.insert(table, writer.view(), writer.length);
  }
  transaction.commit();
  return store;
}
