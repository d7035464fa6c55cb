import {
  catalogFrom,
  insert,
  inTransaction,
  string,
  type TableSketch,
  tableOf,
  u32,
} from '../../../test/support/store/tables.ts';
import type { SnapshotBlock } from '../../log/snapshot.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { Store } from '../../store/store.ts';
import { Random } from '../../testing/random.ts';
import type { AlgebraicType } from '../../values/type.ts';
import type { Value } from '../../values/value.ts';
import { SnapshotScan } from './snapshot-scan.ts';

/**
 * Loading a table with a derived index from a snapshot: with its image, and from the rows as before
 * there were images. The baseline is the same table without the index. What it takes to write the
 * image is beside the time to read the rows. `scale` 1 has 200,000 rows, each with a text of 40
 * words, as frequent as those of natural texts, or with 8 of 20,000 labels.
 */
export function benchmarks(scale: number): Figure[] {
  const count = Math.max(1_000, Math.round(200_000 * scale));
  const random = new Random(7);
  const textOf = () => Array.from({ length: 40 }, () => wordOf(zipf(random, 60_000))).join(' ');
  const labelsOf = () => Array.from({ length: 8 }, () => `label ${zipf(random, 20_000)}`);
  const labels: AlgebraicType = { kind: 'array', element: string };
  return [
    ...figuresOf('text', count, textOf, string, { texts: { value: 'english' } }),
    ...figuresOf('inverted', count, labelsOf, labels, { inverted: ['value'] }),
  ];
}

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
  readonly ratio?: number;
  readonly bar?: string;
}

function figuresOf(
  kind: string,
  count: number,
  nextValue: () => Value,
  type: AlgebraicType,
  indexes: Pick<TableSketch, 'texts' | 'inverted'>,
): Figure[] {
  const sketch = {
    columns: { id: u32, value: type },
    indexes: [{ columns: ['id'], unique: true, algorithm: 'hash' as const }],
  };
  const catalog = catalogFrom({ t: { ...sketch, ...indexes } });
  const store = new Store(catalog);
  for (let from = 0; from < count; from += 1_000) {
    inTransaction(store, (transaction) => {
      for (let id = from; id < Math.min(count, from + 1_000); id++) {
        insert(transaction, tableOf(store, 't'), id, nextValue());
      }
    });
  }
  const { blocks, rowMillis, imageMillis } = scanned(store);
  const rows = blocks.filter((block) => block.kind === 'rows');
  const bare = catalogFrom({ t: sketch });
  // Once before it counts: loading is compiled.
  for (const each of [blocks, rows]) loadMillis(catalog, each, count);
  const best = (given: typeof catalog, some: readonly SnapshotBlock[]) =>
    Math.min(...[1, 2, 3].map(() => loadMillis(given, some, count)));
  const [baseline, image, built] = [best(bare, rows), best(catalog, blocks), best(catalog, rows)];
  const unit = 'ms';
  const bytes = (some: readonly SnapshotBlock[]) =>
    some.reduce((sum, one) => sum + bytesOf(one), 0);
  return [
    {
      name: `load, ${kind} index from its image`,
      unit,
      value: image,
      baseline,
      ratio: image / baseline,
    },
    {
      name: `load, ${kind} index from rows`,
      unit,
      value: built,
      baseline,
      ratio: built / baseline,
    },
    { name: `write, image of ${kind} beside rows`, unit, value: imageMillis, baseline: rowMillis },
    {
      name: `bytes, image of ${kind} beside rows`,
      unit: 'bytes',
      value: bytes(blocks) - bytes(rows),
      baseline: bytes(rows),
    },
  ];
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
    if (rowsAt === 0 && blocks.some(({ kind }) => kind === 'derived')) rowsAt = performance.now();
    return 0;
  });
  scan.readUntil(1);
  const rowMillis = rowsAt - began;
  return { blocks, rowMillis, imageMillis: performance.now() - rowsAt };
}

function loadMillis(
  catalog: Store['catalog'],
  blocks: readonly SnapshotBlock[],
  count: number,
): number {
  const store = new Store(catalog);
  const began = performance.now();
  const load = store.beginLoad(catalog);
  let isFinished = false;
  for (const block of blocks) {
    if (block.kind === 'rows') load.addRows(block.tableId, block.rows);
    if (block.kind !== 'derived') continue;
    if (!isFinished) load.finishTable(block.tableId, count);
    isFinished = true;
    load.addImage(block.tableId, block.piece);
  }
  const [table] = catalog.tables;
  if (!isFinished && table !== undefined) load.finishTable(table.id, count);
  load.commit(commitOffset(1), []);
  if (load.faults.length > 0) throw new Error(load.faults.join());
  return performance.now() - began;
}

function bytesOf(block: SnapshotBlock): number {
  if (block.kind === 'rows') return block.rows.bytes.length;
  return block.kind === 'derived' ? block.piece.bytes.length : 0;
}

function zipf(random: Random, vocabulary: number): number {
  return Math.floor(Math.exp((random.below(1_000_000) / 1_000_000) * Math.log(vocabulary)));
}

/** Words begin with different letters, as those of a language do. */
function wordOf(place: number): string {
  const stem = `${String.fromCharCode(97 + (place % 26))}ord${place}`;
  return place % 7 === 0 ? `${stem}s` : stem;
}
