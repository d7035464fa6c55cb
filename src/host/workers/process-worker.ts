import fs from 'node:fs';
import path from 'node:path';
import { limits, statementBytesMax } from '../../limits.ts';
import { canLowerNiceness, setNiceness } from '../../node/child-priority.ts';
import { endingWithParent, endsWithParent } from '../../node/command-wrappers.ts';
import { MemoryCeiling } from '../../node/memory-ceiling.ts';
import { memoryKills } from '../../node/memory-kills.ts';
import { descriptorsAdvice } from '../../node/open-descriptors.ts';
import { type ProcessorTime, processorTime } from '../../node/processor-time.ts';
import { MessageBudget } from '../messages/message-budget.ts';
import { encodeMessage, MessageReader, type ToProcess } from '../messages/process-frames.ts';
import type { ActorStart, FromWorker } from '../messages/worker-messages.ts';
import type { Budget } from '../seats/budget.ts';
import type { Child, ChildExit, ChildStarter } from '../spawner/child-starter.ts';
import { workerEntry } from '../spawner/worker-entry.ts';
import { nicenessOf, type Standing } from '../watching/standing.ts';
import { BoardMirror } from './board-file.ts';
import {
  overHeap,
  type StartWorker,
  type Worker,
  type WorkerDeath,
  type WorkerEvents,
} from './worker.ts';

/** Above what rows and the module may take, in mebibytes: the engine, its code, its own buffers. */
const engineMebibytes = 512;

const mebibyte = 1024 * 1024;

const framesBetweenLooks = 8;

/**
 * Starts actors in processes of their own. Each has an empty environment, may write nothing but its
 * database's directory, and inherits two descriptors: a stream of frames, and its board.
 */
export function processWorkers(starter: ChildStarter): StartWorker {
  return async (given, { budget, lastTicket }, events) => {
    const entry = await workerEntry('process');
    // Its working directory is another than that of this process.
    const directory = given.directory === undefined ? undefined : path.resolve(given.directory);
    const start = { ...given, directory };
    const ceiling = new MemoryCeiling(ceilingBytes(budget, start), starter.run);
    const [command = '', ...words] = [
      ...endingWithParent(),
      ...ceiling.command,
      process.execPath,
      ...heapFlags(budget),
      ...processFlags(entry, start),
      entry,
      strays(),
    ];
    const order = { command, words, directory: directory ?? '/' };
    const mirror = new BoardMirror(lastTicket);
    let child: Child;
    try {
      child = await starter.start(order, mirror.descriptor);
    } catch (error) {
      return neverStarted(mirror, startFault(error), events);
    }
    return new ProcessWorker({ child, mirror, ceiling, budget }, start, events);
  };
}

/** Reports its end like that of any other worker, once the caller has the worker. */
function neverStarted(mirror: BoardMirror, message: string, events: WorkerEvents): Worker {
  mirror.close();
  setImmediate(() => events.ended({ cause: 'died', message }));
  return {
    board: mirror.board,
    send: () => undefined,
    terminate: () => undefined,
    processorTime: () => undefined,
    setStanding: () => undefined,
  };
}

function startFault(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  const text = `The process of the database cannot be started: ${reason}.`;
  const isFull =
    error instanceof Error &&
    'code' in error &&
    (error.code === 'EMFILE' || error.code === 'ENFILE');
  if (!isFull) return text;
  return `${text} Too many files are open; ${descriptorsAdvice}.`;
}

interface Parts {
  readonly child: Child;
  readonly mirror: BoardMirror;
  readonly ceiling: MemoryCeiling;
  readonly budget: Budget;
}

class ProcessWorker implements Worker {
  readonly #parts: Parts;
  readonly #events: WorkerEvents;
  readonly #frames = new MessageReader(limits.workerStructuredBytesMax);
  readonly #messages = new MessageBudget();
  /** When the current chunk arrived, and the time spent since the last pause. */
  #chunkAt = 0;
  #spentMillis = 0;
  #framesRead = 0;
  /** True when requests were sent to it since then. */
  #wasAsked = true;
  readonly #statusFile: string;
  readonly #memoryKillsBefore = memoryKills();
  #hasEnded = false;
  /** Why it ended, where more is known than its exit shows. */
  #death: WorkerDeath | undefined;

  constructor(parts: Parts, start: ActorStart, events: WorkerEvents) {
    const { child, ceiling } = parts;
    this.#parts = parts;
    this.#events = events;
    this.#statusFile = `/proc/${child.pid}/status`;
    child.channel?.on('data', (chunk: Buffer) => this.#receive(chunk));
    void child.ended.then((exit) => this.#end(exit));
    ceiling.watch(child.pid);
    this.#write({ kind: 'start', start });
  }

  get board() {
    return this.#parts.mirror.board;
  }

  send(message: ToProcess): void {
    this.#wasAsked = true;
    if (!this.#hasEnded) this.#write(message);
  }

  terminate(): void {
    this.#parts.child.kill();
  }

  /** `undefined` where the platform has no `/proc`, and once the process is gone. */
  memoryBytes(): number | undefined {
    try {
      const status = fs.readFileSync(this.#statusFile, 'latin1');
      const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
      return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
    } catch {
      return undefined;
    }
  }

  processorTime(): ProcessorTime | undefined {
    return processorTime({ process: this.#parts.child.pid });
  }

  setStanding(standing: Standing): void {
    const { pid } = this.#parts.child;
    if (this.#hasEnded || !canLowerNiceness(pid)) return;
    setNiceness(pid, nicenessOf[standing]);
  }

  #write(message: ToProcess): void {
    const { channel } = this.#parts.child;
    channel?.cork();
    for (const piece of encodeMessage(message)) channel?.write(piece);
    channel?.uncork();
  }

  #receive(chunk: Buffer): void {
    this.#chunkAt = performance.now();
    try {
      const rest = this.#frames.push(chunk, this.#deliver, this.#isEnough);
      this.#spentMillis += performance.now() - this.#chunkAt;
      if (this.#spentMillis >= limits.workerSliceMillisMax) this.#pause(rest);
    } catch (error) {
      const message = `its process sent what it must not: ${String(error)}`;
      this.#death ??= { cause: 'bug', message };
      this.#parts.child.channel?.destroy();
      this.terminate();
    }
  }

  readonly #deliver = (given: ToProcess | FromWorker): void => {
    const message = given as FromWorker;
    this.#messages.take(message);
    if (message.kind === 'memory') {
      const { rowBytes, indexBytes } = message.memory;
      this.#parts.ceiling.hold(rowBytes + indexBytes);
    }
    this.#events.message(message);
  };

  /** Reads the clock only once every few frames. */
  readonly #isEnough = (): boolean => {
    this.#framesRead += 1;
    if (this.#framesRead % framesBetweenLooks !== 0) return false;
    const millis = this.#spentMillis + performance.now() - this.#chunkAt;
    return millis >= limits.workerSliceMillisMax;
  };

  /** Lets others have their turn, for longer if the process sent all this unasked. */
  #pause(rest: Buffer): void {
    const { channel } = this.#parts.child;
    channel?.pause();
    if (rest.length > 0) channel?.unshift(rest);
    const goOn = () => {
      this.#spentMillis = 0;
      channel?.resume();
    };
    if (this.#wasAsked) setImmediate(goOn);
    else setTimeout(goOn, limits.workerUnaskedRest * limits.workerSliceMillisMax);
    this.#wasAsked = false;
  }

  #end({ code, signal }: ChildExit): void {
    this.#hasEnded = true;
    const { mirror, ceiling } = this.#parts;
    const { changes, phase } = mirror.board;
    const hasRun = changes > 0;
    const wasInModule = phase === 'calling' || phase === 'viewing' || phase === 'loading';
    mirror.close();
    ceiling.end();
    const heapMebibytes = this.#parts.budget.workerHeapMebibytesMax;
    const kills = memoryKills();
    const mayBeForMemory = kills === undefined || kills !== this.#memoryKillsBefore;
    const exit = { code, signal, mayBeForMemory, hasRun, wasInModule, heapMebibytes };
    this.#events.ended(this.#death ?? describeExit(exit));
  }
}

/**
 * Memory that the process can take besides the rows and indexes that it reports: for the engine,
 * the module and statements, and for the rows that it is about to read from a log of this size.
 */
function ceilingBytes(budget: Budget, { task, directory }: ActorStart): number {
  const { workerHeapMebibytesMax, callBufferBytesMax } = budget;
  const forModule = (workerHeapMebibytesMax + engineMebibytes) * mebibyte + 2 * callBufferBytesMax;
  // Twice: in buffers, while the heap holds as much that is not collected yet.
  const forStatements = 2 * statementBytesMax;
  const isRead = task.kind === 'serve' && task.mode.kind !== 'create';
  return (
    forModule + forStatements + (isRead && directory !== undefined ? 2 * folderBytes(directory) : 0)
  );
}

function folderBytes(folder: string): number {
  return fs
    .readdirSync(folder)
    .map((name) => fs.statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0);
}

function heapFlags({ workerHeapMebibytesMax, callBufferBytesMax }: Budget): string[] {
  const forOthers = (callBufferBytesMax + statementBytesMax) / mebibyte + engineMebibytes / 2;
  const mebibytes = workerHeapMebibytesMax + forOthers;
  return [`--max-old-space-size=${Math.ceil(mebibytes)}`];
}

/** Flags that restrict a Node process to this entry, the database's directory, and the mark. */
export function processFlags(
  entry: string,
  start: Pick<ActorStart, 'directory' | 'hardeningFile' | 'kept' | 'writer'>,
): string[] {
  const { directory, hardeningFile, kept, writer } = start;
  // The folder may not exist yet, so its files are named instead.
  const programs = kept === undefined ? [] : [path.join(kept.folder, '*')];
  const own = directory === undefined ? [] : [directory];
  const mark = writer === undefined ? [] : [writer.file];
  return [
    permissionFlag,
    '--no-warnings',
    ...(endsWithParent() ? [] : ['--allow-worker']),
    ...new Set(
      [entry, hardeningFile, ...own, ...mark, ...programs].map((file) => `--allow-fs-read=${file}`),
    ),
    ...own.map((file) => `--allow-fs-write=${file}`),
  ];
}

/** The flag of the platform's permission model, which was experimental at first. */
const permissionFlag = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

/** Signals by which an engine that runs out of memory ends its process. */
const memorySignals: ReadonlySet<string> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL']);

interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** False: the system has killed no process for lack of memory while this one ran. */
  readonly mayBeForMemory: boolean;
  /** False: it ended before it had loaded its program, which is not to blame. */
  readonly hasRun: boolean;
  /** False: it ended outside of its module, which is not to blame. */
  readonly wasInModule: boolean;
  readonly heapMebibytes: number;
}

/** Describes why a process ended, as far as its exit shows. */
export function describeExit(exit: ProcessExit): WorkerDeath {
  const { code, signal, mayBeForMemory, hasRun, wasInModule, heapMebibytes } = exit;
  if (signal === 'SIGKILL') {
    const text = 'The process of the database was killed (SIGKILL)';
    if (!mayBeForMemory) return { cause: 'killed', message: `${text}, and not for its memory.` };
    const who = 'by the system for its memory, or by someone';
    return { cause: 'died', message: `${text}: ${who}.` };
  }
  const how = signal === null ? `exit code ${code}` : signal;
  if (!hasRun) {
    const advice =
      'The system may allow the service too few processes, files or too little memory.';
    return {
      cause: 'died',
      message: `The process of the database did not start (${how}). ${advice}`,
    };
  }
  if (signal !== null && memorySignals.has(signal) && wasInModule) {
    return overHeap(heapMebibytes);
  }
  return { cause: 'died', message: `The process of the database ended (${how}).` };
}

let strayList: string | undefined;

/**
 * Descriptors from 5 on that this process inherited and that its children inherit too: a shell or a
 * supervisor left them open. The child closes them first.
 */
function strays(): string {
  strayList ??= findStrays();
  return strayList;
}

const closeOnExec = 0o2_000_000;

function findStrays(): string {
  const folder = '/proc/self/fdinfo';
  if (!fs.existsSync(folder)) return '';
  return fs
    .readdirSync(folder)
    .filter((number) => Number(number) >= 5 && isInherited(`${folder}/${number}`))
    .join(',');
}

function isInherited(file: string): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(fs.readFileSync(file, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    // It was closed meanwhile, like the descriptor of the folder itself.
    return false;
  }
}
