import fs from 'node:fs';
import path from 'node:path';
import { makeDirectoryDurably } from './atomic-file.ts';
import { syncDirectory } from './disk.ts';
import { noFollow, privateFileMode, refuseLink } from './private-files.ts';

const appending = fs.constants.O_APPEND | fs.constants.O_CREAT | fs.constants.O_RDWR | noFollow;
const lineEnd = 10;

/** Lines that are only ever appended; each is durable when its promise resolves. */
export interface LineStore {
  /** `micros`, microseconds since the Unix epoch, decides the file. */
  append(line: string, micros: number): Promise<void>;
  /** All lines, the oldest first. */
  lines(): Iterable<string>;
  /** Lines at the end of the newest file, as many as fit; `undefined`: no file exists. */
  newest(bytesMax: number): NewestLines | undefined;
  close(): Promise<void>;
}

export interface NewestLines {
  readonly file: string;
  readonly lines: readonly string[];
}

/**
 * Keeps lines in a directory of its own, one file per UTC month, `YYYY-MM.jsonl`. Lines that arrive
 * while others are being synced share the next sync. A line that was cut, by the end of a process
 * or a full disk, is terminated before the next one.
 */
export class SyncedLines implements LineStore {
  readonly #directory: string;
  #file: { readonly name: string; readonly handle: fs.promises.FileHandle } | undefined;
  #waiting: { readonly line: string; readonly name: string }[] = [];
  #writing: Promise<void> | undefined;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Sets aside an existing file that cannot be written, and reports that to `warn`. */
  static async open(
    directory: string,
    warn: (message: string) => void = () => undefined,
  ): Promise<SyncedLines> {
    refuseLink(directory);
    if (fs.statSync(directory, { throwIfNoEntry: false })?.isFile()) setAside(directory, warn);
    await makeDirectoryDurably(directory);
    for (const name of filesIn(directory)) {
      const file = path.join(directory, name);
      if (!isUsable(file)) setAside(file, warn);
    }
    return new SyncedLines(directory);
  }

  async append(line: string, micros: number): Promise<void> {
    const name = `${new Date(micros / 1000).toISOString().slice(0, 7)}.jsonl`;
    this.#waiting.push({ line, name });
    // The write under way may have begun before this line arrived.
    await this.#writing?.catch(() => undefined);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  lines(): Iterable<string> {
    return linesIn(this.#directory);
  }

  newest(bytesMax: number): NewestLines | undefined {
    const name = filesIn(this.#directory).at(-1);
    if (name === undefined) return undefined;
    const file = path.join(this.#directory, name);
    return { file, lines: lastLines(file, bytesMax) };
  }

  async close(): Promise<void> {
    await this.#writing?.catch(() => undefined);
    await this.#closeFile();
  }

  async #write(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    for (const name of new Set(batch.map((one) => one.name))) {
      const lines = batch.filter((one) => one.name === name).map(({ line }) => `${line}\n`);
      const handle = await this.#open(name);
      try {
        await handle.appendFile(lines.join(''));
        await handle.datasync();
      } catch (error) {
        // What a failed sync left unwritten is lost; the next line opens the file again.
        await this.#closeFile();
        throw error;
      }
    }
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.handle.close();
  }

  async #open(name: string): Promise<fs.promises.FileHandle> {
    if (this.#file?.name === name) return this.#file.handle;
    await this.#closeFile();
    const handle = await fs.promises.open(
      path.join(this.#directory, name),
      appending,
      privateFileMode,
    );
    try {
      await endLastLine(handle);
      await syncDirectory(this.#directory);
    } catch (error) {
      await handle.close();
      throw error;
    }
    this.#file = { name, handle };
    return handle;
  }
}

async function endLastLine(handle: fs.promises.FileHandle): Promise<void> {
  const { size } = await handle.stat();
  if (size === 0) return;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  if (buffer[0] !== lineEnd) await handle.appendFile('\n');
}

function filesIn(directory: string): string[] {
  return fs
    .readdirSync(directory)
    .filter((name) => /^\d{4}-\d\d\.jsonl$/.test(name))
    .sort();
}

/** False: it is not a file, or not this user's. Any other problem appears when it is written. */
function isUsable(file: string): boolean {
  try {
    fs.closeSync(fs.openSync(file, fs.constants.O_RDWR | noFollow));
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return !['EISDIR', 'EACCES', 'EPERM', 'ELOOP'].includes(code);
  }
}

function setAside(place: string, warn: (message: string) => void): void {
  let number = 1;
  while (fs.existsSync(`${place}.set-aside-${number}`)) number++;
  const kept = `${place}.set-aside-${number}`;
  try {
    fs.renameSync(place, kept);
    warn(`${place} cannot be written; it was set aside as ${kept}`);
  } catch (error) {
    warn(`${place} cannot be written, nor be set aside: ${String(error)}`);
  }
}

function lastLines(file: string, bytesMax: number): string[] {
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY | noFollow);
  try {
    const { size } = fs.fstatSync(descriptor);
    const start = Math.max(0, size - bytesMax);
    const bytes = Buffer.alloc(size - start);
    const length = fs.readSync(descriptor, bytes, 0, bytes.length, start);
    const lines = bytes.toString('utf8', 0, length).split('\n');
    return lines.slice(start === 0 ? 0 : 1).filter((line) => line !== '');
  } finally {
    fs.closeSync(descriptor);
  }
}

/** The lines of such a directory, the oldest first; others may be appending more to it. */
export function* linesIn(directory: string): Iterable<string> {
  for (const name of filesIn(directory)) {
    const text = fs.readFileSync(path.join(directory, name), 'utf8');
    yield* text.split('\n').filter((line) => line !== '');
  }
}

/** A line store without a disk; keeps the last `countMax`. */
export class MemoryLines implements LineStore {
  readonly #countMax: number;
  #lines: string[] = [];

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  append(line: string): Promise<void> {
    this.#lines.push(line);
    if (this.#lines.length > this.#countMax) this.#lines.shift();
    return Promise.resolve();
  }

  lines(): Iterable<string> {
    return [...this.#lines];
  }

  newest(): undefined {
    return undefined;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
