import { sampleCatalog } from '../../../test/sql/sample-tables.ts';
import { insert, inTransaction, tableOf } from '../../../test/support/store/tables.ts';
import { present } from '../../assert.ts';
import type { SnapshotBlock } from '../../log/snapshot.ts';
import type { Catalog } from '../../schema/catalog.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { Store } from '../../store/store.ts';
import { VectorRuler } from '../../store/vector-distance.ts';
import { VectorIndex } from '../../store/vector-index.ts';
import { Random } from '../../testing/random.ts';
import type { AlgebraicType } from '../../values/type.ts';
import type { Value } from '../../values/value.ts';
import { SnapshotScan } from './snapshot-scan.ts';

/**
 * Loading a table with a derived index from a snapshot: with its image, and from the rows as before
 * there were images, for vectors until all of them are in the graph. The baseline is the same table
 * without the index. What it takes to write the image is beside the time to read the rows. `scale`
 * 1 has 200,000 rows with a text of 40 words, as frequent as those of natural texts, or with 8 of
 * 20,000 labels, and 10,000 with a vector of 64 elements.
 */
export function benchmarks(scale: number): Figure[] {
  const random = new Random(7);
  const countOf = (full: number) => Math.max(500, Math.round(full * scale));
  return [
    ...figuresOf({
      ...{ kind: 'text', index: 'text:value:english', count: countOf(200_000) },
      type: { kind: 'string' },
      next: () => Array.from({ length: 40 }, () => wordOf(zipf(random, 60_000))).join(' '),
    }),
    ...figuresOf({
      ...{ kind: 'inverted', index: 'inverted:value', count: countOf(200_000) },
      type: { kind: 'array', element: { kind: 'string' } },
      next: () => Array.from({ length: 8 }, () => `label ${zipf(random, 20_000)}`),
    }),
    ...figuresOf({
      ...{ kind: 'vector', index: `vector:value:l2:${elements}`, count: countOf(10_000) },
      type: { kind: 'array', element: { kind: 'f32' } },
      next: () => Array.from({ length: elements }, () => random.below(1_000) / 1_000),
    }),
  ];
}

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
  readonly ratio?: number;
}

interface Subject {
  readonly kind: string;
  readonly index: string;
  readonly count: number;
  readonly type: AlgebraicType;
  readonly next: () => Value;
}

const elements = 64;

function figuresOf({ kind, index, count, type, next }: Subject): Figure[] {
  const catalogOf = (...indexes: string[]) =>
    sampleCatalog({
      name: 't',
      columns: { id: { kind: 'u32' }, value: type },
      indexes: ['unique:hash:id', ...indexes],
    });
  const catalog = catalogOf(index);
  const bare = catalogOf();
  const { blocks, rowMillis, imageMillis } = scanned(filled(catalog, count, next));
  const rows = blocks.filter((block) => block.kind === 'rows');
  // Once before it counts: loading is compiled.
  for (const some of [blocks, rows]) load(catalog, some, count);
  const best = (given: Catalog, some: readonly SnapshotBlock[], times = 3) =>
    Math.min(...Array.from({ length: times }, () => load(given, some, count)));
  const baseline = best(bare, rows);
  const figure = (name: string, value: number, beside: number, unit = 'ms') => ({
    ...{ name, unit, value, baseline: beside, ratio: value / beside },
  });
  const [imageBytes, rowBytes] = [bytesOf(blocks) - bytesOf(rows), bytesOf(rows)];
  return [
    figure(`load, ${kind} index from its image`, best(catalog, blocks), baseline),
    figure(`load, ${kind} index from rows`, best(catalog, rows, 1), baseline),
    figure(`write, image of ${kind} beside rows`, imageMillis, rowMillis),
    figure(`bytes, image of ${kind} beside rows`, imageBytes, rowBytes, 'bytes'),
  ];
}

function filled(catalog: Catalog, count: number, next: () => Value): Store {
  const store = new Store(catalog);
  const table = tableOf(store, 't');
  for (let from = 0; from < count; from += 1_000) {
    inTransaction(store, (transaction) => {
      for (let id = from; id < Math.min(count, from + 1_000); id++) {
        insert(transaction, table, id, next());
      }
    });
  }
  takeIn(store);
  return store;
}

/** Searches until no vector waits for its place. */
function takeIn(store: Store): void {
  const table = tableOf(store, 't');
  const [index] = table.derivedIndexes;
  const body = index?.body;
  if (index === undefined || !(body instanceof VectorIndex)) return;
  const ruler = new VectorRuler('l2', new Float64Array(elements));
  while (body.waitingCount > 0) table.search(index, { kind: 'nearest', ruler, width: 1 });
}

/** A snapshot of the store as blocks, and the time of the thread that it takes. */
function scanned(store: Store) {
  const blocks: SnapshotBlock[] = [];
  const target = {
    hasRoom: true,
    add: (block: SnapshotBlock) => void blocks.push(block),
    takeBuffer: () => undefined,
  };
  const began = performance.now();
  let rowsAt = 0;
  const scan = new SnapshotScan(store.pinAll(), target, () => {
    if (rowsAt === 0 && blocks.at(-1)?.kind === 'derived') rowsAt = performance.now();
    return 0;
  });
  scan.readUntil(1);
  return { blocks, rowMillis: rowsAt - began, imageMillis: performance.now() - rowsAt };
}

/** Milliseconds until all indexes are of use. */
function load(catalog: Catalog, blocks: readonly SnapshotBlock[], count: number): number {
  const store = new Store(catalog);
  const id = present(
    catalog.tables.find(({ name }) => name === 't'),
    'the table',
  ).id;
  const began = performance.now();
  const loading = store.beginLoad(catalog);
  for (const block of blocks) if (block.kind === 'rows') loading.addRows(id, block.rows);
  loading.finishTable(id, count);
  for (const block of blocks) if (block.kind === 'derived') loading.addImage(id, block.piece);
  loading.commit(commitOffset(1), []);
  takeIn(store);
  if (loading.faults.length > 0) throw new Error(loading.faults.join());
  return performance.now() - began;
}

function bytesOf(blocks: readonly SnapshotBlock[]): number {
  let bytes = 0;
  for (const block of blocks) {
    if (block.kind === 'rows') bytes += block.rows.bytes.length;
    else if (block.kind === 'derived') bytes += block.piece.bytes.length;
  }
  return bytes;
}

function zipf(random: Random, vocabulary: number): number {
  return Math.floor(Math.exp((random.below(1_000_000) / 1_000_000) * Math.log(vocabulary)));
}

/** Words begin with different letters, as those of a language do. */
function wordOf(place: number): string {
  const stem = `${String.fromCharCode(97 + (place % 26))}ord${place}`;
  return place % 7 === 0 ? `${stem}s` : stem;
}
