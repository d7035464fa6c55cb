import { readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { cachedDataVersionTag } from 'node:v8';
import { Worker as Thread } from 'node:worker_threads';
import { limits } from '../../limits.ts';
import { writeFileAtomically } from '../../node/atomic-file.ts';
import { hardeningFile } from '../../node/realm.ts';
import { isTrustedFolder, readTrusted } from '../../node/trusted-file.ts';
import { tuneEngine } from '../../node/tune-engine.ts';
import { Board } from '../seats/board.ts';
import { workerEntry } from '../spawner/worker-entry.ts';
import type { CompilingStart, ThreadProgram } from './program-messages.ts';

/** What a thread is started with. */
export interface ReadyProgram {
  /** The file that a thread begins with, `load-main.ts`. */
  readonly entry: string;
  readonly program: ThreadProgram;
}

export interface CompiledProgramOptions {
  readonly program?: () => Promise<string>;
  /** From the first start to when the code is made. */
  readonly delayMillis?: number;
}

/**
 * The program of threads with databases, and the code that the engine makes of it: with it a
 * database wakes in a fifth less time. A thread on which no module ever runs makes the code, a
 * moment after the first start of the process, or an earlier process did and left it in a file
 * beside the program. That file is used only where nobody else can write to it, for code can do
 * anything; where there is none and none can be, each process makes its own.
 */
export class CompiledProgram {
  readonly #program: () => Promise<string>;
  readonly #delayMillis: number;
  /** By the engine's tag: code is of one version of it and of its flags. */
  readonly #byTag = new Map<number, Promise<CodeHolder>>();

  constructor({ program, delayMillis }: CompiledProgramOptions = {}) {
    this.#program = program ?? (() => workerEntry('thread'));
    this.#delayMillis = delayMillis ?? limits.compileAfterMillis;
  }

  async ready(): Promise<ReadyProgram> {
    tuneEngine();
    const tag = cachedDataVersionTag();
    let opened = this.#byTag.get(tag);
    if (opened === undefined) {
      opened = this.#open(tag);
      this.#byTag.set(tag, opened);
    }
    const { entry, file, code } = await opened;
    return { entry, program: { file, ...(code && { code }) } };
  }

  async #open(tag: number): Promise<CodeHolder> {
    const [entry, file] = await Promise.all([workerEntry('load'), this.#program()]);
    const holder: CodeHolder = { entry, file };
    const kept = await readCode(file, tag);
    if (kept !== undefined) holder.code = shared(kept);
    else setTimeout(() => compile(holder, tag), this.#delayMillis).unref();
    return holder;
  }
}

interface CodeHolder {
  readonly entry: string;
  readonly file: string;
  code?: SharedArrayBuffer;
}

function compile(holder: CodeHolder, tag: number): void {
  const { entry, file } = holder;
  const workerData: CompilingStart = {
    program: { file },
    board: new Board().buffer,
    hardeningFile: hardeningFile(),
    isCompiling: true,
  };
  const thread = new Thread(entry, { workerData, env: {}, execArgv: [] });
  thread.unref();
  // Without code, threads start all the same.
  thread.once('error', () => undefined);
  thread.once('message', (code: Uint8Array) => {
    holder.code = shared(code);
    void keepCode(file, tag, code);
  });
}

/** All threads read the same bytes. */
function shared(code: Uint8Array): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(code.length);
  new Uint8Array(buffer).set(code);
  return buffer;
}

/** Of this process. */
export const threadProgram = new CompiledProgram();

/**
 * A file of code: a SHA-256 of the program's text and the code, then the code. The engine does not
 * see that code is of another text of the same length, or that a part of it is missing or wrong.
 */
async function readCode(file: string, tag: number): Promise<Uint8Array | undefined> {
  const kept = await readTrusted(codeFile(file, tag), limits.compiledBytesMax);
  if (kept === undefined) return undefined;
  const code = kept.subarray(digestBytes);
  return kept.subarray(0, digestBytes).equals(await digest(file, code)) ? code : undefined;
}

async function keepCode(file: string, tag: number, code: Uint8Array): Promise<void> {
  if (!(await isTrustedFolder(path.dirname(file)))) return;
  try {
    const content = Buffer.concat([await digest(file, code), code]);
    await writeFileAtomically(codeFile(file, tag), content);
    await removeOlder(file);
  } catch {
    // The package can only be read, or the disk is full.
  }
}

/** Engines come and go: those that were used last keep their code. */
async function removeOlder(file: string): Promise<void> {
  const folder = path.dirname(file);
  const start = `${path.basename(file)}.`;
  const names = (await readdir(folder)).filter(
    (name) => name.startsWith(start) && name.endsWith(ending),
  );
  const files = names.map((name) => path.join(folder, name));
  const dated = await Promise.all(
    files.map(async (name) => ({ name, millis: (await stat(name)).mtimeMs })),
  );
  dated.sort((a, b) => b.millis - a.millis);
  for (const { name } of dated.slice(limits.compiledFilesMax)) await rm(name, { force: true });
}

function codeFile(file: string, tag: number): string {
  return `${file}.${process.version}-${process.arch}-${tag.toString(16)}${ending}`;
}

const ending = '.code';

/** On a thread of Node: this one is the gateway's. */
async function digest(file: string, code: Uint8Array): Promise<Uint8Array> {
  const text = await readFile(file);
  return new Uint8Array(await crypto.subtle.digest('SHA-256', Buffer.concat([text, code])));
}

const digestBytes = 32;
