import type {
  EndedCall,
  LaneDesk,
  LaneRequest,
  LostCode,
} from '../../database/procedures/lane-desk.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import type { CancelReason } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import type { LaneCall } from '../../module/lane.ts';
import { Lane, type LaneOptions } from './lane.ts';

interface QueuedCall {
  readonly call: LaneCall;
  readonly source: ProgramSource;
}

/**
 * The lanes of one database: threads that run its procedures. Each computes for one call at a time,
 * while others of its calls wait.
 */
export class LanePool implements LaneDesk {
  readonly #options: LaneOptions;
  readonly #lanes = new Set<Lane>();
  #queue: QueuedCall[] = [];
  /** Programs that were replaced while they had calls. */
  readonly #replaced = new WeakSet<ProgramSource>();
  #ended: EndedCall[] = [];
  #wake: () => void = () => undefined;
  #isStopping = false;
  #isWanted = false;
  #busyCount = 0;
  #whenEmpty: () => void = () => undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  start(call: LaneCall, source: ProgramSource): 'started' | 'queued' | 'busy' {
    if (this.#isStopping || this.#queue.length >= limits.proceduresMax) return 'busy';
    const isPlaced = this.#place({ call, source });
    if (!isPlaced) this.#queue.push({ call, source });
    this.#count();
    return isPlaced ? 'started' : 'queued';
  }

  cancel(number: number, why: CancelReason): void {
    const isMeant = ({ call }: QueuedCall) => call.number === number;
    if (!this.#queue.some(isMeant)) {
      for (const lane of this.#lanes) lane.abort(number, cancelTexts[why].waiting);
      return;
    }
    this.#queue = this.#queue.filter((queued) => !isMeant(queued));
    this.#lose(number, 'procedure.stopped', cancelTexts[why].queued);
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
    if (last?.isComputing === true) last.server.linger();
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
    for (const lane of this.#lanes) lane.abortAll(cancelTexts.stop.waiting);
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

  /**
   * Gives the call to a lane: one that has nothing to do, else one whose calls all wait, else a new
   * one, if there may be one more.
   */
  #place({ call, source }: QueuedCall): boolean {
    const isFull = this.#lanes.size >= limits.databaseLanesMax;
    let best: Lane | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes) {
      if (lane.source !== source || !lane.takesCalls) continue;
      const isComputing = lane.isComputing && !lane.isIdle;
      if (isComputing && !isFull) continue;
      // The one with the fewest calls, and any that waits before one that computes.
      const rank = lane.callCount + (isComputing ? limits.laneCallsMax : 0);
      if (rank >= bestRank) continue;
      best = lane;
      bestRank = rank;
    }
    if (best !== undefined) {
      this.#run(best, call);
      return true;
    }
    if (isFull) {
      for (const lane of this.#lanes) {
        if (!lane.isIdle) continue;
        lane.close();
        break;
      }
      return false;
    }
    this.#run(this.#add(source), call);
    return true;
  }

  /** Its lane counts as busy before it can do anything, such as end the process. */
  #run(lane: Lane, call: LaneCall): void {
    if (lane.callCount === 0) this.#setBusy(this.#busyCount + 1);
    lane.run(call);
  }

  #setBusy(count: number): void {
    if (count === this.#busyCount) return;
    this.#busyCount = count;
    this.#options.busy?.(count);
  }

  #add(source: ProgramSource): Lane {
    const lane: Lane = new Lane(source, this.#options, {
      asked: () => this.#wake(),
      ended: (ended) => {
        this.#ended.push(ended);
        this.#wake();
      },
      rests: () => {
        if (this.#isWanted && lane.isTimeOver) lane.retire();
        this.#next();
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
    this.#count();
  }

  #count(): void {
    const { time } = this.#options;
    let [busy, begun, waiting, requests] = [0, 0, 0, 0];
    for (const { callCount, waitingCount, requestCount } of this.#lanes) {
      if (callCount > 0) busy += 1;
      begun += callCount;
      waiting += waitingCount;
      requests += requestCount;
    }
    this.#setBusy(busy);
    time?.counted({ busy: this.#queue.length + begun - waiting + requests, waiting });
  }

  #closeIdle(): void {
    for (const lane of this.#lanes) if (lane.isIdle) lane.close();
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

const cancelTexts: Record<CancelReason, { readonly waiting: string; readonly queued: string }> = {
  gone: {
    waiting: 'the caller is gone',
    queued: 'The caller is gone; the procedure has not run.',
  },
  stop: { waiting: 'the database stops', queued: stoppedText },
};
