import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { limits } from '../../limits.ts';
import { type Niceness, yieldSessionToThis } from '../../node/child-priority.ts';
import { systemCommand } from '../../node/command-wrappers.ts';
import { FrameReader } from '../../node/frames.ts';
import { processTreeBytes } from '../../node/process-memory.ts';
import { processTreeMillis } from '../../node/processor-time.ts';
import { toHex } from '../../values/hex.ts';
import {
  answerFrameBytesMax,
  type LinkerAnswer,
  programFrame,
  readAnswer,
} from './linker-frames.ts';
import { linkerVersion } from './linker-version.ts';

/**
 * Memory, in mebibytes, that the engine reserves without using it, but that counts against the
 * limit on data: Node 24 does not start within 512 MiB.
 */
const engineMebibytes = 512;

/**
 * How its process ranks, from its start: without the rights of root a niceness cannot be lowered
 * again. A database that opens waits for its program, and callers for that database, so it links
 * with the niceness of a database; what is published comes after all callers, unless the one who
 * wrote it waits for it.
 */
const nicenessOf = { opening: 5, publish: 15, prompt: 0 } as const satisfies Record<
  string,
  Niceness
>;

export type LinkPurpose = keyof typeof nicenessOf;

export interface LinkBounds {
  readonly mebibytesMax: number;
  readonly millisMax: number;
}

/** The outcome of linking one program. */
export type LinkAnswer = LinkerAnswer | { readonly kind: 'ended'; readonly end: LinkerEnd };

/** Why there is no answer. `killed`: not because of the program, so another process can try. */
export interface LinkerEnd {
  readonly cause: 'memory' | 'time' | 'stack' | 'killed' | 'closed';
  readonly detail: string;
}

/** How much longer than its time limit a linker may take on a busy machine. */
const waitFactor = 5;

/** Bytes kept of the messages of an ending process; the bundler prints its stacks. */
const stderrBytesMax = 8 * 1024;

/**
 * One process that links (`linker-main.ts`), with the bundler's process as its child, in a process
 * group of their own that is killed as a whole. It has nothing of the service's environment, no
 * descriptors but its three pipes, and limits on memory and time while it links; a process that
 * reached one is gone.
 *
 * Memory is bounded twice: by the kernel for each of the two processes, where `prlimit` is found,
 * and for both together by measuring them, where there is a `/proc`.
 */
export class LinkerProcess {
  readonly purpose: LinkPurpose;
  readonly #child: ChildProcess;
  readonly #bounds: LinkBounds;
  readonly #reader = new FrameReader(answerFrameBytesMax);
  #settle: ((answer: LinkAnswer) => void) | undefined;
  #end: LinkerEnd | undefined;
  #stderr = '';
  #hasEnded = false;
  #programCount = 0;

  /** `entry`: the built `linker-main`. */
  constructor(entry: string, bounds: LinkBounds, purpose: LinkPurpose) {
    this.#bounds = bounds;
    this.purpose = purpose;
    const child = startProcess(entry, bounds.mebibytesMax, purpose);
    this.#child = child;
    child.stdout?.on('data', (chunk: Buffer) => this.#receive(chunk));
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString('latin1')).slice(0, stderrBytesMax);
    });
    // It can end before it has read everything; only its end matters.
    child.stdin?.on('error', () => undefined);
    child.on('error', (error) => this.#ended(String(error)));
    // The bundler outlives a process that ends on its own, and keeps its pipes open.
    child.on('exit', () => this.#endGroup());
    child.on('close', (code, signal) => this.#ended(`${signal ?? `exit code ${code}`}`));
  }

  get hasEnded(): boolean {
    return this.#hasEnded || this.#end !== undefined;
  }

  /** Programs that it has accepted. */
  get programCount(): number {
    return this.#programCount;
  }

  /** Process id, for tests and reports; `undefined` when it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Links one program; no other may be queued behind it. Always resolves. */
  async link(program: Uint8Array): Promise<LinkAnswer> {
    this.#programCount += 1;
    if (this.#hasEnded) return { kind: 'ended', end: this.#endOf('it had ended before') };
    this.#hold(true);
    const watch = this.#watch();
    try {
      return await new Promise((resolve) => {
        this.#settle = resolve;
        for (const piece of programFrame(program)) this.#child.stdin?.write(piece);
      });
    } finally {
      this.#settle = undefined;
      clearInterval(watch);
      this.#hold(false);
    }
  }

  /** Kills both processes; the awaited answer gives `end` as the reason. */
  kill(end: LinkerEnd): void {
    this.#end ??= end;
    const { pid } = this.#child;
    if (pid === undefined || this.#hasEnded) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      this.#child.kill('SIGKILL');
    }
  }

  /** Sets whether it keeps this process alive; while it waits for a program, it does not. */
  #hold(isHeld: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    for (const one of [this.#child, stdin, stdout, stderr] as (Held | null)[]) {
      if (isHeld) one?.ref?.();
      else one?.unref?.();
    }
  }

  #watch(): NodeJS.Timeout {
    const { mebibytesMax, millisMax } = this.#bounds;
    const { pid } = this.#child;
    const isLate = timeLimit(pid, millisMax);
    return setInterval(() => {
      const bytes = pid === undefined ? undefined : processTreeBytes(pid);
      if (bytes !== undefined && bytes > mebibytesMax * 1024 * 1024) {
        this.kill({ cause: 'memory', detail: `more than ${mebibytesMax} MiB` });
      } else if (isLate()) {
        this.kill({ cause: 'time', detail: `more than ${millisMax} ms` });
      }
    }, limits.linkLookMillis);
  }

  #receive(chunk: Buffer): void {
    try {
      this.#reader.push(chunk, (kind, body) => this.#settle?.(readAnswer(kind, body)));
    } catch (error) {
      this.kill({ cause: 'killed', detail: String(error) });
    }
  }

  #ended(how: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#end ??= this.#endOf(how);
    this.#settle?.({ kind: 'ended', end: this.#end });
  }

  #endGroup(): void {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // No process of the group is left.
    }
  }

  /** Recognizes the platform's messages about a process that ran out of memory, or of stack. */
  #endOf(how: string): LinkerEnd {
    const text = this.#stderr;
    if (this.#end !== undefined) return this.#end;
    if (text.includes('stack overflow')) return { cause: 'stack', detail: how };
    if (/out of memory|cannot allocate memory|Allocation failed/.test(text)) {
      return { cause: 'memory', detail: how };
    }
    return { cause: 'killed', detail: how };
  }
}

/**
 * Counts from now. The limit is on processor time, as the machine may be busy with other things,
 * and linkers of what is published come last; where that is not known, it is on the time that
 * passes. `waitFactor` times as much may pass.
 */
function timeLimit(pid: number | undefined, millisMax: number): () => boolean {
  const read = () => (pid === undefined ? undefined : processTreeMillis(pid));
  const started = performance.now();
  const computed = read();
  return () => {
    const passed = performance.now() - started;
    const now = computed === undefined || passed <= millisMax ? undefined : read();
    if (computed === undefined || now === undefined) return passed > millisMax;
    return now - computed > millisMax || passed > millisMax * waitFactor;
  };
}

/** A child, or a pipe to it. */
interface Held {
  ref?(): void;
  unref?(): void;
}

/**
 * All of the environment of a linker that is kept for one author: how the bundler collects garbage.
 * It does so when its memory has grown to twice what is in use, which takes it a third of its time;
 * now it may be five times, but no more than half of the limit.
 */
function roomFor(mebibytesMax: number): NodeJS.ProcessEnv {
  return { GOGC: '400', GOMEMLIMIT: `${Math.floor(mebibytesMax / 2)}MiB` };
}

function startProcess(entry: string, mebibytesMax: number, purpose: LinkPurpose): ChildProcess {
  const bytes = (mebibytesMax + engineMebibytes) * 1024 * 1024;
  // A program that is linked again and again pays for compiled code and for room to collect in.
  const isPrompt = purpose === 'prompt';
  const tuning = isPrompt ? ['--max-semi-space-size=48'] : [];
  const node = [process.execPath, `--max-old-space-size=${mebibytesMax}`, ...tuning, entry];
  const version = toHex(linkerVersion());
  const limiter = systemCommand('prlimit');
  const bounded = limiter === undefined ? node : [limiter, `--data=${bytes}`, '--core=0', ...node];
  const words = [version, `${process.pid}`, ...(isPrompt ? ['prompt'] : [])];
  const [command = process.execPath, ...args] = [...bounded, ...words];
  const child = spawn(command, args, {
    cwd: path.parse(entry).root,
    env: isPrompt ? roomFor(mebibytesMax) : {},
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    windowsHide: true,
  });
  if (child.pid !== undefined) yieldSessionToThis(child.pid, nicenessOf[purpose]);
  return child;
}
