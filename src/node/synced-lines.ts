import fs from 'node:fs';
import path from 'node:path';
import { makeDirectoryDurably } from './atomic-file.ts';
import { syncDirectory } from './disk.ts';
import { noFollow, privateFileMode, refuseLink } from './private-files.ts';

const appending = fs.constants.O_APPEND | fs.constants.O_CREAT | fs.constants.O_WRONLY | noFollow;

/** Lines that are only ever appended; each is durable when its promise resolves. */
export interface LineStore {
  /** `micros`, microseconds since the Unix epoch, decides the file. */
  append(line: string, micros: number): Promise<void>;
  /** All lines, the oldest first. */
  lines(): Iterable<string>;
  close(): Promise<void>;
}

/**
 * Keeps lines in a directory of its own, one file per UTC month, `YYYY-MM.jsonl`. Lines that come
 * while others are being synced share the next sync.
 */
export class SyncedLines implements LineStore {
  readonly #directory: string;
  #file: { readonly name: string; readonly handle: fs.promises.FileHandle } | undefined;
  #waiting: { readonly line: string; readonly name: string }[] = [];
  #writing: Promise<void> | undefined;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async open(directory: string): Promise<SyncedLines> {
    refuseLink(directory);
    await makeDirectoryDurably(directory);
    return new SyncedLines(directory);
  }

  async append(line: string, micros: number): Promise<void> {
    const name = `${new Date(micros / 1000).toISOString().slice(0, 7)}.jsonl`;
    this.#waiting.push({ line, name });
    // What is being written now may have begun before this line came.
    await this.#writing?.catch(() => undefined);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  lines(): Iterable<string> {
    return linesIn(this.#directory);
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
        // What a failed sync left unwritten is lost; the next line opens the file anew.
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
    await syncDirectory(this.#directory);
    this.#file = { name, handle };
    return handle;
  }
}

/** The lines of such a directory, the oldest first; somebody may be appending more to it. */
export function* linesIn(directory: string): Iterable<string> {
  for (const name of fs.readdirSync(directory).sort()) {
    if (!/^\d{4}-\d\d\.jsonl$/.test(name)) continue;
    const text = fs.readFileSync(path.join(directory, name), 'utf8');
    yield* text.split('\n').filter((line) => line !== '');
  }
}

/** The same without a disk; keeps the last `countMax`. */
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

  close(): Promise<void> {
    return Promise.resolve();
  }
}
