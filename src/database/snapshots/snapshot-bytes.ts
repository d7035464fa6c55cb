import type { Store } from '../../store/store.ts';
import { rowBytesOf } from '../storage-quota.ts';

/** About the size of a snapshot: rows, and images of indexes, which are smaller than these. */
export function snapshotBytesOf(store: Store): number {
  let bytes = rowBytesOf(store);
  for (const { derivedIndexes } of store.tables) {
    for (const { body, bytes: held } of derivedIndexes) {
      if (body.image !== undefined) bytes += held;
    }
  }
  return bytes;
}
