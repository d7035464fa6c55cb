import { cancelledRefusal, Refusal, stoppedRefusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { ProgramError, programTooLargeText } from '../../module/runner.ts';
import type { Report } from '../../node/report-line.ts';
import {
  type LinkAnswer,
  type LinkBounds,
  type LinkerEnd,
  LinkerProcess,
  type LinkPurpose,
} from './linker-process.ts';
import { type RecentLinks, recentLinks } from './recent-links.ts';

export interface LinkerOptions {
  /** Resolves with the file of `linker-main`. */
  readonly entry: () => Promise<string>;
  readonly report: Report;
  /**
   * True: what is published is linked before everything else, by a process that does not end while
   * it has nothing to do.
   */
  readonly isPrompt?: boolean;
  /** Replaces the cache that all linkers share, for tests. */
  readonly recent?: RecentLinks;
  /** Replaces the bounds of `limits.ts`, for tests. */
  readonly bounds?: Partial<LinkerBounds>;
}

export interface LinkerBounds {
  readonly small: LinkBounds;
  readonly large: LinkBounds;
  readonly queueMax: number;
  readonly queueBytesMax: number;
  readonly idleMillisMax: number;
}

export interface LinkRequest {
  readonly bytes: Uint8Array;
  /** Whose program it is, for the operator. */
  readonly database: string;
  /** With whom it takes turns: those of one owner wait for one another, others do not. */
  readonly owner: string;
  /**
   * True for a database that reopens: it cannot be turned away, so it is linked first, and never
   * rejected because the queue is full. Few of them start at once. Its callers wait for it, so its
   * linker ranks like a database, and a small one waits for no program that is published.
   */
  readonly isReopening: boolean;
  /** Aborts when nobody waits for it any more: it gives up its place in the queue. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiting extends LinkRequest {
  readonly resolve: (linked: Uint8Array) => void;
  readonly reject: (error: Error) => void;
}

/** Of one owner: how many programs are at work, and when its last one began, counted in turns. */
interface Turns {
  readonly busy: number;
  readonly last: number;
}

const defaultBounds: LinkerBounds = {
  small: { mebibytesMax: limits.smallLinkMebibytesMax, millisMax: limits.smallLinkMillisMax },
  large: { mebibytesMax: limits.linkMebibytesMax, millisMax: limits.linkMillisMax },
  queueMax: limits.linkQueueMax,
  queueBytesMax: limits.linkQueueBytesMax,
  idleMillisMax: limits.linkerIdleMillisMax,
};

/**
 * Links programs in processes that can be lost (`linker-process.ts`), at most two at once, and a
 * third for a database that reopens; the others wait. Owners take turns: the next program is of the
 * one with the fewest at work, then of the one whose last turn is longest ago. Programs above the
 * small size use at most one process, so that small ones never wait for more than small ones.
 *
 * A process that linked a small program waits for the next one of its purpose, which says how it
 * ranks: starting one takes longer than linking.
 * One that linked a large program, reached a limit or ended is not used again. If a process ended
 * through no fault of its program, another one tries, once. Recently linked small programs are not
 * linked again.
 */
export class Linker {
  readonly #options: LinkerOptions;
  readonly #bounds: LinkerBounds;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #busy = 0;
  #busyLarge = 0;
  #busyReopening = 0;
  /** Owners with programs that wait or are at work. */
  readonly #owners = new Map<string, Turns>();
  #turnCount = 0;
  readonly #recent: RecentLinks;
  readonly #processes = new Set<LinkerProcess>();
  /** Processes that wait for a small program, and the timer that ends each. */
  readonly #idle = new Map<LinkerProcess, NodeJS.Timeout>();
  #isClosed = false;

  constructor(options: LinkerOptions) {
    this.#options = options;
    const bounds = { ...defaultBounds, ...options.bounds };
    this.#bounds = options.isPrompt === true ? { ...bounds, small: bounds.large } : bounds;
    this.#recent = options.recent ?? recentLinks;
  }

  /** Process ids, for tests. */
  get processIds(): readonly number[] {
    return [...this.#processes].flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  }

  /**
   * Returns a linked program (see `linked-file.ts`). Rejects with `ProgramError` for what is wrong
   * with the program, and with `Refusal` `database.overloaded` when too many wait.
   */
  link(request: LinkRequest): Promise<Uint8Array> {
    if (this.#isClosed) return Promise.reject(stoppedRefusal());
    // No published program is too large, but a process of a database can ask for anything.
    if (request.bytes.length > limits.programBytesMax) {
      return Promise.reject(new ProgramError(programTooLargeText));
    }
    const recent = this.#isSmall(request.bytes) ? this.#recent.find(request.bytes) : undefined;
    if (recent !== undefined) return Promise.resolve(recent);
    if (request.signal?.aborted === true) return Promise.reject(cancelledRefusal());
    const mustWait = this.#waiting.length > 0 || !this.#hasRoom(request);
    const mayWait = request.isReopening || !mustWait || this.#makeRoom(request);
    if (!mayWait) return Promise.reject(fullRefusal());
    return new Promise((resolve, reject) => {
      const waiting = { ...request, resolve, reject };
      this.#waiting.push(waiting);
      this.#waitingBytes += request.bytes.length;
      const leave = () => this.#refuse(waiting, cancelledRefusal());
      request.signal?.addEventListener('abort', leave, { once: true });
      this.#next();
    });
  }

  /** Whether the request can wait: where the queue is full, an owner with more in it gives way. */
  #makeRoom({ owner, bytes }: LinkRequest): boolean {
    const { queueMax, queueBytesMax } = this.#bounds;
    for (;;) {
      const isLong = this.#waiting.length >= queueMax;
      if (!isLong && this.#waitingBytes + bytes.length <= queueBytesMax) return true;
      const weightOf = (one: Pick<LinkRequest, 'bytes'>) => (isLong ? 1 : one.bytes.length);
      const held = new Map([[owner, weightOf({ bytes })]]);
      const others = this.#waiting.filter((one) => !one.isReopening);
      for (const one of others) held.set(one.owner, (held.get(one.owner) ?? 0) + weightOf(one));
      const most = Math.max(...held.values());
      const last = others.findLast((one) => held.get(one.owner) === most);
      if (last === undefined || held.get(owner) === most) return false;
      this.#refuse(last, fullRefusal());
    }
  }

  /** Takes a program from the queue, if it is still there. */
  #refuse(waiting: Waiting, error: Error): void {
    if (!this.#take(waiting)) return;
    waiting.reject(error);
    this.#forget(waiting);
  }

  #take(waiting: Waiting): boolean {
    if (!this.#waiting.includes(waiting)) return false;
    this.#waiting = this.#waiting.filter((one) => one !== waiting);
    this.#waitingBytes -= waiting.bytes.length;
    return true;
  }

  /** Ends every process; what waits is rejected. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiting) reject(stoppedRefusal());
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const linker of this.#processes) this.#discard(linker);
  }

  /** Starts what can start: databases that reopen first, otherwise by turns. */
  #next(): void {
    for (;;) {
      const ready = this.#waiting.filter((one) => this.#hasRoom(one));
      const [one, ...others] = ready;
      if (one === undefined) return;
      const byTurn = others.reduce((best, next) => (this.#isBefore(next, best) ? next : best), one);
      const first = ready.find(({ isReopening }) => isReopening) ?? byTurn;
      this.#take(first);
      void this.#run(first);
    }
  }

  #isBefore(one: Waiting, other: Waiting): boolean {
    const [own, others] = [this.#turnsOf(one), this.#turnsOf(other)];
    return own.busy === others.busy ? own.last < others.last : own.busy < others.busy;
  }

  #turnsOf({ owner }: LinkRequest): Turns {
    return this.#owners.get(owner) ?? { busy: 0, last: 0 };
  }

  /** Counts a turn that begins or ends. */
  #countTurn(request: LinkRequest, change: 1 | -1): void {
    const { busy, last } = this.#turnsOf(request);
    if (change === 1) this.#turnCount += 1;
    const next = { busy: busy + change, last: change === 1 ? this.#turnCount : last };
    this.#owners.set(request.owner, next);
    this.#forget(request);
  }

  /** Forgets an owner without any program. */
  #forget(request: LinkRequest): void {
    const isLeft = this.#waiting.some(({ owner }) => owner === request.owner);
    if (!isLeft && this.#turnsOf(request).busy === 0) this.#owners.delete(request.owner);
  }

  #hasRoom({ bytes, isReopening }: LinkRequest): boolean {
    // What is published can take long on a busy machine: it comes last.
    const isFirst = isReopening && this.#busyReopening === 0;
    const hasPlace = isFirst || this.#busy < limits.linkersMax;
    return hasPlace && (this.#isSmall(bytes) || this.#busyLarge === 0);
  }

  async #run(request: Waiting): Promise<void> {
    const large = this.#isSmall(request.bytes) ? 0 : 1;
    const reopening = request.isReopening ? 1 : 0;
    this.#busy += 1;
    this.#busyLarge += large;
    this.#busyReopening += reopening;
    this.#countTurn(request, 1);
    try {
      request.resolve(await this.#linkNow(request));
    } catch (error) {
      request.reject(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#busy -= 1;
      this.#busyLarge -= large;
      this.#busyReopening -= reopening;
      this.#countTurn(request, -1);
      this.#next();
    }
  }

  async #linkNow(request: LinkRequest): Promise<Uint8Array> {
    let answer = await this.#try(request);
    if (answer.kind === 'ended' && answer.end.cause === 'killed' && !this.#isClosed) {
      answer = await this.#try(request);
    }
    switch (answer.kind) {
      case 'linked':
        if (this.#isSmall(request.bytes)) this.#recent.keep(request.bytes, answer.bytes);
        return answer.bytes;
      case 'refused':
        throw new ProgramError(answer.message);
      case 'ended':
        if (this.#isClosed) throw stoppedRefusal();
        if (request.signal?.aborted === true) throw cancelledRefusal();
        throw this.#endError(answer.end, request.bytes);
    }
  }

  async #try(request: LinkRequest): Promise<LinkAnswer> {
    const linker = await this.#process(request);
    const { signal } = request;
    const leave = () => this.#discard(linker);
    signal?.addEventListener('abort', leave, { once: true });
    if (signal?.aborted === true) leave();
    const answer = await linker.link(request.bytes);
    signal?.removeEventListener('abort', leave);
    this.#putBack(linker, request.bytes);
    if (answer.kind === 'ended' && answer.end.cause !== 'closed') this.#tell(request, answer.end);
    return answer;
  }

  async #process({ bytes, isReopening }: LinkRequest): Promise<LinkerProcess> {
    const small = this.#isSmall(bytes);
    const published = this.#options.isPrompt === true ? 'prompt' : 'publish';
    const purpose: LinkPurpose = isReopening ? 'opening' : published;
    for (const [linker, timer] of this.#idle) {
      if (!small) break;
      if (linker.purpose !== purpose) continue;
      clearTimeout(timer);
      this.#idle.delete(linker);
      if (!linker.hasEnded) return linker;
      this.#processes.delete(linker);
    }
    const entry = await this.#options.entry();
    const [other] = this.#idle.keys();
    if (other !== undefined && this.#processes.size >= limits.linkersMax) this.#discard(other);
    const bounds = small ? this.#bounds.small : this.#bounds.large;
    const linker = new LinkerProcess(entry, bounds, purpose);
    this.#processes.add(linker);
    if (this.#isClosed) this.#discard(linker);
    return linker;
  }

  #putBack(linker: LinkerProcess, bytes: Uint8Array): void {
    const isWorn = linker.programCount >= limits.linkerProgramsMax;
    if (this.#isClosed || linker.hasEnded || !this.#isSmall(bytes) || isWorn) {
      this.#discard(linker);
      return;
    }
    const isKept = linker.purpose === 'prompt';
    const idleMillisMax = isKept ? limits.promptIdleMillisMax : this.#bounds.idleMillisMax;
    const timer = setTimeout(() => this.#discard(linker), idleMillisMax);
    timer.unref();
    this.#idle.set(linker, timer);
  }

  #isSmall({ length }: Uint8Array): boolean {
    const isPrompt = this.#options.isPrompt === true;
    return length <= (isPrompt ? limits.promptProgramBytesMax : limits.smallProgramBytesMax);
  }

  #discard(linker: LinkerProcess): void {
    clearTimeout(this.#idle.get(linker));
    this.#idle.delete(linker);
    this.#processes.delete(linker);
    linker.kill({ cause: 'closed', detail: 'no longer needed' });
  }

  #tell({ bytes, database }: LinkRequest, { cause, detail }: LinkerEnd): void {
    const message =
      `The linker was ended while it linked a program of ${bytes.length} bytes ` +
      `of database ${database}: ${cause}, ${detail}`;
    this.#options.report({ level: 'warn', message, about: { database } });
  }

  #endError({ cause, detail }: LinkerEnd, bytes: Uint8Array): ProgramError {
    const { small, large } = this.#bounds;
    const { mebibytesMax, millisMax } = this.#isSmall(bytes) ? small : large;
    const advice = 'make it smaller: leave out what it does not use, and keep data in tables';
    switch (cause) {
      case 'memory':
        return new ProgramError(
          `the program needs more than ${mebibytesMax} MiB to be linked; ${advice}`,
        );
      case 'time':
        return new ProgramError(
          `the program needs more than ${millisMax / 1000} s to be linked; ${advice}`,
        );
      case 'stack':
        return new ProgramError(
          'the program nests too deeply to be linked; split its longest expressions and chains',
        );
      case 'killed':
      case 'closed':
        return new ProgramError(
          `the program could not be linked: the linker ended twice (${detail}); try again`,
        );
    }
  }
}

function fullRefusal(): Refusal {
  const message = 'Too many programs wait to be linked. Try again in a moment.';
  return new Refusal({ code: 'database.overloaded', message });
}
