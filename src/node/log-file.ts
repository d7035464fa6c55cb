import fs from 'node:fs';
import path from 'node:path';

/** The log of one module: lines of JSON without line ends, appended; the last ones read back. */
export interface ModuleLog {
  /**
   * Appends one line; `micros`, microseconds since the epoch, decides the day. False: the log of
   * that day is full, unless the line is a `notice` of that.
   */
  append(line: string, micros: number, kind?: 'notice'): boolean;
  /**
   * The last `count` lines of the newest day, or fewer, each with its line end; of these, as many
   * as fit `bytesMax`.
   */
  tail(count: number, bytesMax?: number): string;
  /** Forgets all lines. */
  reset(): void;
  close(): void;
}

const microsPerDay = 86_400_000_000;
const blockBytes = 64 * 1024;

export interface LogFileBounds {
  /** Of the file of one day. */
  readonly fileBytesMax: number;
  /** Days whose files are kept, that of the newest line included. */
  readonly daysMax: number;
}

/**
 * A module log in a directory of its own, one file per UTC day, `YYYY-MM-DD.log`. Files that are
 * too old are removed when a new one begins. Lines reach the operating system at once; they are not
 * synced, so a power cut may take the last.
 */
export class LogFile implements ModuleLog {
  readonly #directory: string;
  readonly #bounds: LogFileBounds;
  #day = -1;
  #descriptor: number | undefined;
  /** Bytes in the open file. */
  #size = 0;

  /** `directory` is made if it does not exist. */
  constructor(directory: string, bounds: LogFileBounds) {
    this.#directory = directory;
    this.#bounds = bounds;
    fs.mkdirSync(directory, { recursive: true });
  }

  append(line: string, micros: number, kind?: 'notice'): boolean {
    const day = Math.floor(micros / microsPerDay);
    // A clock that was set back does not go back to an old file: its lines would not be the newest.
    if (this.#descriptor === undefined || day > this.#day) this.#open(day);
    if (this.#size >= this.#bounds.fileBytesMax && kind === undefined) return false;
    if (this.#descriptor === undefined) return false;
    this.#size += fs.writeSync(this.#descriptor, `${line}\n`);
    return true;
  }

  tail(count: number, bytesMax = Number.POSITIVE_INFINITY): string {
    const newest = this.#files().at(-1);
    if (newest === undefined || count <= 0) return '';
    const descriptor = fs.openSync(path.join(this.#directory, newest), 'r');
    try {
      return readTail(descriptor, count, bytesMax);
    } finally {
      fs.closeSync(descriptor);
    }
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
    const descriptor = fs.openSync(path.join(this.#directory, name), 'a+');
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
    // Half goes at once: dropping the first line for each new one would move all the others.
    while (this.#length > memoryBytesMax / 2 && this.#lines.length > 1) {
      const dropped = this.#lines.splice(0, Math.ceil(this.#lines.length / 2));
      this.#length -= dropped.reduce((sum, each) => sum + each.length, 0);
    }
  }

  tail(count: number, bytesMax = Number.POSITIVE_INFINITY): string {
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

  reset(): void {
    this.#lines = [];
    this.#length = 0;
  }

  close(): void {}
}

/**
 * Reads blocks from the end until they hold `count` line ends before the last one, or what fits
 * `bytesMax`: then what stands before their first line end is the rest of a line that does not.
 */
function readTail(descriptor: number, count: number, bytesMax: number): string {
  const size = fs.fstatSync(descriptor).size;
  const first = Math.max(0, size - bytesMax - 1);
  const blocks: Buffer[] = [];
  let missing = count + 1;
  for (let end = size; end > first && missing > 0; ) {
    const start = Math.max(first, end - blockBytes);
    const block = Buffer.alloc(end - start);
    fs.readSync(descriptor, block, 0, block.length, start);
    let from = 0;
    // The line end at the very end of the file closes the last line, it does not begin one.
    for (let at = block.length - 1; at >= 0 && missing > 0; at--) {
      const isLast = start + at === size - 1;
      if (block[at] !== 10 && !isLast) continue;
      missing--;
      if (missing === 0) from = at + 1;
    }
    blocks.unshift(block.subarray(from));
    end = start;
  }
  const bytes = Buffer.concat(blocks);
  const from = size > bytesMax && missing > 0 ? bytes.indexOf(10) + 1 : 0;
  const text = bytes.toString('utf8', from);
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** After a crash the file may end inside a line; the next one must not continue it. */
function endLastLine(descriptor: number): void {
  const size = fs.fstatSync(descriptor).size;
  if (size === 0) return;
  const last = Buffer.alloc(1);
  fs.readSync(descriptor, last, 0, 1, size - 1);
  if (last[0] !== 10) fs.writeSync(descriptor, '\n');
}
