import { statSync } from 'node:fs';
import path from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { limits } from '../../limits.ts';

/** Folders in which no sources are. */
const ignoredNames: ReadonlySet<string> = new Set([
  ...['.git', 'node_modules', '.reducerdb', 'dist', 'build', 'target', 'bin', 'obj'],
  ...['.next', '.nuxt', '.output', '__pycache__', '.venv', 'venv', '.vs', '.idea', '.vite'],
]);

export interface DevWatchOptions {
  readonly folders: readonly string[];
  /** Folders and files of which nothing is said, such as those that `dev` writes. */
  readonly ignored: readonly string[];
  /** Receives each file at once. More may come, or this one again. */
  readonly changing: (file: string) => void;
  /** Receives the files of one save, or of several that come together. */
  readonly changed: (files: ReadonlySet<string>) => void;
  readonly failed: (error: unknown) => void;
}

/** Watches the sources of a project. */
export class DevWatch {
  readonly #options: DevWatchOptions;
  readonly #watcher: FSWatcher;
  #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  /** Files that have changed a moment ago, as they were when that was told. */
  readonly #settled = new Map<string, string>();
  #look: NodeJS.Timeout | undefined;
  readonly #added = new Set<string>();

  constructor(options: DevWatchOptions) {
    this.#options = options;
    const ignored = new Set(options.ignored);
    this.#watcher = watch([...options.folders], {
      ignoreInitial: true,
      ignored: (file) => ignored.has(file) || ignoredNames.has(path.basename(file)),
    });
    this.#watcher.on('all', (event, file) => {
      if (event === 'add' || event === 'change' || event === 'unlink') this.#note(file);
    });
    this.#watcher.on('error', (error) => options.failed(error));
  }

  /** Resolves when every file is watched. */
  ready(): Promise<void> {
    return new Promise((resolve) => this.#watcher.once('ready', () => resolve()));
  }

  /** Watches sources that are in none of the folders, but not those of packages. */
  add(files: readonly string[]): void {
    const inside = (file: string) => {
      return this.#options.folders.some((folder) => file.startsWith(folder + path.sep));
    };
    const parts = (file: string) => file.split(path.sep);
    const more = files.filter((file) => {
      return !inside(file) && !this.#added.has(file) && !parts(file).includes('node_modules');
    });
    for (const file of more) this.#added.add(file);
    if (more.length > 0) this.#watcher.add(more);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    clearTimeout(this.#look);
    await this.#watcher.close();
  }

  #note(file: string): void {
    if (this.#changed.size < limits.devChangedFilesMax) this.#changed.add(file);
    this.#options.changing(file);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const changed = this.#changed;
      this.#changed = new Set();
      this.#lookAgainAt(changed);
      this.#options.changed(changed);
    }, limits.devDebounceMillis);
  }

  /** The watcher tells of one change of a file within 50 ms, and never of one behind it. */
  #lookAgainAt(files: ReadonlySet<string>): void {
    for (const file of files) this.#settled.set(file, stampOf(file));
    clearTimeout(this.#look);
    this.#look = setTimeout(() => {
      const settled = [...this.#settled];
      this.#settled.clear();
      for (const [file, stamp] of settled) if (stampOf(file) !== stamp) this.#note(file);
    }, limits.devLookAgainMillis);
  }
}

/** Tells two states of a file apart; empty if it is not there. */
function stampOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.ino} ${stat.size} ${stat.mtimeNs}`;
}
