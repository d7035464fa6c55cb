import type { RegistryPart, RegistryPartRow } from '../host/registry/registry-content.ts';
import { registryTables } from '../host/registry/registry-module.ts';
import type { RegistryTable } from '../host/registry/registry-rows.ts';
import { limits } from '../limits.ts';
import { type ClusterId, clusterId } from '../shared-log/log-name.ts';
import type { ReadAnswer, StoredEntry } from '../shared-log/shared-log.ts';
import { bigintFromHex, bigintToHex } from '../values/hex.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { list, nullable, number, object, parseAs, string } from '../values/json-shape.ts';

/** A database of a cluster, as one machine is to have it, but for its log. */
export interface ExportedDatabase {
  readonly cluster: ClusterId;
  readonly database: DatabaseIdentity;
  readonly generation: number;
  /** The last entry of its log; all up to it are acknowledged. */
  readonly last: number;
  /** What a registry has to know. */
  readonly parts: readonly RegistryPart[];
  /** The keys of the cluster, sealed under its secret, by the names of their boxes. */
  readonly boxes: ReadonlyMap<string, Uint8Array>;
}

/** As JSON of `GET /v1/cluster/databases/:db/export`. */
export function shownExport(exported: ExportedDatabase): object {
  const { cluster, database, generation, last, parts, boxes } = exported;
  return {
    ...{ cluster: bigintToHex(cluster, 32), database: bigintToHex(database, 64), generation, last },
    parts: parts.map((part) => ({
      database: part.database === undefined ? null : bigintToHex(part.database, 64),
      rows: part.rows.map(({ table, bytes }) => ({ table, row: base64(bytes) })),
    })),
    boxes: [...boxes].map(([name, bytes]) => ({ name, sealed: base64(bytes) })),
  };
}

/** Throws `JsonError` for what is no such text. */
export function readExport(text: string): ExportedDatabase {
  const { cluster, database, generation, last, parts, boxes } = parseAs(text, exportShape);
  return {
    cluster: clusterId(bigintFromHex(cluster, 32) ?? 0n),
    database: identityIn(database),
    ...{ generation, last },
    parts: parts.map((part) => ({
      database: part.database === null ? undefined : identityIn(part.database),
      rows: part.rows.flatMap(({ table, row }) => rowIn(table, row)),
    })),
    boxes: new Map(boxes.map(({ name, sealed }) => [name, Buffer.from(sealed, 'base64')])),
  };
}

/**
 * Entries as `GET …/entries` gives them: `first` of the log (u64), then each as its seq (u64), its
 * length (u32), and its bytes. Little-endian.
 */
export function encodeEntries({ entries, first }: ReadAnswer): Uint8Array {
  const length = entries.reduce((sum, { bytes }) => sum + 12 + bytes.length, 8);
  const page = new Uint8Array(length);
  const view = new DataView(page.buffer);
  view.setBigUint64(0, BigInt(first), true);
  let at = 8;
  for (const { seq, bytes } of entries) {
    view.setBigUint64(at, BigInt(seq), true);
    view.setUint32(at + 8, bytes.length, true);
    page.set(bytes, at + 12);
    at += 12 + bytes.length;
  }
  return page;
}

/** Throws for bytes that are no such page. */
export function decodeEntries(page: Uint8Array): ReadAnswer {
  const view = new DataView(page.buffer, page.byteOffset, page.length);
  const first = Number(view.getBigUint64(0, true));
  const entries: StoredEntry[] = [];
  for (let at = 8; at < page.length; ) {
    const end = at + 12 + view.getUint32(at + 8, true);
    if (end > page.length) throw new RangeError('an entry is cut off');
    // A buffer's `slice` is a view, and what reads entries wants them aligned.
    const bytes = new Uint8Array(page.subarray(at + 12, end));
    entries.push({ seq: Number(view.getBigUint64(at, true)), bytes });
    at = end;
  }
  return { entries, first };
}

/** The most that a page of entries has. */
export const pageBytesMax = limits.sharedReadBytesMax + 12 * limits.sharedReadEntriesMax + 8;

const exportShape = object({
  ...{ cluster: string, database: string, generation: number, last: number },
  parts: list(
    object({ database: nullable(string), rows: list(object({ table: string, row: string })) }),
  ),
  boxes: list(object({ name: string, sealed: string })),
});

/** Tables of a later version are left out. */
function rowIn(table: string, row: string): RegistryPartRow[] {
  if (!Object.hasOwn(registryTables, table)) return [];
  return [{ table: table as RegistryTable, bytes: Buffer.from(row, 'base64') }];
}

function identityIn(hex: string): DatabaseIdentity {
  return databaseIdentity(bigintFromHex(hex, 64) ?? 0n);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
