import { AssertionError, assert } from '../assert.ts';
import { limits } from '../limits.ts';
import {
  blockKinds,
  type DirectoryEntry,
  footerBytes,
  mayFollow,
  type SnapshotFooter,
  writeBlock,
  writeDirectory,
  writeFooter,
} from './block.ts';
import { type Disk, type DiskFile, tryToRemove } from './disk.ts';
import { RecordBuffer } from './record-buffer.ts';
import {
  encodeSnapshotHeader,
  type SnapshotBlock,
  type SnapshotPlace,
  snapshotCrc,
  snapshotHeaderBytes,
  snapshotName,
} from './snapshot.ts';

/** The file of a finished snapshot. */
export interface SnapshotFile {
  readonly name: string;
  readonly bytes: number;
}

/**
 * Writes one snapshot, on any thread:
 *
 * ```
 *  open ──▶ open    add
 *  open ──▶ ended   finish; abort; an error in any of them, which removes the unfinished file
 *  ended ──▶ ended  abort
 * ```
 *
 * Until `finish` has renamed it, the file ends with `.part`, and no start reads it.
 */
export class SnapshotWriter {
  readonly #disk: Disk;
  readonly #place: SnapshotPlace;
  readonly #salt: number;
  readonly #partName: string;
  readonly #file: DiskFile;
  readonly #buffer: RecordBuffer;
  readonly #tables: GrowingEntry[] = [];
  #isEnded = false;
  #syncing = Promise.resolve();
  #blockCount = 0;
  #position = snapshotHeaderBytes;
  #unsyncedBytes = 0;
  #kind = 0;

  /**
   * Creates the file. `salt`: 32 random bits. Throws `DiskError` when the disk refuses, like all
   * other methods; nothing is left then.
   */
  static begin(disk: Disk, place: SnapshotPlace, salt: number): SnapshotWriter {
    disk.checkWriter?.(true);
    const partName = `${snapshotName(place.offset)}${partSuffix}`;
    if (disk.list().includes(partName)) disk.remove(partName);
    const file = disk.open(partName, 'create');
    const header = encodeSnapshotHeader(place, salt);
    const writer = new SnapshotWriter(disk, place, salt, file, header);
    try {
      file.write(header, 0);
      return writer;
    } catch (error) {
      writer.abort();
      throw error;
    }
  }

  private constructor(
    disk: Disk,
    place: SnapshotPlace,
    salt: number,
    file: DiskFile,
    header: Uint8Array,
  ) {
    this.#disk = disk;
    this.#place = place;
    this.#salt = salt;
    this.#file = file;
    this.#partName = file.name;
    this.#buffer = new RecordBuffer(salt, snapshotCrc(header));
  }

  /**
   * Appends a block: one schema, the pieces of the program, one marks, then rows, table after
   * table, then images of derived indexes, one after another. Copies the bytes. Resolves when the
   * next block may come: now and then it waits for a sync, so that the disk never has much to do at
   * once.
   */
  async add(block: SnapshotBlock): Promise<void> {
    this.#checkOpen();
    const kind = blockKinds[block.kind];
    const isInOrder = mayFollow(kind, this.#kind);
    assert(isInOrder, `a block of kind ${kind} after one of kind ${this.#kind} in a snapshot`);
    assert(bytesOf(block) <= limits.snapshotBlockBytes || isOneRow(block), 'a block is too large');
    this.#kind = kind;
    try {
      const position = this.#position;
      writeBlock(this.#buffer, block);
      this.#write(kind);
      if (block.kind === 'rows') this.#note(block, position, this.#position - position);
      if (this.#unsyncedBytes >= limits.snapshotSyncBytes) await this.#sync();
    } catch (error) {
      this.abort();
      throw error;
    }
  }

  /**
   * Completes the snapshot. `durable` resolves when the log is durable up to the snapshot's
   * position; if it rejects, so does this, and the snapshot is removed. When this resolves, the
   * snapshot is durable under its name.
   */
  async finish(durable: Promise<void>): Promise<SnapshotFile> {
    this.#checkOpen();
    const isWhole = mayFollow(blockKinds.directory, this.#kind);
    assert(isWhole, 'a snapshot has a schema, a program and marks');
    // It can reject while something else is waited for.
    durable.catch(() => undefined);
    try {
      const directoryPosition = this.#position;
      writeDirectory(this.#buffer, this.#tables);
      this.#write(blockKinds.directory);
      await this.#sync();
      await durable;
      this.#checkOpen();
      writeFooter(this.#buffer, this.#footer(directoryPosition));
      this.#write(blockKinds.footer);
      await this.#sync();
      this.#checkOpen();
      this.#disk.checkWriter?.(true);
      const name = snapshotName(this.#place.offset);
      this.#disk.rename(this.#partName, name);
      this.#isEnded = true;
      this.#file.close();
      await this.#disk.syncDirectory();
      return { name, bytes: this.#position };
    } catch (error) {
      this.abort();
      throw error;
    }
  }

  /** Gives the snapshot up and removes its file. Does nothing after the end. */
  abort(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const close = (): void => this.#file.close();
    // Closing a file during a sync could let another file reuse its number.
    this.#syncing.then(close, close);
    this.#remove();
  }

  #remove(): void {
    try {
      this.#disk.checkWriter?.(true);
    } catch {
      // A file of this name may be that of the service that has the folder by now.
      return;
    }
    tryToRemove(this.#disk, this.#partName);
  }

  #footer(directoryPosition: number): SnapshotFooter {
    const { epoch, offset, chainLow, chainHigh } = this.#place;
    const place = { epoch, offset, chainLow, chainHigh };
    const blockCount = this.#blockCount;
    return { directoryPosition, blockCount, fileBytes: this.#position + footerBytes, ...place };
  }

  /** Ends the block in the buffer and hands it to the operating system. */
  #write(kind: number): void {
    this.#disk.checkWriter?.(false);
    const offset = this.#blockCount;
    const length = this.#buffer.end({ kind, offset, durablePosition: 0, salt: this.#salt });
    this.#file.write(this.#buffer.bytes(), this.#position);
    this.#buffer.clear();
    this.#blockCount++;
    this.#position += length;
    this.#unsyncedBytes += length;
  }

  #sync(): Promise<void> {
    this.#unsyncedBytes = 0;
    this.#syncing = this.#file.sync();
    return this.#syncing;
  }

  #note(block: RowsBlock, position: number, length: number): void {
    const { tableId, rows } = block;
    let table = this.#tables.at(-1);
    if (table?.tableId !== tableId) {
      const isNew = this.#tables.every((one) => one.tableId !== tableId);
      assert(isNew, `the rows of table ${tableId} are in two places of a snapshot`);
      table = { tableId, rowCount: 0, rowBytes: 0, blocks: [] };
      this.#tables.push(table);
    }
    table.rowCount += rows.count;
    table.rowBytes += rows.bytes.length;
    table.blocks.push({ position, length, rowCount: rows.count });
  }

  #checkOpen(): void {
    if (this.#isEnded) throw new AssertionError('the snapshot was ended');
  }
}

type GrowingEntry = { -readonly [Key in keyof DirectoryEntry]: DirectoryEntry[Key] } & {
  readonly blocks: DirectoryEntry['blocks'][number][];
};

type RowsBlock = Extract<SnapshotBlock, { readonly kind: 'rows' }>;

function bytesOf(block: SnapshotBlock): number {
  if (block.kind === 'program') return block.bytes.length;
  if (block.kind === 'derived') return block.piece.bytes.length;
  return block.kind === 'rows' ? block.rows.bytes.length : 0;
}

function isOneRow(block: SnapshotBlock): boolean {
  return block.kind === 'rows' && block.rows.count === 1;
}

const partSuffix = '.part';
