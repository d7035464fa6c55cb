import type { Disk } from '../log/disk.ts';
import { SnapshotDamageError } from '../log/log-error.ts';
import type { Lineage } from '../log/origin.ts';
import { withReader } from '../log/segment-reader.ts';
import { readOutline, snapshotBlocks } from '../log/snapshot-reader.ts';
import type { Catalog } from '../schema/catalog.ts';
import { catalogIn } from './build-index.ts';

/** The tables at a snapshot, and the commit that made them. */
export interface SnapshotCatalog {
  readonly catalog: Catalog;
  readonly offset: number;
}

/** Reads the beginning of a snapshot; `undefined`: it is damaged, or of a later version. */
export function snapshotCatalog(
  disk: Disk,
  name: string,
  lineage: Pick<Lineage, 'identities'>,
): SnapshotCatalog | undefined {
  try {
    return withReader(disk, name, (reader) => {
      const outline = readOutline(reader, ...lineage.identities);
      const first = snapshotBlocks(reader, outline).next();
      const block = first.done === true ? undefined : first.value.block;
      if (block?.kind !== 'schema') return undefined;
      const catalog = catalogIn(block.schema.catalog);
      return catalog && { catalog, offset: block.schema.offset };
    });
  } catch (error) {
    if (!(error instanceof SnapshotDamageError)) throw error;
    return undefined;
  }
}
