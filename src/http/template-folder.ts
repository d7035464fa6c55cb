import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { limits } from '../limits.ts';
import { list, object, parseAs, type Shaped, string } from '../values/json-shape.ts';

const listed = list(object({ name: string, description: string, program: string }));

const unpack = promisify(gunzip);

export type BuiltTemplate = Shaped<typeof listed>[number];

/**
 * The programs of project templates that the package holds built: compressed files in a folder with
 * their list.
 */
export class TemplateFolder {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Empty if none were built. */
  async list(): Promise<readonly BuiltTemplate[]> {
    try {
      return parseAs(await readFile(path.join(this.#directory, 'templates.json'), 'utf8'), listed);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  /** The program of a template; `undefined`: there is none of that name. */
  async program(name: string): Promise<Uint8Array | undefined> {
    const found = (await this.list()).find((template) => template.name === name);
    if (found === undefined) return undefined;
    const packed = await readFile(path.join(this.#directory, path.basename(found.program)));
    return unpack(packed, { maxOutputLength: limits.programBytesMax });
  }
}
