import fs from 'node:fs';
import path from 'node:path';
import { noFollow, privateFileMode, privateFolderMode, refuseLink } from './private-files.ts';

/** The log of one module: lines of JSON without line ends, appended; the last ones read back. */
export interface ModuleLog {
  /**
   * Appends one line; `micros`, microseconds since the epoch, decides the day. False: the log of
   * that day is full; a `notice` of that is accepted anyway.
   */
  append(line: string, micros: number, kind?: 'notice'): boolean;
  /**
   * The last `count` lines of the newest day, or fewer, each with its line end; of these, as many
   * as fit `bytesMax`.
   */
  tail(count: number, bounds?: TailBounds): string;
  /** `tail` in pieces of whole lines, which are read on demand. */
  pieces(count: number, bounds?: TailBounds): Iterable<string>;
  /** Forgets all lines. */
  reset(): void;
  close(): void;
}

/** Not a second number: a count of lines must not pass for one of bytes. */
export interface TailBounds {
  /** Absent: any number. */
  readonly bytesMax?: number | undefined;
}

const reading = fs.constants.O_RDONLY | noFollow;
const appending = fs.constants.O_APPEND | fs.constants.O_CREAT | fs.constants.O_RDWR | noFollow;

const microsPerDay = 86_400_000_000;
const blockBytes = 64 * 1024;
const lineEnd = 10;

export interface LogFileBounds {
  /** Bytes of the file of one day. */
  readonly fileBytesMax: number;
  /** Days whose files are kept, including that of the newest line. */
  readonly daysMax: number;
}

/**
 * A module log in a directory of its own, one file per UTC day, `YYYY-MM-DD.log`. Files that are
 * too old are removed when a new one begins. Lines reach the operating system at once; they are not
 * synced, so a power cut can take the last.
 */
export class LogFile implements ModuleLog {
  readonly #directory: string;
  readonly #bounds: LogFileBounds;
  #day = -1;
  #descriptor: number | undefined;
  /** Bytes in the open file. */
  #size = 0;

  /** `directory` is created if it does not exist. Throws `LinkError` when it is a link. */
  constructor(directory: string, bounds: LogFileBounds) {
    this.#directory = directory;
    this.#bounds = bounds;
    refuseLink(path.dirname(directory));
    refuseLink(directory);
    fs.mkdirSync(directory, { recursive: true, mode: privateFolderMode });
  }

  append(line: string, micros: number, kind?: 'notice'): boolean {
    const day = Math.floor(micros / microsPerDay);
    // A clock that was set back does not reopen an old file: its lines would not be the newest.
    if (this.#descriptor === undefined || day > this.#day) this.#open(day);
    if (this.#size >= this.#bounds.fileBytesMax && kind === undefined) return false;
    if (this.#descriptor === undefined) return false;
    this.#write(this.#descriptor, Buffer.from(`${line}\n`));
    return true;
  }

  /** A full disk takes a part of a line; the file is opened again then, which ends that line. */
  #write(descriptor: number, bytes: Buffer): void {
    let written = 0;
    try {
      written = fs.writeSync(descriptor, bytes);
    } finally {
      this.#size += written;
      if (written < bytes.length) this.close();
    }
    if (written < bytes.length) throw new Error('the disk has taken only a part of a line');
  }

  tail(count: number, bounds?: TailBounds): string {
    return [...this.pieces(count, bounds)].join('');
  }

  pieces(count: number, { bytesMax }: TailBounds = {}): Iterable<string> {
    const newest = this.#files().at(-1);
    if (newest === undefined || count <= 0) return [];
    const file = path.join(this.#directory, newest);
    return linesOf(placeOfTail(file, { count, bytesMax: bytesMax ?? Number.POSITIVE_INFINITY }));
  }

  reset(): void {
    this.close();
    for (const name of this.#files()) fs.unlinkSync(path.join(this.#directory, name));
  }

  close(): void {
    if (this.#descriptor !== undefined) fs.closeSync(this.#descriptor);
    this.#descriptor = undefined;
    this.#day = -1;
  }

  #open(day: number): void {
    this.close();
    const today = dayName(day);
    const newest = this.#files().at(-1) ?? '';
    const name = newest > today ? newest : today;
    const descriptor = fs.openSync(path.join(this.#directory, name), appending, privateFileMode);
    this.#descriptor = descriptor;
    this.#day = Math.floor((Date.parse(`${name.slice(0, 10)}T00:00:00Z`) * 1000) / microsPerDay);
    endLastLine(descriptor);
    this.#size = fs.fstatSync(descriptor).size;
    this.#removeOld();
  }

  #removeOld(): void {
    const first = dayName(this.#day - this.#bounds.daysMax + 1);
    for (const name of this.#files()) {
      if (name < first) fs.unlinkSync(path.join(this.#directory, name));
    }
  }

  #files(): string[] {
    return fs
      .readdirSync(this.#directory)
      .filter((name) => /^\d{4}-\d\d-\d\d\.log$/.test(name))
      .sort();
  }
}

function dayName(day: number): string {
  return `${new Date((day * microsPerDay) / 1000).toISOString().slice(0, 10)}.log`;
}

const memoryBytesMax = 1024 * 1024;

/** The log of a module whose database is kept in memory: the newest lines, up to a mebibyte. */
export class MemoryModuleLog implements ModuleLog {
  #lines: string[] = [];
  #length = 0;

  append(line: string): boolean {
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length > memoryBytesMax) this.#makeRoom();
    return true;
  }

  #makeRoom(): void {
    // Half is dropped at once: dropping the first line for each new one would move all the others.
    while (this.#length > memoryBytesMax / 2 && this.#lines.length > 1) {
      const dropped = this.#lines.splice(0, Math.ceil(this.#lines.length / 2));
      this.#length -= dropped.reduce((sum, each) => sum + each.length, 0);
    }
  }

  tail(count: number, { bytesMax = Number.POSITIVE_INFINITY }: TailBounds = {}): string {
    if (count <= 0) return '';
    let bytes = 0;
    const last = this.#lines.slice(-count);
    const beyond = last.findLastIndex((line) => {
      bytes += Buffer.byteLength(line) + 1;
      return bytes > bytesMax;
    });
    return last
      .slice(beyond + 1)
      .map((line) => `${line}\n`)
      .join('');
  }

  pieces(count: number, bounds?: TailBounds): Iterable<string> {
    return [this.tail(count, bounds)];
  }

  reset(): void {
    this.#lines = [];
    this.#length = 0;
  }

  close(): void {}
}

/**
 * Finds where the last `count` lines of a file begin, or as many of them as fit `bytesMax`, and
 * where they end. Reads the file from its end.
 */
function placeOfTail(file: string, wanted: Omit<Tail, 'end'>): FilePart {
  const descriptor = fs.openSync(file, reading);
  try {
    const end = fs.fstatSync(descriptor).size;
    return { file, start: startOfTail(descriptor, { ...wanted, end }), end };
  } finally {
    fs.closeSync(descriptor);
  }
}

interface FilePart {
  readonly file: string;
  readonly start: number;
  readonly end: number;
}

interface Tail {
  readonly count: number;
  readonly bytesMax: number;
  /** Bytes of the file. */
  readonly end: number;
}

function startOfTail(descriptor: number, { count, bytesMax, end }: Tail): number {
  if (count >= end && bytesMax >= end) return 0;
  let start = end;
  let missing = count;
  // The line end at the very end of the file closes the last line, it does not begin one.
  for (let blockEnd = end - 1; blockEnd > 0; ) {
    const blockStart = Math.max(0, blockEnd - blockBytes);
    const block = readBlock(descriptor, blockStart, blockEnd - blockStart);
    for (let at = block.lastIndexOf(lineEnd); at >= 0; at = lineEndBefore(block, at)) {
      const lineStart = blockStart + at + 1;
      if (end - lineStart > bytesMax) return start;
      start = lineStart;
      missing -= 1;
      if (missing === 0) return start;
    }
    blockEnd = blockStart;
  }
  return end > bytesMax ? start : 0;
}

function lineEndBefore(block: Buffer, at: number): number {
  return at === 0 ? -1 : block.lastIndexOf(lineEnd, at - 1);
}

/** Whole lines in pieces, each read on demand. */
function* linesOf({ file, start, end }: FilePart): Generator<string> {
  // The log may have been emptied since the place was found.
  if (!fs.existsSync(file)) return;
  const descriptor = fs.openSync(file, reading);
  try {
    let rest = Buffer.alloc(0);
    for (let at = start; at < end; ) {
      const block = readBlock(descriptor, at, Math.min(blockBytes, end - at));
      if (block.length === 0) break;
      at += block.length;
      const bytes = Buffer.concat([rest, block]);
      const cut = bytes.lastIndexOf(lineEnd) + 1;
      if (cut > 0) yield bytes.toString('utf8', 0, cut);
      rest = bytes.subarray(cut);
    }
    if (rest.length > 0) yield `${rest.toString('utf8')}\n`;
  } finally {
    fs.closeSync(descriptor);
  }
}

function readBlock(descriptor: number, start: number, length: number): Buffer {
  const block = Buffer.alloc(length);
  return block.subarray(0, fs.readSync(descriptor, block, 0, length, start));
}

/** After a crash the file can end inside a line; the next line must not continue it. */
function endLastLine(descriptor: number): void {
  const size = fs.fstatSync(descriptor).size;
  if (size === 0) return;
  const last = Buffer.alloc(1);
  fs.readSync(descriptor, last, 0, 1, size - 1);
  if (last[0] !== lineEnd) fs.writeSync(descriptor, '\n');
}
