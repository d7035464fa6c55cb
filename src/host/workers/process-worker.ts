import fs from 'node:fs';
import path from 'node:path';
import type { Ticket } from '../../database/ticket.ts';
import { limits, statementBytesMax } from '../../limits.ts';
import { baseNiceness, canLowerNiceness, setNiceness } from '../../node/child-priority.ts';
import { endingWithParent } from '../../node/command-wrappers.ts';
import { folderBytes } from '../../node/folder-space.ts';
import { MemoryCeiling } from '../../node/memory-ceiling.ts';
import { memoryKills } from '../../node/memory-kills.ts';
import { descriptorsAdvice } from '../../node/open-descriptors.ts';
import { type ProcessorTime, processorTime } from '../../node/processor-time.ts';
import { ownThreadFile } from '../../node/thread-faults.ts';
import { identityToHex } from '../../values/identity.ts';
import { deploysFile } from '../deployed/own-deploys.ts';
import type { EnvSource } from '../lanes/lane-env.ts';
import { MessageBudget } from '../messages/message-budget.ts';
import { encodeMessage, MessageReader, type ToProcess } from '../messages/process-frames.ts';
import type { ActorStart, FromWorker } from '../messages/worker-messages.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Budget } from '../seats/budget.ts';
import type { Child, ChildExit, ChildStarter } from '../spawner/child-starter.ts';
import { workerEntry } from '../spawner/worker-entry.ts';
import { nicenessOf, type Standing } from '../watching/standing.ts';
import { BoardMirror } from './board-file.ts';
import { type KeeperPlan, overHeapExit } from './keeper-plan.ts';
import { PacedChannel } from './paced-channel.ts';
import { ProcessLanes } from './process-lanes.ts';
import type { LanePlaces } from './seat-lanes.ts';
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

/** What the lanes of all processes share. */
export interface SharedByLanes {
  readonly places: LanePlaces;
  /** Sends their HTTP requests; absent: they send none. */
  readonly outbound?: Outbound | undefined;
  /** Has the configuration of databases; absent: they have none. */
  readonly env?: EnvSource | undefined;
}

/**
 * Starts actors in processes of their own, with their lanes. Each has an empty environment, may
 * write nothing but its database's directory, and inherits three descriptors: a stream of frames,
 * its board, and a stream of frames about its lanes.
 */
export function processWorkers(starter: ChildStarter, shared: SharedByLanes): StartWorker {
  return async (given, { budget, lastTicket }, events) => {
    const entries = await processEntries();
    // Its working directory is another than that of this process.
    const directory = given.directory === undefined ? undefined : path.resolve(given.directory);
    const start = { ...given, directory };
    const ceiling = new MemoryCeiling(ceilingBytes(budget, start), starter.run);
    const [command = '', ...words] = [
      ...endingWithParent(),
      ...ceiling.command,
      process.execPath,
      ...keeperFlags(entries.keeper),
      entries.keeper,
      JSON.stringify(keeperPlan(entries, start, budget, shared.outbound?.isEnabled === true)),
    ];
    const order = { command, words, directory: directory ?? '/' };
    const mirror = new BoardMirror(lastTicket);
    let child: Child;
    try {
      child = await starter.start(order, mirror.descriptor);
    } catch (error) {
      return neverStarted(mirror, startFault(error), events);
    }
    return new ProcessWorker({ child, mirror, ceiling, budget, shared }, start, events);
  };
}

/** Reports its end like that of any other worker, once the caller has the worker. */
function neverStarted(mirror: BoardMirror, message: string, events: WorkerEvents): Worker {
  mirror.close();
  setImmediate(() => events.ended({ cause: 'died', message }));
  return {
    board: mirror.board,
    send: () => undefined,
    abandon: () => undefined,
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
  readonly shared: SharedByLanes;
}

class ProcessWorker implements Worker {
  readonly #parts: Parts;
  readonly #events: WorkerEvents;
  readonly #frames = new MessageReader(limits.workerStructuredBytesMax);
  readonly #messages = new MessageBudget();
  readonly #channel: PacedChannel;
  readonly #lanes: ProcessLanes;
  #rowBytes = 0;
  /** Bytes of entries that it has followed, and for whose rows it has not reported memory. */
  #followedBytes = 0;
  /** The most lanes that it has had at once. */
  #lanesMost = 0;
  readonly #statusFile: string;
  readonly #memoryKillsBefore = memoryKills();
  #hasEnded = false;
  /** Why it ended, where more is known than its exit shows. */
  #death: WorkerDeath | undefined;

  constructor(parts: Parts, start: ActorStart, events: WorkerEvents) {
    const { child, ceiling, shared } = parts;
    this.#parts = parts;
    this.#events = events;
    this.#statusFile = `/proc/${child.pid}/status`;
    this.#channel = new PacedChannel(child.channel, {
      read: (chunk, isEnough) => this.#frames.push(chunk, this.#deliver, isEnough),
      broken: (error) => this.#broken(error),
    });
    const isServing = start.task.kind === 'serve';
    this.#lanes = new ProcessLanes(child.lanes, {
      identity: start.identity,
      generation: start.generation,
      places: shared.places,
      outbound: isServing ? shared.outbound : undefined,
      env: isServing ? shared.env : undefined,
      entering: (lanes) => {
        this.#lanesMost = Math.max(this.#lanesMost, lanes);
        this.#hold();
        events.hasLanes?.();
      },
      broken: (error) => this.#broken(error),
      stuck: () => {
        this.#death ??= stuckDeath;
        this.terminate();
      },
    });
    void child.ended.then((exit) => this.#end(exit));
    ceiling.watch(child.pid);
    this.#channel.write(encodeMessage({ kind: 'start', start }));
  }

  get board() {
    return this.#parts.mirror.board;
  }

  get hasLanes(): boolean {
    return this.#lanes.count > 0;
  }

  send(message: ToProcess): void {
    if (this.#hasEnded) return;
    if (message.kind === 'memberReply' && message.reply.kind === 'read') {
      for (const { bytes } of message.reply.answer.entries) this.#followedBytes += bytes.length;
      this.#hold();
    }
    const isMuch = this.#channel.write(encodeMessage(message));
    // What a process does not read is kept here, so it may ask for no more until it does.
    if (isMuch && message.kind === 'memberReply') this.#channel.holdUntilWritten();
  }

  history(task: string, signal: AbortSignal): Promise<string> {
    return this.#lanes.history(task, signal);
  }

  abandon(ticket: Ticket): void {
    this.#parts.mirror.abandon(ticket);
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
    const { pid } = this.#parts.child;
    const thread = this.#actorThread();
    return processorTime(thread === undefined ? { process: pid } : { process: pid, thread });
  }

  setStanding(standing: Standing): void {
    const { pid } = this.#parts.child;
    if (this.#hasEnded || !canLowerNiceness(pid)) return;
    const thread = this.#actorThread();
    setNiceness(thread ?? pid, nicenessOf[standing]);
    // Its first thread looks after the lanes, and computes nothing.
    if (thread !== undefined) setNiceness(pid, nicenessOf.usual);
  }

  /** The number of the actor's thread, if it is one of the process: it may say anything. */
  #actorThread(): number | undefined {
    const { pid } = this.#parts.child;
    const { systemThreadId } = this.board;
    const isOwn = systemThreadId > 0 && fs.existsSync(`/proc/${pid}/task/${systemThreadId}`);
    return isOwn ? systemThreadId : undefined;
  }

  #broken(error: unknown): void {
    const message = `its process sent what it must not: ${String(error)}`;
    this.#death ??= { cause: 'bug', message };
    this.#channel.destroy();
    this.terminate();
  }

  readonly #deliver = (given: ToProcess | FromWorker): void => {
    const message = given as FromWorker;
    this.#messages.take(message);
    if (message.kind === 'memory') {
      const { rowBytes, indexBytes } = message.memory;
      this.#rowBytes = rowBytes + indexBytes;
      this.#followedBytes = 0;
      this.#hold();
    }
    this.#events.message(message);
  };

  #hold(): void {
    const { ceiling, budget } = this.#parts;
    // As for a log that is about to be read: see `ceilingBytes`.
    const followed = 2 * this.#followedBytes;
    ceiling.hold(this.#rowBytes + followed + this.#lanesMost * laneBytes(budget));
  }

  #end({ code, signal }: ChildExit): void {
    this.#hasEnded = true;
    this.#lanes.end();
    const { mirror, ceiling } = this.#parts;
    const { changes, phase, procedures } = mirror.board;
    const hasRun = changes > 0;
    const wasInModule = phase === 'calling' || phase === 'viewing' || phase === 'loading';
    mirror.close();
    ceiling.end();
    const heapMebibytes = this.#parts.budget.workerHeapMebibytesMax;
    const kills = memoryKills();
    const mayBeForMemory = kills === undefined || kills !== this.#memoryKillsBefore;
    const isShared = procedures > 0;
    const exit = { code, signal, mayBeForMemory, hasRun, wasInModule, isShared, heapMebibytes };
    this.#events.ended(this.#death ?? describeExit(exit));
  }
}

/** The engine does not interrupt what one of its lanes does. */
const stuckDeath: WorkerDeath = {
  cause: 'killed',
  message: 'The process of the database was ended: a procedure of it could not be interrupted.',
};

/**
 * Memory that the process can take besides its lanes and the rows and indexes that it reports: for
 * the engine, the module and statements, and for the rows that it is about to read from a log of
 * this size.
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

/** What one lane can take: the heap of a module, and what a procedure holds. */
function laneBytes({ workerHeapMebibytesMax, callBufferBytesMax }: Budget): number {
  return (workerHeapMebibytesMax + limits.workerHeadroomMebibytes) * mebibyte + callBufferBytesMax;
}

function heapMebibytes({ workerHeapMebibytesMax, callBufferBytesMax }: Budget): number {
  const forOthers = (callBufferBytesMax + statementBytesMax) / mebibyte + engineMebibytes / 2;
  return Math.ceil(workerHeapMebibytesMax + forOthers);
}

interface Entries {
  readonly keeper: string;
  readonly actor: string;
  readonly lane: string;
  readonly snapshot: string;
}

async function processEntries(): Promise<Entries> {
  const kinds = ['process', 'process-actor', 'lane', 'snapshot'] as const;
  const [keeper, actor, lane, snapshot] = await Promise.all(kinds.map(workerEntry));
  return { keeper, actor, lane, snapshot } as Entries;
}

/** What the first thread of the process needs to know: nothing that a module has said. */
function keeperPlan(
  entries: Entries,
  start: ActorStart,
  budget: Budget,
  sendsRequests: boolean,
): KeeperPlan {
  return {
    identity: identityToHex(start.identity),
    strays: strays(),
    niceness: baseNiceness(),
    actor: {
      entry: entries.actor,
      flags: actorFlags(entries.actor, start),
      heapMebibytes: heapMebibytes(budget),
    },
    lanes: {
      entry: entries.lane,
      flags: laneFlags(entries.lane, start),
      budget,
      sendsRequests,
    },
    snapshots: {
      entry: entries.snapshot,
      flags: snapshotFlags(entries.snapshot, start),
      directory: start.directory,
      writer: start.writer,
    },
  };
}

/**
 * Flags of the process, for its first thread. It alone may start threads, so it runs no code of a
 * module. Newer versions of Node give each thread what the process may read, too.
 */
export function keeperFlags(entry: string): string[] {
  return [...permissions([entry]), '--allow-worker'];
}

/**
 * Flags that restrict the actor's thread to its entry, the database's directory, the mark, and what
 * lists its deploys.
 */
export function actorFlags(
  entry: string,
  start: Pick<ActorStart, 'directory' | 'hardeningFile' | 'kept' | 'writer'>,
): string[] {
  const { directory, hardeningFile, kept, writer } = start;
  // The folder may not exist yet, so its files are named instead.
  const programs = kept === undefined ? [] : [path.join(kept.folder, '*')];
  const own = directory === undefined ? [] : [directory];
  const deploys = directory === undefined ? [] : [deploysFile(directory)];
  const mark = writer === undefined ? [] : [writer.file];
  const others = [...mark, ...programs, ...deploys];
  return [
    ...permissions([entry, ownThreadFile, hardeningFile, ...own, ...others]),
    ...own.map((file) => `--allow-fs-write=${file}`),
  ];
}

/** Flags that restrict the thread of a lane to its entry: programs come to it in messages. */
export function laneFlags(
  entry: string,
  { hardeningFile }: Pick<ActorStart, 'hardeningFile'>,
): string[] {
  return permissions([entry, ownThreadFile, hardeningFile]);
}

/** Flags that restrict the thread of snapshots to its entry, the directory, and the mark. */
export function snapshotFlags(
  entry: string,
  { directory, writer }: Pick<ActorStart, 'directory' | 'writer'>,
): string[] {
  const own = directory === undefined ? [] : [directory];
  const mark = writer === undefined ? [] : [writer.file];
  return [...permissions([entry, ...own, ...mark]), ...own.map((at) => `--allow-fs-write=${at}`)];
}

function permissions(readable: readonly string[]): string[] {
  const files = [...new Set(readable)].map((file) => `--allow-fs-read=${file}`);
  return [permissionFlag, '--no-warnings', ...files];
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
  /** True: procedures ran in it, too, and may be to blame. */
  readonly isShared: boolean;
  readonly heapMebibytes: number;
}

/** Describes why a process ended, as far as its exit shows. */
export function describeExit(exit: ProcessExit): WorkerDeath {
  const { code, signal, mayBeForMemory, hasRun, wasInModule, isShared, heapMebibytes } = exit;
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
  if (code === overHeapExit && wasInModule) return overHeap(heapMebibytes);
  if (signal !== null && isShared) {
    const message = `The process of the database ended (${how}) while procedures ran.`;
    return { cause: 'killed', message };
  }
  if (signal !== null && memorySignals.has(signal) && wasInModule) {
    return overHeap(heapMebibytes);
  }
  return { cause: 'died', message: `The process of the database ended (${how}).` };
}

let strayList: string | undefined;

/**
 * Descriptors from 6 on that this process inherited and that its children inherit too: a shell or a
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
    .filter((number) => Number(number) >= 6 && isInherited(`${folder}/${number}`))
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
