import type { SnapshotBlock } from '../../log/snapshot.ts';

/** Where the blocks of a snapshot go. */
export interface ScanTarget {
  /** True while there is room for another block. */
  readonly hasRoom: boolean;
  /** The buffer is handed over. */
  add(block: SnapshotBlock): void;
  /** A buffer of `limits.snapshotBlockBytes` to fill, if one came back. */
  takeBuffer(): ArrayBuffer | undefined;
}
