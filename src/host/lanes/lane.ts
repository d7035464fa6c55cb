import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { assert, unreachable } from '../../assert.ts';
import type { EndedCall } from '../../database/procedures/lane-desk.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import { limits } from '../../limits.ts';
import type { LaneCall } from '../../module/lane.ts';
import type { ModuleLogLine } from '../../module/log-line.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type {
  FromLane,
  LaneDeath,
  LaneProgram,
  LaneThread,
  StartLane,
  ToLane,
} from './lane-messages.ts';
import { LaneServer } from './lane-server.ts';
import { LaneSleeps, type LaneTime } from './lane-sleeps.ts';
import { LaneWindow } from './window.ts';

export interface LaneOptions {
  readonly identity: DatabaseIdentity;
  /** Counts the resets of the database. */
  readonly generation: number;
  readonly hardeningFile: string;
  readonly nowMillis: () => number;
  readonly startLane: StartLane;
  /** The program that a call belongs to. */
  readonly programOf: (source: ProgramSource) => LaneProgram;
  readonly report: (line: ModuleLogLine) => void;
  /** Called with the number of lanes that have calls, when it changes. */
  readonly busy?: (lanes: number) => void;
  /** Absent: that of the machine. */
  readonly time?: LaneTime | undefined;
}

interface LaneEvents {
  /** It asks something of the database. */
  asked(): void;
  ended(call: EndedCall): void;
  /** It may be able to take a call now. */
  rests(): void;
  gone(): void;
}

/**
 * One lane, as its database knows it. It is given a call when the one before has ended or waits; a
 * call that waits goes on by itself, between others.
 */
export class Lane {
  readonly source: ProgramSource;
  readonly server: LaneServer;
  readonly #options: LaneOptions;
  readonly #events: LaneEvents;
  readonly #window = new LaneWindow();
  readonly #port: MessagePort;
  readonly #thread: LaneThread;
  readonly #sleeps: LaneSleeps | undefined;
  /** Calls that have not ended, each with the timer that ends it when it takes too long. */
  readonly #calls = new Map<number, NodeJS.Timeout | undefined>();
  /** Calls that are over here, and that the lane has not given up yet. */
  readonly #dropped = new Set<number>();
  /** The call that it was given last, until that ends or waits. */
  #started: number | undefined;
  #requestCount = 0;
  /** When it was first heard of: its thread may have to wait before it begins. */
  #heardAt: number | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #isRetired = false;
  #isClosing = false;
  #failure: string | undefined;

  constructor(source: ProgramSource, options: LaneOptions, events: LaneEvents) {
    const { identity, generation, hardeningFile, nowMillis } = options;
    const { programOf, startLane, time } = options;
    this.source = source;
    this.#options = options;
    this.#events = events;
    this.server = new LaneServer(this.#window, nowMillis, () => this.end(lateDeath));
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.on('message', (message: FromLane) => this.#receive(message));
    const program = programOf(source);
    const window = this.#window.buffer;
    const isTimeGiven = time !== undefined;
    const start = { identity, generation, program, window, hardeningFile, isTimeGiven };
    this.#sleeps = time && new LaneSleeps(time, (message) => this.#tell(message));
    this.#thread = startLane(start, port2, (death) => this.#died(death));
  }

  get isIdle(): boolean {
    return !this.#isClosing && this.callCount === 0;
  }

  get callCount(): number {
    return this.#calls.size + this.#dropped.size;
  }

  /** True while it runs the program, and does not wait with all of its calls. */
  get isComputing(): boolean {
    return !this.#isClosing && (this.#started !== undefined || this.#window.isComputing);
  }

  /** Calls that have begun and wait for something. */
  get waitingCount(): number {
    return this.#calls.size - (this.#started === undefined ? 0 : 1);
  }

  /** Where time is given: requests of its calls that are under way. */
  get requestCount(): number {
    return this.#requestCount;
  }

  /** True if it can be given a call. */
  get takesCalls(): boolean {
    const isFree = this.#started === undefined && this.callCount < limits.laneCallsMax;
    return isFree && !this.#isRetired && !this.#isClosing;
  }

  /** True: it has run for so long that others may want its place. */
  get isTimeOver(): boolean {
    const heardAt = this.#heardAt ?? Number.POSITIVE_INFINITY;
    return this.#options.nowMillis() - heardAt >= limits.laneKeptMillis;
  }

  run(call: LaneCall): void {
    assert(this.takesCalls, 'a lane begins one call at a time');
    const { number } = call;
    clearTimeout(this.#idleTimer);
    this.#started = number;
    // Nobody waits for what a schedule runs.
    const timer = call.isScheduled
      ? undefined
      : setTimeout(() => this.#overTime(number), limits.procedureMillisMax).unref();
    this.#calls.set(number, timer);
    this.#tell({ kind: 'start', call });
  }

  /** Nobody waits for this call any more. */
  abort(call: number, reason: string): void {
    if (this.#calls.has(call)) this.#tell({ kind: 'abort', call, reason });
  }

  abortAll(reason: string): void {
    for (const call of this.#calls.keys()) this.abort(call, reason);
  }

  replaced(): void {
    this.#thread.replaced();
  }

  /** Gives it no more calls: it ends with the last that it has. */
  retire(): void {
    this.#isRetired = true;
    if (this.isIdle) this.close();
  }

  /** Lets it end, since it has nothing to do. */
  close(): void {
    this.#isClosing = true;
    clearTimeout(this.#idleTimer);
    this.#tell({ kind: 'close' });
  }

  end(death: LaneDeath): void {
    this.#isClosing = true;
    this.#thread.end(death);
  }

  #tell(message: ToLane): void {
    this.#port.postMessage(message);
  }

  #receive(message: FromLane): void {
    this.#heardAt ??= this.#options.nowMillis();
    switch (message.kind) {
      case 'asked':
        this.#events.asked();
        return;
      case 'line':
        this.#options.report(message.line);
        return;
      case 'failed':
        this.#failure = message.message;
        return;
      case 'over':
        this.end(overMemory[message.what]);
        return;
      case 'waiting':
        this.#begun(message.call);
        this.#rests();
        return;
      case 'ended':
        this.#begun(message.call);
        if (this.#forget(message.call)) {
          this.#events.ended({ call: message.call, end: message.end });
        }
        this.#rests();
        return;
      case 'dropped':
        this.#dropped.delete(message.call);
        this.#rests();
        return;
      case 'requests':
        this.#requestCount = message.count;
        this.#events.rests();
        return;
      case 'sleep':
        this.#sleeps?.begin(message.sleep, message.micros);
        return;
      case 'awake':
      case 'slept':
        this.#sleeps?.end(message.sleep);
        return;
      default:
        unreachable(message);
    }
  }

  /** It has ended, or waits. */
  #begun(call: number): void {
    if (this.#started === call) this.#started = undefined;
  }

  #forget(call: number): boolean {
    clearTimeout(this.#calls.get(call));
    return this.#calls.delete(call);
  }

  #rests(): void {
    if (this.isIdle) {
      this.server.reset();
      if (this.#isRetired) this.close();
      else {
        clearTimeout(this.#idleTimer);
        this.#idleTimer = setTimeout(() => this.close(), limits.laneIdleMillisMax).unref();
      }
    }
    this.#events.rests();
  }

  /** A call that computes is ended with its lane; one that waits, alone. */
  #overTime(call: number): void {
    if (this.#started === call || this.#window.isComputingFor(call)) {
      this.end(overTime);
      return;
    }
    this.#forget(call);
    this.#dropped.add(call);
    this.#tell({ kind: 'drop', call });
    const { message: text } = overTime;
    this.#events.ended({ call, end: { kind: 'lost', code: 'procedure.overBudget', text } });
  }

  #died({ cause, message }: LaneDeath): void {
    const lost = [...this.#calls.keys()];
    const guilty = lost.filter(
      (call) => call === this.#started || this.#window.isComputingFor(call),
    );
    this.#isClosing = true;
    clearTimeout(this.#idleTimer);
    this.#port.close();
    this.#sleeps?.endAll();
    const text = this.#failure ?? message;
    for (const call of lost) {
      this.#forget(call);
      // Where it is not known which one it was, it was all of them.
      const isGuilty = cause === 'closed' || guilty.length === 0 || guilty.includes(call);
      const code = isGuilty && cause === 'budget' ? 'procedure.overBudget' : 'procedure.stopped';
      const said = isGuilty ? text : `${besideText} ${text}`;
      this.#events.ended({ call, end: { kind: 'lost', code, text: said } });
    }
    this.#events.gone();
  }
}

const overTime: LaneDeath = {
  cause: 'budget',
  message: `The procedure ran longer than ${limits.procedureMillisMax / 1000} s and was stopped.`,
};

/** The database says more about it. */
const lateDeath: LaneDeath = {
  cause: 'budget',
  message: `A transaction was open for longer than ${limits.procedureTransactionMillis} ms.`,
};

const overMemory: Readonly<Record<'heap' | 'buffers', LaneDeath>> = {
  heap: {
    cause: 'budget',
    message: 'The procedures of a lane kept more memory in the heap than a module may.',
  },
  buffers: {
    cause: 'budget',
    message: 'The procedures of a lane kept more memory in buffers than a module may.',
  },
};

const besideText =
  'The procedure was waiting on a lane that was ended because of another call; call it again.';
