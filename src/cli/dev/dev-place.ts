import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { JsonError } from '../../values/json-error.ts';
import { number, object, optional, parseAs, type Shaped, string } from '../../values/json-shape.ts';
import { CliError } from '../io.ts';
import { isLocalServer } from '../server-choice.ts';

/** The folder of a project in which `dev` keeps its service's data and its own notes. */
export const devFolder = '.reducerdb';

const stateShape = object({
  url: string,
  /** Of the service. */
  pid: number,
  /** Of the `dev` that started it. */
  owner: number,
  /** Where the project was, and the number of its folder, which a move keeps. */
  folder: string,
  inode: optional(number),
});

/** What `dev` notes about its service. */
export type DevState = Shaped<typeof stateShape>;

/**
 * The files of `.reducerdb/` in a project. A project can come from anyone, with notes in it. So
 * none is a link or another user's file (else the reader throws `CliError`), and the service of
 * `dev.json` is on this machine.
 */
export class DevPlace {
  /** The project, by its real path. */
  readonly root: string;
  readonly folder: string;
  readonly dataFolder: string;
  readonly serviceLog: string;

  constructor(root: string) {
    this.root = existsSync(root) ? realpathSync(root) : root;
    this.folder = path.join(this.root, devFolder);
    this.dataFolder = path.join(this.folder, 'data');
    this.serviceLog = path.join(this.folder, 'service.log');
  }

  /** Makes the folder, and has `.gitignore` of the project name it. */
  make(): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    this.#checkFolder();
    const file = path.join(this.root, '.gitignore');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    if (text.split(/\r?\n/).some((line) => /^\/?\.reducerdb\/?$/.test(line.trim()))) return;
    const end = text === '' || text.endsWith('\n') ? '' : '\n';
    writeFileSync(file, `${text}${end}${devFolder}/\n`);
  }

  /** What an earlier run, or one that still runs, has noted. */
  get state(): DevState | undefined {
    const text = this.#read('dev.json');
    if (text === undefined) return undefined;
    try {
      const state = parseAs(text, stateShape);
      return isOnMachine(state.url) ? state : undefined;
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      // A note that was cut off: what it said is found out again.
      return undefined;
    }
  }

  noteState(state: DevState): void {
    this.#write('dev.json', `${JSON.stringify(state, null, 2)}\n`);
  }

  /** The token with which `dev` owns the databases of its service. */
  get token(): string | undefined {
    return this.#read('token')?.trim();
  }

  keepToken(token: string): void {
    this.#write('token', `${token}\n`);
  }

  /** The public key of the service whose data are here. */
  get publicKey(): string | undefined {
    const file = path.join(this.dataFolder, 'keys', 'id_ecdsa.pub');
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  }

  /** The generation of each database that was given its seed. */
  get seeded(): string | undefined {
    return this.#read('seeded')?.trim();
  }

  noteSeeded(mark: string): void {
    this.#write('seeded', `${mark}\n`);
  }

  #read(name: string): string | undefined {
    if (!this.#checkFolder()) return undefined;
    const file = path.join(this.folder, name);
    const found = lstatSync(file, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    requireOwn(file, found, found.isFile());
    // It may have become a link since then; a pipe must not block.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const descriptor = openSync(file, flags);
    try {
      const opened = fstatSync(descriptor);
      requireOwn(file, opened, opened.isFile());
      return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  }

  /** Puts a new file in the place of whatever is there: what a link names stays as it is. */
  #write(name: string, text: string): void {
    this.#checkFolder();
    const file = path.join(this.folder, name);
    const fresh = `${file}.${process.pid}.new`;
    rmSync(fresh, { force: true });
    writeFileSync(fresh, text, { mode: 0o600, flag: 'wx' });
    renameSync(fresh, file);
  }

  /** Whether the folder is there; throws unless it is a folder of this user's. */
  #checkFolder(): boolean {
    const found = lstatSync(this.folder, { throwIfNoEntry: false });
    if (found === undefined) return false;
    requireOwn(this.folder, found, found.isDirectory());
    return true;
  }
}

function requireOwn(file: string, { uid }: Stats, isOfKind: boolean): void {
  const own = process.getuid?.();
  if (isOfKind && (own === undefined || own === uid)) return;
  const what = isOfKind ? 'belongs to another user' : 'is a link, or not what dev writes there';
  throw new CliError(`${file} ${what}, so it is not used. Delete it, and start dev again.`);
}

function isOnMachine(url: string): boolean {
  if (!URL.canParse(url)) return false;
  return new URL(url).protocol === 'http:' && isLocalServer({ url, name: 'dev' });
}

/** The number by which the file system knows a folder; `undefined`: it is not there. */
export function inodeOf(folder: string): number | undefined {
  return statSync(folder, { throwIfNoEntry: false })?.ino;
}

/** Whether a process with this id runs, as far as this user can tell. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
