import { crc32c } from './checksum.ts';
import { type Disk, type DiskFile, tryToRemove } from './disk.ts';

/**
 * The durable end of the log, kept beside the segments: a log cannot detect on its own that its end
 * is missing. One file with two halves, at 0 and at 512, each in a sector of its own; the valid one
 * with the higher position counts. Little-endian.
 *
 * ```
 *  0  u8[8] "RDB-END" and a line feed
 *  8  u32   version of the format, 1
 * 12  u32   salt of the log
 * 16  u64   log position up to which everything is durable
 * 24  u64   offset of the last commit before it
 * 32  u8[28] zero
 * 60  u32   CRC-32C of bytes 0 to 60
 * ```
 *
 * The halves are written in turns, in place, after the position has become durable, and seldom
 * synced: a crash can leave an older one behind, never one that is ahead of the log.
 */
export const durableMarkName = 'durable';
const halfBytes = 64;
const halfDistance = 512;
const fileBytes = halfDistance + halfBytes;
const version = 1;
const magic = new TextEncoder().encode('RDB-END\n');

/** The end of the durable part of the log. */
export interface DurableEnd {
  readonly position: number;
  readonly offset: number;
}

export type MarkReading =
  /** No file, or one whose first content did not reach the disk. */
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'valid';
      readonly salt: number;
      readonly end: DurableEnd;
      /** True if the other half is not valid. */
      readonly isHalf: boolean;
    }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'invalid' };

function encodeHalf(salt: number, { position, offset }: DurableEnd): Uint8Array {
  const bytes = new Uint8Array(halfBytes);
  const view = new DataView(bytes.buffer);
  bytes.set(magic);
  view.setUint32(8, version, true);
  view.setInt32(12, salt, true);
  view.setBigUint64(16, BigInt(position), true);
  view.setBigUint64(24, BigInt(offset), true);
  view.setUint32(60, crc32c(bytes, 0, 60), true);
  return bytes;
}

/** Reads the mark beside a log; changes nothing. */
export function readDurableMark(disk: Disk): MarkReading {
  if (!disk.list().includes(durableMarkName)) return { kind: 'absent' };
  const file = disk.open(durableMarkName, 'read');
  try {
    const bytes = new Uint8Array(fileBytes);
    file.read(bytes, 0);
    return readHalves(bytes);
  } finally {
    file.close();
  }
}

function readHalves(bytes: Uint8Array): MarkReading {
  const halves = [0, halfDistance].map((at) => readHalf(bytes.subarray(at, at + halfBytes)));
  const newer = halves.find(({ kind }) => kind === 'version');
  if (newer !== undefined) return newer;
  const isHalf = halves.some(({ kind }) => kind === 'invalid');
  const valid = halves.filter((half) => half.kind === 'valid');
  const best = valid.toSorted((a, b) => b.end.position - a.end.position)[0];
  if (best !== undefined) return { ...best, isHalf };
  return isHalf ? { kind: 'invalid' } : { kind: 'absent' };
}

function readHalf(bytes: Uint8Array): MarkReading {
  if (bytes.every((byte) => byte === 0)) return { kind: 'absent' };
  const view = new DataView(bytes.buffer, bytes.byteOffset, halfBytes);
  const isOurs = magic.every((byte, index) => bytes[index] === byte);
  if (!isOurs || view.getUint32(60, true) !== crc32c(bytes, 0, 60)) return { kind: 'invalid' };
  const found = view.getUint32(8, true);
  if (found !== version) return { kind: 'version', version: found };
  return {
    kind: 'valid',
    salt: view.getInt32(12, true),
    end: {
      position: Number(view.getBigUint64(16, true)),
      offset: Number(view.getBigUint64(24, true)),
    },
    isHalf: false,
  };
}

/** The mark of an open log. Only its `sync` waits for the disk. */
export class DurableMark {
  readonly #file: DiskFile;
  readonly #salt: number;
  #position: number;
  #isSecondNext = false;
  #running: Promise<void> = Promise.resolve();

  /**
   * Opens or creates the mark of a log that is all durable up to `end`, and records that. A new
   * mark is durable once the caller has synced the directory.
   */
  static async open(disk: Disk, salt: number, end: DurableEnd): Promise<DurableMark> {
    const isThere = disk.list().includes(durableMarkName);
    const file = disk.open(durableMarkName, isThere ? 'existing' : 'create');
    try {
      const found = isThere ? readDurableMark(disk) : undefined;
      const isWhole = found?.kind === 'valid' && !found.isHalf && found.salt === salt;
      if (!isWhole || found.end.position !== end.position) {
        const bytes = new Uint8Array(fileBytes);
        for (const at of [0, halfDistance]) bytes.set(encodeHalf(salt, end), at);
        file.write(bytes, 0);
      }
      // The content may have been written by a process that was killed, and never synced.
      await file.sync();
      return new DurableMark(file, salt, end.position);
    } catch (error) {
      file.close();
      if (!isThere) tryToRemove(disk, durableMarkName);
      throw error;
    }
  }

  private constructor(file: DiskFile, salt: number, position: number) {
    this.#file = file;
    this.#salt = salt;
    this.#position = position;
  }

  /** Records that the log is durable up to `end`: one small write into the system's cache. */
  write(end: DurableEnd): void {
    if (end.position === this.#position) return;
    this.#file.write(encodeHalf(this.#salt, end), this.#isSecondNext ? halfDistance : 0);
    this.#isSecondNext = !this.#isSecondNext;
    this.#position = end.position;
  }

  /** Makes the written mark durable. */
  sync(): Promise<void> {
    this.#running = this.#running.then(() => this.#file.sync());
    return this.#running;
  }

  /** Closes the file once no sync needs it. */
  close(): void {
    const close = (): void => this.#file.close();
    void this.#running.then(close, close);
  }
}
