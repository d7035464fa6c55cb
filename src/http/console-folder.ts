import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { type SiteEncoding, siteEncodings } from '../host/sites/compress-file.ts';
import { limits } from '../limits.ts';

/** One file of the console, in one of its forms. */
export interface ConsoleContent {
  readonly bytes: Uint8Array;
  readonly encoding: SiteEncoding | undefined;
  /** The entity tag of this form, with its quotes. */
  readonly tag: string;
}

const endings: Readonly<Record<SiteEncoding, string>> = { br: '.br', gzip: '.gz' };

interface Listed {
  /** Paths below the folder that can be asked for, with a `/` in front. */
  readonly paths: ReadonlySet<string>;
  /** Compressed forms beside them, such as `/assets/a.js.br`. */
  readonly forms: ReadonlySet<string>;
  /** When the page was written that the list belongs to. */
  readonly writtenMillis: number;
}

/**
 * The built files of the console, in a folder of the package. They are found by their names in a
 * list, so no path of a request leads anywhere else. The folder is listed again when its page was
 * written again, as a build does while a service runs.
 */
export class ConsoleFolder {
  readonly #directory: string;
  #listed: Listed | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Whether a console was built. */
  async exists(): Promise<boolean> {
    return (await this.#list()) !== undefined;
  }

  async has(file: string): Promise<boolean> {
    return (await this.#list())?.paths.has(file) === true;
  }

  /**
   * Reads a file in the first of these encodings in which it is there, else as it is; `undefined`:
   * there is no such file.
   */
  async read(
    file: string,
    encodings: readonly SiteEncoding[],
  ): Promise<ConsoleContent | undefined> {
    const listed = await this.#list();
    if (listed?.paths.has(file) !== true) return undefined;
    const encoding = encodings.find((one) => listed.forms.has(file + endings[one]));
    const name = encoding === undefined ? file : file + endings[encoding];
    try {
      const bytes = await readFile(path.join(this.#directory, name));
      const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
      return { bytes, encoding, tag: `"${hash}"` };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      // A build replaces the folder at this moment.
      this.#listed = undefined;
      return undefined;
    }
  }

  async #list(): Promise<Listed | undefined> {
    const page = await stat(path.join(this.#directory, 'index.html')).catch(() => undefined);
    if (page === undefined) {
      this.#listed = undefined;
      return undefined;
    }
    if (this.#listed?.writtenMillis !== page.mtimeMs) {
      this.#listed = { ...filesIn(this.#directory), writtenMillis: page.mtimeMs };
    }
    return this.#listed;
  }
}

function filesIn(directory: string): Pick<Listed, 'paths' | 'forms'> {
  const found = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)))
    .map((name) => `/${name.split(path.sep).join('/')}`)
    .slice(0, limits.consoleFilesMax);
  const all = new Set(found);
  const isForm = (name: string) =>
    siteEncodings.some((one) => {
      const ending = endings[one];
      return name.endsWith(ending) && all.has(name.slice(0, -ending.length));
    });
  return {
    paths: new Set(found.filter((name) => !isForm(name))),
    forms: new Set(found.filter(isForm)),
  };
}
