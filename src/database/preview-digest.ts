import { present } from '../assert.ts';
import type { RowList, TableChange } from '../store/change-set.ts';
import type { Store } from '../store/store.ts';
import { joinBytes } from '../values/bytes.ts';
import type { DatabaseCore } from './core.ts';
import type { PreviewResult } from './preview-outcome.ts';
import { rowStarts } from './preview-rows.ts';
import type { ProgramHash } from './program-hash.ts';

/** The result of some work, except its log lines. */
export interface Ended {
  readonly result: PreviewResult;
  readonly changes: readonly TableChange[];
}

/**
 * A hash that two runs share only if they changed the same rows of the same tables and gave the
 * same value. Rows count as sets: the order in which a run reached them does not matter. Work that
 * failed is hashed as a failure only, since there is nothing to apply.
 */
export function digestOf(
  { core, hash }: { readonly core: DatabaseCore; readonly hash: ProgramHash },
  { result, changes }: Ended,
): Uint8Array {
  // Each part is hashed on its own, so that no part can pass for another.
  const ofChanges = changes.flatMap((change) => hashesOf(core.store, change, hash));
  return hash(joinBytes([...partsOfResult(result).map(hash), ...ofChanges]));
}

function partsOfResult(result: PreviewResult): Uint8Array[] {
  switch (result.kind) {
    case 'returned':
      return result.value === undefined ? [text('returned')] : [text('value'), result.value];
    case 'wrote': {
      const { inserted, deleted, updated, rows } = result;
      return [text(`wrote ${inserted} ${deleted} ${updated}`), rows];
    }
    case 'callFailed':
    case 'queryFailed':
      return [text('failed')];
  }
}

function hashesOf(
  store: Store,
  { tableId, inserts, deletes }: TableChange,
  hash: ProgramHash,
): Uint8Array[] {
  const table = present(store.table(tableId), 'a table that was changed');
  const hashOf = (rows: RowList) => hash(sortedRows(rows, rowStarts(table.shape, rows)));
  return [hash(text(table.spec.name)), hashOf(inserts), hashOf(deletes)];
}

/** The rows, sorted by their bytes. */
function sortedRows({ bytes, count }: RowList, starts: Float64Array): Uint8Array {
  if (count < 2) return bytes;
  const endOf = (row: number) => starts[row + 1] as number;
  const order = Uint32Array.from({ length: count }, (_, row) => row).sort((one, other) => {
    const end = endOf(one);
    let left = starts[one] as number;
    let right = starts[other] as number;
    const rightEnd = endOf(other);
    while (left < end && right < rightEnd && bytes[left] === bytes[right]) {
      left++;
      right++;
    }
    if (left === end || right === rightEnd) return end - left - (rightEnd - right);
    return (bytes[left] as number) - (bytes[right] as number);
  });
  const sorted = new Uint8Array(bytes.length);
  let at = 0;
  for (const row of order) {
    const start = starts[row] as number;
    sorted.set(bytes.subarray(start, endOf(row)), at);
    at += endOf(row) - start;
  }
  return sorted;
}

function text(words: string): Uint8Array {
  return new TextEncoder().encode(words);
}
