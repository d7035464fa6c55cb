import type { CommitLog } from '../../src/log/commit-log.ts';
import type { Disk } from '../../src/log/disk.ts';
import type { LogOptions } from '../../src/log/log-options.ts';
import type {
  SnapshotBlock,
  SnapshotLoading,
  SnapshotPlace,
  SnapshotSchema,
  SnapshotTable,
} from '../../src/log/snapshot.ts';
import { type SnapshotFile, SnapshotWriter } from '../../src/log/snapshot-writer.ts';
import { indexId, tableId } from '../../src/schema/ids.ts';
import { commitOffset } from '../../src/store/commit-offset.ts';
import { type OpenedLog, openLog } from './log-fixture.ts';

const tableCount = 3;

/** A log opened with its snapshots; `found` has the records of both, as if the log were whole. */
export interface OpenedWithSnapshots extends OpenedLog {
  /** The snapshot that was used, and how many records it stands for. */
  readonly place: SnapshotPlace | undefined;
  readonly restored: number;
}

/**
 * Collects the records that a snapshot of `writeSnapshot` stands for. Nothing of it can be seen
 * before the log has said that all of it is valid.
 */
export class Collector implements SnapshotLoading {
  place: SnapshotPlace | undefined;
  records: readonly string[] = [];
  begun = 0;
  abandoned = 0;

  begin(place: SnapshotPlace, tables: readonly SnapshotTable[]) {
    this.begun++;
    const byTable = new Map<number, Uint8Array[]>();
    let programBytes = 0;
    return {
      take: (block: SnapshotBlock) => {
        if (block.kind === 'schema') programBytes = block.schema.programBytes;
        else if (block.kind === 'program') programBytes -= block.bytes.length;
        else if (block.kind === 'rows') {
          const rows = byTable.get(block.tableId) ?? [];
          byTable.set(block.tableId, [...rows, block.rows.bytes.slice()]);
        }
      },
      commit: () => {
        if (programBytes !== 0) throw new Error('the program is not whole');
        const counts = tables.map(({ rowCount }) => rowCount);
        const rows = tables.flatMap(({ tableId: id }) => rowsOf(byTable.get(id) ?? []));
        if (rows.length !== counts.reduce((sum, count) => sum + count, 0)) throw new Error('rows');
        this.place = place;
        this.records = rows.sort(([a], [b]) => a - b).map(([, text]) => text);
      },
      abandon: () => {
        this.abandoned++;
      },
    };
  }
}

export async function openWithSnapshots(
  disk: Disk,
  options: Partial<LogOptions> = {},
): Promise<OpenedWithSnapshots> {
  const collector = new Collector();
  const opened = await openLog(disk, { snapshots: collector, ...options });
  const { place, records } = collector;
  return { ...opened, found: [...records, ...opened.found], place, restored: records.length };
}

export interface SnapshotContent {
  readonly place: SnapshotPlace;
  readonly salt: number;
  /** The records up to the place, as text: each is a row of one of three tables. */
  readonly records: readonly string[];
  readonly rowsPerBlock?: number;
  readonly program?: Uint8Array;
  /** The image of an index, which nothing reads. */
  readonly hasImage?: boolean;
}

/** Writes a snapshot of the records of a log, which it makes durable. */
export function snapshotOf(
  disk: Disk,
  log: CommitLog,
  records: readonly string[],
  salt = 7,
): Promise<SnapshotFile> {
  log.write();
  const place = log.snapshotPlace(1_000n);
  const content = { place, salt, records: records.slice(), hasImage: true };
  return writeSnapshot(disk, content, () => log.sync());
}

export async function writeSnapshot(
  disk: Disk,
  content: SnapshotContent,
  sync: () => Promise<void>,
): Promise<SnapshotFile> {
  const { writer, blocks } = beginSnapshot(disk, content);
  for (const block of blocks) await writer.add(block);
  return writer.finish(sync());
}

/** The writer of a snapshot, and the blocks that are to be added. */
export function beginSnapshot(disk: Disk, content: SnapshotContent) {
  const { place, salt, records, rowsPerBlock = 4 } = content;
  const { program = new Uint8Array(100).fill(9) } = content;
  const blocks: SnapshotBlock[] = [{ kind: 'schema', schema: schemaOf(program.length) }];
  for (let at = 0; at < program.length; at += 64) {
    blocks.push({ kind: 'program', bytes: program.subarray(at, at + 64) });
  }
  blocks.push({ kind: 'marks', sequences: [{ id: 4, value: 2n ** 70n }] });
  for (let table = 0; table < tableCount; table++) {
    const rows = records
      .map((text, at) => rowOf(at, text))
      .filter((_, at) => at % tableCount === table);
    for (let at = 0; at < rows.length; at += rowsPerBlock) {
      const some = rows.slice(at, at + rowsPerBlock);
      const bytes = new Uint8Array(Buffer.concat(some));
      const list = { bytes, count: some.length };
      blocks.push({ kind: 'rows', tableId: tableId(table + 1), rows: list });
    }
  }
  if (content.hasImage === true) {
    const piece = { indexId: indexId(9), part: 'entries' as const, bytes: new Uint8Array(99) };
    blocks.push({ kind: 'derived', tableId: tableId(1), piece });
  }
  return { writer: SnapshotWriter.begin(disk, place, salt), blocks };
}

/** The blocks that every snapshot begins with. */
export const someBlocks: readonly SnapshotBlock[] = [
  { kind: 'schema', schema: schemaOf(3) },
  { kind: 'program', bytes: new Uint8Array([1, 2, 3]) },
  { kind: 'marks', sequences: [] },
];

function schemaOf(programBytes: number): SnapshotSchema {
  return {
    programKind: 'js',
    catalog: new Uint8Array([1, 2, 3]),
    definition: new Uint8Array([4, 5]),
    programBytes,
    publishedMicros: -5n,
    offset: commitOffset(1),
  };
}

/** Number, length, text. */
function rowOf(number: number, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const row = new Uint8Array(8 + bytes.length);
  const view = new DataView(row.buffer);
  view.setUint32(0, number, true);
  view.setUint32(4, bytes.length, true);
  row.set(bytes, 8);
  return row;
}

function rowsOf(blocks: readonly Uint8Array[]): [number, string][] {
  return blocks.flatMap((bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const rows: [number, string][] = [];
    for (let at = 0; at < bytes.length; ) {
      const end = at + 8 + view.getUint32(at + 4, true);
      const text = new TextDecoder().decode(bytes.subarray(at + 8, end));
      rows.push([view.getUint32(at, true), text]);
      at = end;
    }
    return rows;
  });
}
