import { Worker } from 'node:worker_threads';
import type { ProgramSource } from '../database/program.ts';
import type { TicketedRequest, TurnResult } from '../database/turn.ts';
import { type LinkedProgram, ProgramError } from '../module/runner.ts';
import { Board } from './board.ts';
import { heapLimits, statementMillis } from './budget.ts';
import type { Budget } from './host-options.ts';
import type { Kill, Seat, SeatEvents, SeatStart } from './seat.ts';
import type { PlainEnd } from './start-end.ts';
import type { StartGate } from './start-gate.ts';
import type { Watchdog, Watched } from './watchdog.ts';
import { workerEntry } from './worker-entry.ts';
import {
  buffersOf,
  type FromWorker,
  type LinkOutcome,
  type ToWorker,
  type WorkerStart,
} from './worker-messages.ts';
import { decodeTurn } from './worker-outcomes.ts';
import { encodeRequests } from './worker-requests.ts';

export interface WorkerSeatOptions {
  readonly identity: bigint;
  readonly ownerIdentity: bigint;
  readonly directory: string | undefined;
  readonly budget: Budget;
  readonly watchdog: Watchdog;
  /** Bounds how many databases start at once. */
  readonly gate: StartGate;
  readonly link: (bytes: Uint8Array) => Promise<LinkedProgram>;
}

/**
 * A seat on a thread of its own. The thread may end at any moment, by itself or ended by the
 * watchdog; what it had sent before arrives first, then `ended` says how far it came.
 */
export class WorkerSeat implements Seat {
  readonly #options: WorkerSeatOptions;
  readonly #events: SeatEvents;
  readonly #board = new Board();
  readonly #watched: Watched;
  #worker: Worker | undefined;
  #leaveGate: () => void = () => undefined;
  #messagesSent = 0;
  /** Requests whose outcome has not come. */
  #outstanding = 0;
  #lastTicket: number;
  #isOpen = false;
  /** What to say of the end, once the thread is gone. */
  #end: PlainEnd | undefined;
  #hasEnded = false;
  #whenEmpty: (() => void)[] = [];

  constructor(options: WorkerSeatOptions, start: SeatStart, events: SeatEvents) {
    this.#options = options;
    this.#events = events;
    this.#lastTicket = start.lastTicket;
    this.#board.startAfter(start.lastTicket);
    this.#watched = {
      board: this.#board,
      isBusy: () => !this.#isOpen || this.#outstanding > 0,
      messagesSent: () => this.#messagesSent,
      kill: (end) => this.kill(end),
    };
    void this.#start(start);
  }

  submit(requests: readonly TicketedRequest[]): void {
    const last = requests.at(-1);
    if (last === undefined) return;
    this.#outstanding += requests.length;
    this.#lastTicket = Math.max(this.#lastTicket, last.ticket);
    const batch = encodeRequests(requests);
    this.#send({ kind: 'requests', batch }, buffersOf(batch));
    this.#options.watchdog.wake();
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#hasEnded) resolve();
      else this.#whenEmpty.push(resolve);
      this.#send({ kind: 'close' });
    });
  }

  kill({ cause, message }: Kill): void {
    this.#end ??= { cause, message, running: this.#running() };
    if (this.#worker === undefined) this.#ended();
    else void this.#worker.terminate();
  }

  async #start({ mode }: SeatStart): Promise<void> {
    const { identity, ownerIdentity, directory, budget, watchdog, gate } = this.#options;
    this.#leaveGate = await gate.enter();
    if (this.#hasEnded) {
      this.#leaveGate();
      return;
    }
    const workerData: WorkerStart = {
      task: { kind: 'serve', mode },
      identity,
      ownerIdentity,
      directory,
      statementMillisMax: statementMillis(budget),
      ...heapLimits(budget),
      board: this.#board.buffer,
    };
    try {
      this.#listen(new Worker(await workerEntry(), workerOptions(workerData, budget)));
      watchdog.add(this.#watched);
    } catch (error) {
      this.#end = { cause: 'died', message: String(error), running: undefined };
      this.#ended();
    }
  }

  #listen(worker: Worker): void {
    this.#worker = worker;
    worker.on('message', (message: FromWorker) => {
      try {
        this.#receive(message);
      } catch (error) {
        this.kill({ cause: 'bug', message: String(error) });
      }
    });
    worker.on('error', (error) => {
      this.#end ??= { ...describeDeath(error, this.#options.budget), running: this.#running() };
    });
    worker.on('exit', () => this.#ended());
    if (this.#hasEnded) void worker.terminate();
  }

  #receive(message: FromWorker): void {
    const events = this.#events;
    switch (message.kind) {
      case 'link':
        void this.#link(message.id, message.bytes);
        return;
      case 'opened':
        this.#isOpen = true;
        this.#leaveGate();
        events.opened(message.opening);
        return;
      case 'turn': {
        const turn = decodeTurn(message.batch);
        this.#outstanding -= turn.results.filter(isAnswer).length;
        events.handOver(turn);
        return;
      }
      case 'durable':
        events.durable(message.write, message.offset);
        return;
      case 'lines':
        events.lines(message.lines);
        return;
      case 'memory':
        events.memory(message.memory);
        return;
      case 'warn':
        events.warn(message.message);
        return;
      case 'ended':
        this.#end ??= message.end;
        void this.#worker?.terminate();
        return;
      case 'closed':
        this.#end ??= { cause: 'closed', message: 'closed', running: undefined };
        void this.#worker?.terminate();
        return;
      case 'examined':
        return;
    }
  }

  async #link(id: number, bytes: Uint8Array): Promise<void> {
    this.#send({ kind: 'linked', id, outcome: await linkOutcome(this.#options.link, bytes) });
  }

  /** The thread is gone, or will never be. */
  #ended(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#leaveGate();
    this.#options.watchdog.remove(this.#watched);
    const end = this.#end ?? {
      cause: 'died',
      message: 'the thread of the database ended',
      running: this.#running(),
    };
    if (this.#whenEmpty.length === 0 || end.cause !== 'closed') {
      this.#events.ended({ ...end, reached: (ticket) => this.#board.reached(ticket) });
    }
    for (const resolve of this.#whenEmpty) resolve();
  }

  /** Ticket of the request that the board says is running. */
  #running(): number | undefined {
    const { phase } = this.#board;
    if (phase !== 'calling' && phase !== 'viewing') return undefined;
    const behind = ((this.#lastTicket | 0) - this.#board.running) >>> 0;
    return this.#lastTicket - behind;
  }

  #send(message: ToWorker, transfer: ArrayBuffer[] = []): void {
    this.#messagesSent += 1;
    this.#worker?.postMessage(message, transfer);
  }
}

/** Rows that are promised will come with a second reply, and somebody waits for them until then. */
function isAnswer({ reply }: TurnResult): boolean {
  return reply.kind !== 'reading';
}

/** Examines one program on a thread that is thrown away. Resolves with how it went. */
export async function examineOnWorker(
  program: ProgramSource,
  identity: bigint,
  { budget, watchdog, link }: Pick<WorkerSeatOptions, 'budget' | 'watchdog' | 'link'>,
): Promise<Uint8Array | PlainEnd> {
  const board = new Board();
  const workerData: WorkerStart = {
    task: { kind: 'examine', program },
    identity,
    ownerIdentity: 0n,
    directory: undefined,
    statementMillisMax: statementMillis(budget),
    ...heapLimits(budget),
    board: board.buffer,
  };
  const worker = new Worker(await workerEntry(), workerOptions(workerData, budget));
  return new Promise((resolve) => {
    let outcome: Uint8Array | PlainEnd | undefined;
    let messagesSent = 0;
    const watched: Watched = {
      board,
      isBusy: () => true,
      messagesSent: () => messagesSent,
      kill: (end) => {
        outcome ??= { ...end, running: undefined };
        void worker.terminate();
      },
    };
    worker.on('message', async (message: FromWorker) => {
      if (message.kind === 'examined') outcome = message.described;
      if (message.kind === 'ended') outcome ??= message.end;
      if (message.kind !== 'link') return;
      const linked = await linkOutcome(link, message.bytes);
      messagesSent += 1;
      worker.postMessage({ kind: 'linked', id: message.id, outcome: linked } satisfies ToWorker);
    });
    worker.on('error', (error) => {
      outcome ??= { ...describeDeath(error, budget), running: undefined };
    });
    worker.on('exit', () => {
      watchdog.remove(watched);
      resolve(outcome ?? { cause: 'died', message: 'the thread ended', running: undefined });
    });
    watchdog.add(watched);
  });
}

/**
 * The platform's own heap limit of a worker, above what the budget allows. It is no defence: when
 * one allocation passes it (an array or a map that doubles), the platform ends the whole process.
 * So it stands where the watchdog, which looks every few milliseconds, always comes first.
 */
const headroomMebibytes = 4_096;

function workerOptions(workerData: WorkerStart, { workerHeapMebibytesMax }: Budget) {
  return {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: workerHeapMebibytesMax + headroomMebibytes },
    // Nothing of the service's environment is for a module, should it ever get out of its sandbox.
    env: {},
    execArgv: [],
  };
}

async function linkOutcome(
  link: WorkerSeatOptions['link'],
  bytes: Uint8Array,
): Promise<LinkOutcome> {
  try {
    return { kind: 'linked', program: await link(bytes) };
  } catch (error) {
    if (error instanceof ProgramError) return { kind: 'failed', message: error.message };
    return { kind: 'failed', message: `the program could not be linked: ${String(error)}` };
  }
}

function describeDeath(
  error: unknown,
  { workerHeapMebibytesMax }: Budget,
): Pick<PlainEnd, 'cause' | 'message'> {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') {
    const text = `far more than ${workerHeapMebibytesMax} MiB of heap`;
    return { cause: 'died', message: `The module used ${text} and was stopped.` };
  }
  return { cause: 'died', message: error instanceof Error ? error.message : String(error) };
}
