import { unreachable } from '../../assert.ts';
import type { OwnCommit } from '../../database/live/own-commit.ts';
import type { RefusalBody } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import type { AttachedAnswer, AttachedEnd, Attachment } from '../replication/leader-line.ts';
import { type FarCall, FarMatches, type FarPlace } from './far-matches.ts';
import type { FarSurroundings } from './far-surroundings.ts';
import type { LiveCall, LiveEvent, LiveProcedure, SetUpdate } from './live-connection.ts';

/** The connection's events; its feed is the one implementation. */
export interface FarEvents {
  /** The leader has let it in, and this host shows what came of that. */
  letIn(): void;
  /** Adds an event; one that answers a request has it settled. */
  add(event: LiveEvent): void;
  /** Adds it in front of a place that is kept. */
  addBefore(place: FarPlace, event: LiveEvent): void;
  keepPlace(place: FarPlace): void;
  fillPlace(place: FarPlace, event: LiveEvent | undefined): void;
  /** The leader has ended it. */
  ended(end: AttachedEnd): void;
  /** The connection can take more requests. */
  goOn(): void;
}

/**
 * The calls of a connection that reads this host's copy, while another host leads. The leader
 * answers them on a line of its own; here each outcome gets the place that it has at the leader:
 *
 * ```
 *  answer, commit shown later     the outcome waits for the commit
 *  commit shown, answer later     the commit's place among the events is kept for the outcome
 *  leader lost, commit shown      the outcome is that of the commit, if the reducer returns nothing
 *  leader lost, no commit         unknown, once the copy shows all that this leader has written
 *  leader lives, no commit        run by this host, if that leads next: nothing of it was done
 * ```
 *
 * Outcomes are sent in the order of the calls.
 */
export class FarCalls {
  readonly #around: FarSurroundings;
  readonly #events: FarEvents;
  readonly #attachment: Attachment;
  /** Those whose outcomes were not sent, by their requests, in the order of the calls. */
  readonly #calls = new Map<object, FarCall>();
  readonly #matches = new FarMatches();
  /** Those whose outcomes were not sent; they take their time. */
  readonly #procedures = new Map<object, LiveProcedure>();
  /** Sent once the copy shows their commit. */
  #later: { readonly offset: number; readonly tell: () => void }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** Has the connection let in by the leader. */
  constructor(around: FarSurroundings, events: FarEvents) {
    this.#around = around;
    this.#events = events;
    this.#attachment = around.line.attach(around.client, {
      connected: (offset) => {
        if (!this.#isOver) this.#when(offset, () => events.letIn());
      },
      answered: (request, answer) => {
        if (!this.#isOver) this.#answered(request, answer);
      },
      ended: (end) => {
        if (!this.#isOver) events.ended(end);
      },
    });
  }

  /** Calls whose outcomes were not sent. */
  get openCalls(): number {
    return this.#calls.size;
  }

  send(request: LiveCall | LiveProcedure): void {
    if (request.kind === 'call') this.#note(request);
    else this.#procedures.set(request, request);
    this.#attachment.send(request);
  }

  /**
   * The copy shows a commit that this connection has asked for, which changed `sets` of its own.
   * Outcomes that waited for it are sent.
   */
  committed(commit: OwnCommit, sets: readonly SetUpdate[]): void {
    const place: FarPlace = { kind: 'far', commit, sets };
    const call = this.#matches.callOf(commit);
    if (call === undefined) {
      this.#addUpdate(place);
      return;
    }
    this.#matches.keep(place, call);
    this.#events.keepPlace(place);
  }

  /** The client's number of the call that may have made a commit. */
  requestIdOf(commit: OwnCommit): number {
    return this.#matches.callOf(commit)?.request.requestId ?? 0;
  }

  /** The copy shows more than before. */
  reached(): void {
    this.#settle();
    const shown = this.#around.shownOffset();
    const due = this.#later.filter(({ offset }) => offset <= shown);
    if (due.length === 0) return;
    this.#later = this.#later.filter(({ offset }) => offset > shown);
    for (const { tell } of due) tell();
  }

  /** True while something waits for a commit, or for a leader's last one. */
  get isWaiting(): boolean {
    return this.#later.length > 0 || this.#calls.size > 0;
  }

  /**
   * This host leads, and its copy had everything that came before: what no leader has had is
   * returned, in order, and is this host's to run. Nothing is sent to the leader any more.
   */
  release(): readonly (LiveCall | LiveProcedure)[] {
    const { leaderLives } = this.#attachment;
    const unsent = this.#attachment.release().flatMap((one) => this.#requestsOf(one));
    const isUnsent = new Set<LiveCall | LiveProcedure>(unsent);
    for (const { request } of this.#calls.values())
      if (isUnsent.has(request)) this.#remove(request);
    for (const call of this.#calls.values()) call.answer ??= { ...lostAnswer, leaderLives };
    const again = this.#undone().map(({ request }) => request);
    for (const request of again) this.#remove(request);
    this.#settle(true);
    for (const request of this.#procedures.values()) {
      if (!isUnsent.has(request)) this.#events.add({ kind: 'refused', request, body: lostBody });
    }
    this.#stop();
    return [...again, ...unsent];
  }

  #remove(request: object): void {
    const call = this.#calls.get(request);
    this.#calls.delete(request);
    if (call !== undefined) this.#matches.remove(call);
  }

  /**
   * When all of the log is shown: the last calls that leaders which live have left undone. It has
   * no commit of theirs, and none of a call behind them. In order.
   */
  #undone(): readonly FarCall[] {
    let undone: FarCall[] = [];
    for (const call of this.#calls.values()) {
      const { answer } = call;
      if (answer === undefined || answer.kind === 'refused') continue;
      const isUndone = answer.kind === 'unknown' && answer.leaderLives === true;
      if (isUndone && this.#matches.lostPlace(call) === undefined) undone.push(call);
      else undone = [];
    }
    return undone;
  }

  /** The client has left. Calls that were sent still run. */
  close(): void {
    if (this.#isOver) return;
    this.#stop();
    this.#attachment.close();
  }

  #stop(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#calls.clear();
    this.#matches.clear();
    this.#procedures.clear();
    this.#later = [];
  }

  #requestsOf(request: object): readonly (LiveCall | LiveProcedure)[] {
    const known = this.#calls.get(request)?.request ?? this.#procedures.get(request);
    return known === undefined ? [] : [known];
  }

  #note(request: LiveCall): void {
    const term = this.#around.shownTerm() ?? 0;
    const call: FarCall = { request, term, answer: undefined, lostAt: 0 };
    this.#calls.set(request, call);
    this.#matches.add(call);
  }

  #answered(request: object, answer: AttachedAnswer): void {
    const procedure = this.#procedures.get(request);
    if (procedure !== undefined) {
      this.#procedureAnswered(procedure, answer);
      return;
    }
    const call = this.#calls.get(request);
    if (call === undefined || call.answer !== undefined) return;
    call.answer = answer;
    if (answer.kind === 'unknown') {
      call.lostAt = performance.now();
      this.#timer ??= setInterval(() => this.#settle(), limits.farCallLookMillis).unref();
    } else {
      const { outcome } = answer.kind === 'called' ? answer : {};
      this.#matches.answered(call, outcome?.kind === 'committed' ? outcome.offset : undefined);
    }
    const offset = offsetOf(answer);
    if (offset > this.#around.shownOffset()) this.#around.reach(offset);
    this.#settle();
  }

  #procedureAnswered(request: LiveProcedure, answer: AttachedAnswer): void {
    const told: LiveEvent | undefined =
      answer.kind === 'procedure'
        ? { kind: 'procedure', request, outcome: answer.outcome }
        : 'body' in answer
          ? { kind: 'refused', request, body: answer.body }
          : undefined;
    if (told === undefined) return;
    this.#when(offsetOf(answer), () => {
      this.#procedures.delete(request);
      this.#events.add(told);
    });
  }

  /** At once, if the copy shows that commit. */
  #when(offset: number, tell: () => void): void {
    if (offset <= this.#around.shownOffset()) {
      tell();
      return;
    }
    this.#later.push({ offset, tell });
    this.#around.reach(offset);
  }

  /** Sends the outcomes that are ready, and gives up places of which no call is left. */
  #settle(isAll = false): void {
    const before = this.#calls.size;
    for (const [request, call] of this.#calls) {
      if (!this.#isSent(call, isAll)) break;
      this.#calls.delete(request);
      this.#matches.remove(call);
    }
    for (const place of this.#matches.takeLeft()) this.#fillAsUpdate(place);
    this.#stopLooking();
    if (before > 0 && this.#calls.size === 0) this.#events.goOn();
  }

  /** Nothing is looked at again and again if no call is lost. */
  #stopLooking(): void {
    if (this.#timer === undefined) return;
    for (const { answer } of this.#calls.values()) if (answer?.kind === 'unknown') return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** True if its outcome was sent: it is the first one. */
  #isSent(call: FarCall, isAll: boolean): boolean {
    const { answer } = call;
    if (answer === undefined) return false;
    switch (answer.kind) {
      case 'refused':
        this.#addInOrder({ kind: 'refused', request: call.request, body: answer.body });
        return true;
      case 'unknown':
        return this.#isLostSent(call, answer.body, isAll);
      case 'called':
        return this.#isOutcomeSent(call, answer, isAll);
      case 'procedure':
        return true;
      default:
        return unreachable(answer);
    }
  }

  #isOutcomeSent(
    call: FarCall,
    answer: Extract<AttachedAnswer, { kind: 'called' }>,
    isAll: boolean,
  ): boolean {
    const { request } = call;
    const { outcome, timestampMicros } = answer;
    const offset = offsetOf(answer);
    const place = outcome.kind === 'committed' ? this.#matches.placeAt(offset) : undefined;
    const told = { kind: 'called', request, outcome, timestampMicros } as const;
    if (place !== undefined && this.#matches.isOf(call, place)) {
      this.#tellAt(place, told);
      return true;
    }
    if (!isAll && offset > this.#around.shownOffset()) return false;
    this.#addInOrder({ ...told, sets: [] }, offset);
    return true;
  }

  /** The outcome of a commit: its place is the first one that is left. */
  #tellAt(place: FarPlace, told: Omit<Extract<LiveEvent, { kind: 'called' }>, 'sets'>): void {
    for (const earlier of this.#matches.takeBefore(place)) this.#fillAsUpdate(earlier);
    this.#matches.take(place);
    if (told.request.isCaller) {
      this.#events.fillPlace(place, { ...told, sets: place.sets });
      return;
    }
    const update = updateOf(place, told.request.requestId);
    if (update !== undefined) this.#events.addBefore(place, update);
    this.#events.fillPlace(place, { ...told, sets: [] });
  }

  /** Nobody knows what became of it, until the copy shows it, or all of what its leader wrote. */
  #isLostSent(call: FarCall, body: RefusalBody, isAll: boolean): boolean {
    const { request, term, lostAt } = call;
    const place = this.#matches.lostPlace(call);
    if (place !== undefined && !this.#around.returnsValue(request.reducer)) {
      const { offset, timestampMicros } = place.commit;
      const outcome = { kind: 'committed', offset, micros: 0 } as const;
      this.#tellAt(place, { kind: 'called', request, outcome, timestampMicros });
      return true;
    }
    const shownTerm = this.#around.shownTerm();
    const isLate = performance.now() - lostAt >= limits.farCallMillisMax;
    const isShown = shownTerm !== undefined && shownTerm > term;
    if (place === undefined && !isAll && !isShown && !isLate) return false;
    if (place !== undefined) this.#giveUp(place);
    this.#addInOrder({ kind: 'refused', request, body });
    return true;
  }

  /** Of a call without a commit of its own: in front of later ones. */
  #addInOrder(event: LiveEvent, offset = 0): void {
    const place = this.#matches.placeAfter(offset);
    if (place === undefined) this.#events.add(event);
    else this.#events.addBefore(place, event);
  }

  #giveUp(place: FarPlace): void {
    this.#matches.take(place);
    this.#fillAsUpdate(place);
  }

  #fillAsUpdate(place: FarPlace): void {
    this.#events.fillPlace(place, updateOf(place, 0));
  }

  #addUpdate(place: FarPlace): void {
    const update = updateOf(place, 0);
    if (update !== undefined) this.#events.add(update);
  }
}

/** As others get it; `undefined`: it changed nothing that the connection watches. */
function updateOf({ commit, sets }: FarPlace, requestId: number): LiveEvent | undefined {
  if (sets.length === 0) return undefined;
  return { kind: 'updated', requestId, offset: commit.offset, sets };
}

/** What the copy has to show before an answer is sent; 0: nothing. */
function offsetOf(answer: AttachedAnswer): number {
  switch (answer.kind) {
    case 'called':
      return answer.outcome.kind === 'committed' ? answer.outcome.offset : (answer.offset ?? 0);
    case 'procedure':
      return answer.outcome.committed?.offset ?? 0;
    case 'refused':
    case 'unknown':
      return 0;
    default:
      return unreachable(answer);
  }
}

const lostBody: RefusalBody = {
  code: 'database.lost',
  message: 'The host that led the database was lost; it is not known whether the call happened.',
};

const lostAnswer = { kind: 'unknown', body: lostBody } as const;
