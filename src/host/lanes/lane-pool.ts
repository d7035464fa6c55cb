import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { assert } from '../../assert.ts';
import type {
  EndedCall,
  LaneDesk,
  LaneRequest,
  LostCode,
} from '../../database/procedures/lane-desk.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import { limits } from '../../limits.ts';
import type { LaneCall } from '../../module/lane.ts';
import type { ModuleLogLine } from '../../module/log-line.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { FromLane, LaneDeath, LaneProgram, LaneThread, StartLane } from './lane-messages.ts';
import { LaneServer } from './lane-server.ts';
import { LaneWindow } from './window.ts';

export interface LanePoolOptions {
  readonly identity: DatabaseIdentity;
  readonly hardeningFile: string;
  readonly nowMillis: () => number;
  readonly startLane: StartLane;
  /** The program that a call belongs to. */
  readonly programOf: (source: ProgramSource) => LaneProgram;
  readonly report: (line: ModuleLogLine) => void;
}

interface QueuedCall {
  readonly call: LaneCall;
  readonly source: ProgramSource;
}

/** The lanes of one database: threads that run its procedures, one at a time each. */
export class LanePool implements LaneDesk {
  readonly #options: LanePoolOptions;
  readonly #lanes = new Set<Lane>();
  #queue: QueuedCall[] = [];
  /** Programs that were replaced while they had calls. */
  readonly #replaced = new WeakSet<ProgramSource>();
  #ended: EndedCall[] = [];
  #wake: () => void = () => undefined;
  #isStopping = false;
  #isWanted = false;
  #whenEmpty: () => void = () => undefined;

  constructor(options: LanePoolOptions) {
    this.#options = options;
  }

  start(call: LaneCall, source: ProgramSource): 'started' | 'queued' | 'busy' {
    if (this.#isStopping || this.#queue.length >= limits.proceduresMax) return 'busy';
    if (this.#place({ call, source })) return 'started';
    this.#queue.push({ call, source });
    return 'queued';
  }

  cancel(number: number): void {
    const isMeant = ({ call }: QueuedCall) => call.number === number;
    if (!this.#queue.some(isMeant)) return;
    this.#queue = this.#queue.filter((queued) => !isMeant(queued));
    this.#lose(number, 'procedure.stopped', 'The caller is gone; the procedure has not run.');
  }

  takeEnded(): readonly EndedCall[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  takeWanted(): LaneRequest | undefined {
    for (const lane of this.#lanes) {
      const wanted = lane.server.take();
      if (wanted === undefined) continue;
      // The others come first the next time.
      this.#lanes.delete(lane);
      this.#lanes.add(lane);
      return wanted;
    }
    return undefined;
  }

  get hasWork(): boolean {
    if (this.#ended.length > 0) return true;
    for (const lane of this.#lanes) if (lane.server.isAsked) return true;
    return false;
  }

  linger(): void {
    let last: Lane | undefined;
    for (const lane of this.#lanes) last = lane;
    // Those that were served go to the end.
    if (last?.call !== undefined) last.server.linger();
  }

  onWork(wake: () => void): void {
    this.#wake = wake;
  }

  replaced(): void {
    for (const { source } of this.#queue) this.#replaced.add(source);
    for (const lane of this.#lanes) {
      this.#replaced.add(lane.source);
      lane.replaced();
    }
    this.#closeIdle();
  }

  /**
   * While other databases wait for lanes, those of this one end as soon as they have nothing to do,
   * and after the call with which their time is over: who comes later waits behind the others.
   */
  setWanted(isWanted: boolean): void {
    this.#isWanted = isWanted;
    if (isWanted) this.#closeIdle();
  }

  async stop(millis: number): Promise<void> {
    this.#isStopping = true;
    const queued = this.#queue;
    this.#queue = [];
    for (const { call } of queued) this.#lose(call.number, 'procedure.stopped', stoppedText);
    this.#closeIdle();
    if (this.#lanes.size === 0) return;
    const kill = (): void => {
      for (const lane of this.#lanes) lane.end({ cause: 'closed', message: stoppedText });
    };
    const empty = new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
    const timer = setTimeout(kill, millis);
    if (millis === 0) kill();
    await empty;
    clearTimeout(timer);
  }

  /** Gives the call to a lane that is free, or to a new one, if there may be one more. */
  #place(queued: QueuedCall): boolean {
    const idle = [...this.#lanes].filter(({ call }) => call === undefined);
    const fitting = idle.find(({ source }) => source === queued.source);
    if (fitting !== undefined) {
      fitting.run(queued.call);
      return true;
    }
    if (this.#lanes.size >= limits.databaseLanesMax) {
      idle[0]?.close();
      return false;
    }
    this.#add(queued.source).run(queued.call);
    return true;
  }

  #add(source: ProgramSource): Lane {
    const lane: Lane = new Lane(source, this.#options, {
      asked: () => this.#wake(),
      ended: (ended) => {
        this.#ended.push(ended);
        if (this.#isWanted && lane.call === undefined && lane.isTimeOver) lane.close();
        this.#next();
        this.#wake();
      },
      gone: () => this.#gone(lane),
    });
    this.#lanes.add(lane);
    if (this.#replaced.has(source)) lane.replaced();
    return lane;
  }

  #next(): void {
    const [first] = this.#queue;
    if (first !== undefined && this.#place(first)) this.#queue.shift();
    if (this.#isStopping || this.#isWanted) this.#closeIdle();
  }

  #closeIdle(): void {
    for (const lane of this.#lanes) if (lane.call === undefined) lane.close();
  }

  #gone(lane: Lane): void {
    this.#lanes.delete(lane);
    if (this.#lanes.size === 0) this.#whenEmpty();
    this.#next();
    this.#wake();
  }

  #lose(call: number, code: LostCode, text: string): void {
    this.#ended.push({ call, end: { kind: 'lost', code, text } });
    this.#wake();
  }
}

const stoppedText = 'The procedure was stopped, because its database stops.';

interface LaneEvents {
  /** It asks something of the database. */
  asked(): void;
  ended(call: EndedCall): void;
  gone(): void;
}

/** One lane, as its database knows it. */
class Lane {
  readonly source: ProgramSource;
  readonly server: LaneServer;
  readonly #options: LanePoolOptions;
  readonly #events: LaneEvents;
  readonly #window = new LaneWindow();
  readonly #port: MessagePort;
  readonly #thread: LaneThread;
  #call: number | undefined;
  /** When it was first heard of: its thread may have to wait before it begins. */
  #heardAt: number | undefined;
  /** Ends a call that takes too long, or the lane when it has been idle for long enough. */
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;
  #failure: string | undefined;

  constructor(source: ProgramSource, options: LanePoolOptions, events: LaneEvents) {
    const { identity, hardeningFile, nowMillis, programOf, startLane } = options;
    this.source = source;
    this.#options = options;
    this.#events = events;
    this.server = new LaneServer(this.#window, nowMillis, () => this.end(lateDeath));
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.on('message', (message: FromLane) => this.#receive(message));
    const program = programOf(source);
    const start = { identity, program, window: this.#window.buffer, hardeningFile };
    this.#thread = startLane(start, port2, (death) => this.#died(death));
  }

  /** The number of the call that it runs. A lane that closes counts as busy. */
  get call(): number | undefined {
    return this.#isClosing ? -1 : this.#call;
  }

  /** True: it has run for so long that others may want its place. */
  get isTimeOver(): boolean {
    const heardAt = this.#heardAt ?? Number.POSITIVE_INFINITY;
    return this.#options.nowMillis() - heardAt >= limits.laneKeptMillis;
  }

  run(call: LaneCall): void {
    assert(this.call === undefined, 'a lane runs one call at a time');
    this.#call = call.number;
    this.#port.postMessage({ kind: 'start', call });
    this.#setTimer(limits.procedureMillisMax, () => this.end(overTime));
  }

  replaced(): void {
    this.#thread.replaced();
  }

  /** Lets it end, since it has nothing to do. */
  close(): void {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    this.#port.postMessage({ kind: 'close' });
  }

  end(death: LaneDeath): void {
    this.#isClosing = true;
    this.#thread.end(death);
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
      case 'ended': {
        if (message.call !== this.#call) return;
        this.#call = undefined;
        this.server.reset();
        this.#setTimer(limits.laneIdleMillisMax, () => this.close());
        this.#events.ended({ call: message.call, end: message.end });
      }
    }
  }

  #died({ cause, message }: LaneDeath): void {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    this.#port.close();
    const call = this.#call;
    this.#call = undefined;
    if (call !== undefined) {
      const code = cause === 'budget' ? 'procedure.overBudget' : 'procedure.stopped';
      const text = this.#failure ?? message;
      this.#events.ended({ call, end: { kind: 'lost', code, text } });
    }
    this.#events.gone();
  }

  #setTimer(millis: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(then, millis).unref();
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
