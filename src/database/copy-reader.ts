import { limits } from '../limits.ts';
import { acceptedMicrosOf, decodeInputs } from '../log/decode-record.ts';
import type { CommitRecord, SchemaRecord } from '../log/record.ts';
import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import { CallQueue, type ItemSource } from './call-queue.ts';
import { inUseText } from './connections.ts';
import type { DatabaseCore } from './core.ts';
import type { DatabaseDescription } from './description.ts';
import { followable, followUpdate } from './follow-update.ts';
import type { OwnCommit } from './live/own-commit.ts';
import type { PausedRows } from './live/paused-rows.ts';
import { resume } from './live/resume.ts';
import { answerOnce, subscribe, unsubscribe } from './live/subscribe.ts';
import { LongReads } from './long-reads.ts';
import { connectionClosedText, Refusal, type RefusalBody, type SqlRequest } from './outcome.ts';
import { descriptionOf, type LoadedProgram } from './program.ts';
import type { Progress } from './progress.ts';
import { runQuery } from './run-query.ts';
import { tableFigures } from './table-figures.ts';
import { noTicket, type Ticket } from './ticket.ts';
import type {
  ConnectRequest,
  DatabaseReply,
  TicketedRequest,
  TurnReport,
  TurnResult,
} from './turn.ts';
import { writeNumber } from './write-number.ts';

export interface CopyReaderSurroundings extends CopyReaderEvents {
  readonly nextTurn: () => Promise<void>;
  readonly progress: Progress;
  readonly handOver: (turn: TurnReport) => void;
}

/** What its owner hears of. */
export interface CopyReaderEvents {
  /** It goes on by another program; what that means to connections was handed over. */
  readonly updated: () => void;
  /** It has ended; what it had is refused. */
  readonly ended: (end: CopyReaderEnd) => void;
}

/** Why a reader has ended: `leads`: connections and their query sets go on with the actor. */
export type CopyReaderEnd =
  | { readonly kind: 'replaced' | 'leads' }
  | { readonly kind: 'failed'; readonly bug: unknown };

/**
 * Answers reads from a copy whose records come from another host, in turns like a database's: SQL
 * that reads, with views, which are code of the program. Nothing is committed: whether the module
 * lets a caller in is tried and taken back. It serves the query sets of connections that the leader
 * has let in: `connect` only says so here. Everything else is refused with `database.notLeader`.
 *
 * An answer is of the last record that was applied; whether that is acknowledged is for the owner
 * to know. Records are applied between turns: `committed` is called for each, and `followed` after
 * them.
 */
export class CopyReader {
  readonly #core: DatabaseCore;
  readonly #around: CopyReaderSurroundings;
  readonly #queue = new CallQueue<TicketedRequest>();
  readonly #longReads: LongReads;
  /** Those that are not answered yet. */
  readonly #open = new Set<Ticket>();
  #loop: Promise<void> | undefined;
  #isEnded = false;
  /** Commits of its connections that were not handed over. */
  #own: OwnCommit[] = [];
  /** True once the records that come are not known to be acknowledged. */
  #isHeld = false;

  /** `core` commits nothing (`DatabaseCore.full`), and its runner is the owner's. */
  constructor(core: DatabaseCore, around: CopyReaderSurroundings) {
    this.#core = core;
    this.#around = around;
    this.#longReads = new LongReads(core.clock, (ticket) => around.progress.calling(ticket));
  }

  get description(): DatabaseDescription {
    return descriptionOf(this.#core.program, this.#core.store);
  }

  /** The memory that reads hold, beside the rows. */
  get statementBytes(): number {
    const uncounted = this.#longReads.count * limits.sqlUncountedBytes;
    return this.#core.statementMemory.bytes + uncounted;
  }

  get viewBytes(): number {
    return this.#core.views.bytes;
  }

  /** Accepts requests; each is answered with a turn, in the end when the reader ends. */
  submitAll(requests: ItemSource<TicketedRequest>): void {
    if (this.#isEnded) {
      refuseAll(requests, (turn) => this.#around.handOver(turn));
      return;
    }
    this.#queue.pushAll(requests);
    this.#wake();
  }

  /** The record was applied: brings the query sets of connections up to date with it. */
  committed(record: Extract<CommitRecord, { readonly kind: 'commit' }>): void {
    const { views, connections } = this.#core;
    if (this.#isEnded) return;
    // What no query set holds is evaluated when it is read again.
    views.forget();
    if (connections.size === 0) return;
    try {
      this.#inBatch(() => this.#take(record));
    } catch (error) {
      this.end({ kind: 'failed', bug: error });
    }
    this.#around.progress.resting();
  }

  #take({ changes, inputs }: Extract<CommitRecord, { readonly kind: 'commit' }>): void {
    const core = this.#core;
    const timestampMicros = BigInt(acceptedMicrosOf(inputs));
    this.#around.progress.calling(noTicket);
    core.live.begin(noTicket, 0);
    const views = core.views.follow(changes.tables, timestampMicros);
    core.live.evaluate(core, { changes, views, timestampMicros, isOfCall: false });
    const { connectionId, reducer, args } = decodeInputs(inputs);
    if (!core.connections.has(connectionId)) return;
    this.#own.push({ offset: changes.offset, connectionId, reducer, args, timestampMicros });
  }

  /** Records were applied: what they mean to connections is handed over. */
  followed(): void {
    if (this.#isEnded || this.#isHeld || this.#core.connections.size === 0) return;
    this.#around.handOver(this.#turnOf([]));
  }

  /**
   * A publish, whose program is loaded: `apply` applies its record. The reader goes on, as the
   * leader does, if all of its connections can; otherwise it ends. True: the program is its own.
   */
  update(record: SchemaRecord, loaded: LoadedProgram, apply: () => void): boolean {
    const core = this.#core;
    const next = this.#isEnded ? undefined : followable(core, loaded, record);
    if (next === undefined) {
      this.end({ kind: 'replaced' });
      apply();
      return false;
    }
    // What comes before has the offset of before.
    this.followed();
    const stopped = this.#longReads.stopAll();
    for (const { ticket } of stopped) this.#open.delete(ticket);
    core.live.begin(noTicket, stopped.length);
    let end: CopyReaderEnd | undefined = { kind: 'replaced' };
    let isApplied = false;
    try {
      this.#inBatch(() => {
        apply();
        isApplied = true;
        this.#around.progress.calling(noTicket);
        if (followUpdate(core, next, record)) end = undefined;
      });
    } catch (error) {
      end = { kind: 'failed', bug: error };
      if (!isApplied) throw error;
    } finally {
      this.#around.progress.resting();
      this.#updated(stopped, end);
    }
    return end === undefined;
  }

  /** `end`: what its connections have is not what the tables have now. */
  #updated(stopped: readonly TurnResult[], end: CopyReaderEnd | undefined): void {
    if (end === undefined) {
      this.#around.handOver(this.#turnOf(stopped));
      this.#around.updated();
      return;
    }
    this.hold();
    if (stopped.length > 0) this.#around.handOver(turnOf(stopped, this.#core.store.offset));
    this.end(end);
  }

  /** What comes from here on may still be lost: it is kept for `leave`. */
  hold(): void {
    this.#isHeld = true;
  }

  /**
   * This host leads: the core, with the connections and their query sets, is the actor's, and so is
   * what was not handed over of commits. What is under way is refused.
   */
  leave(): LeftCopy {
    const left = { core: this.#core, own: this.#own };
    this.end({ kind: 'leads' });
    return left;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Reads no more: what is under way is refused. */
  end(end: CopyReaderEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#longReads.abandon();
    const left = [...this.#open].map((ticket) => ({ ticket, reply: notHere }));
    for (let next = this.#queue.take(); next !== undefined; next = this.#queue.take()) {
      left.push({ ticket: next.ticket, reply: notHere });
    }
    this.#open.clear();
    const { offset } = this.#core.store;
    // What its connections have to get of the commits before.
    const isWhole = end.kind === 'replaced' && !this.#isHeld && this.#core.connections.size > 0;
    if (isWhole) this.#around.handOver(this.#turnOf(left));
    else if (left.length > 0) this.#around.handOver(turnOf(left, offset));
    this.#around.ended(end);
  }

  #wake(): void {
    this.#loop ??= this.#takeTurns();
  }

  get #hasWork(): boolean {
    const { store } = this.#core;
    return this.#queue.length > 0 || this.#longReads.count > 0 || store.hasLoose;
  }

  /** Never rejects. */
  async #takeTurns(): Promise<void> {
    try {
      do {
        await this.#around.nextTurn();
        if (!this.#isEnded) this.#turn();
      } while (!this.#isEnded && this.#hasWork);
    } catch (error) {
      this.end({ kind: 'failed', bug: error });
    } finally {
      this.#loop = undefined;
    }
  }

  #turn(): void {
    const results: TurnResult[] = [];
    this.#inBatch(() => {
      this.#runBatch(results);
      results.push(...this.#longReads.goOn());
      this.#core.store.freeLoose();
    });
    this.#around.progress.resting();
    for (const { ticket, reply } of results) {
      if (reply.kind !== 'reading') this.#open.delete(ticket);
    }
    const turn = this.#turnOf(results);
    if (results.length > 0 || turn.commits.length > 0) this.#around.handOver(turn);
  }

  #turnOf(results: readonly TurnResult[]): TurnReport {
    const commits = this.#core.live.takeCommits();
    const own = this.#own;
    if (own.length > 0) this.#own = [];
    return { ...turnOf(results, this.#core.store.offset), commits, own };
  }

  #inBatch(work: () => void): void {
    const { runner } = this.#core.program;
    if (runner.batch === undefined) work();
    else runner.batch(work);
  }

  #runBatch(results: TurnResult[]): void {
    const { clock } = this.#core;
    const until = clock.monotonicMillis() + limits.turnMillisMax;
    while (results.length < limits.callsPerTurnMax) {
      const work = this.#queue.take();
      if (work === undefined) return;
      const { ticket } = work;
      this.#open.add(ticket);
      this.#around.progress.calling(ticket);
      const reply = this.#answer(work, results);
      if (reply !== undefined) results.push({ ticket, reply });
      if (clock.monotonicMillis() >= until) return;
    }
  }

  #answer(work: TicketedRequest, results: TurnResult[]): DatabaseReply | undefined {
    const core = this.#core;
    const { ticket, request, acceptedMicros } = work;
    core.live.begin(ticket, results.length);
    switch (request.kind) {
      case 'connect':
        return this.#connect(request);
      case 'disconnect':
        return this.#disconnect(request.connectionId, acceptedMicros, results);
      case 'tables':
        return { kind: 'tables', tables: tableFigures(core, request.caller) };
      case 'program':
        return { kind: 'program', program: core.program.source };
      case 'query':
        return this.#query(ticket, request.query, acceptedMicros);
      case 'subscribe': {
        const outcome = subscribe(core, request, acceptedMicros);
        if (outcome.kind === 'paused') return this.#readOn(ticket, outcome);
        return { kind: 'subscribed', outcome };
      }
      case 'resume':
        return { kind: 'resumed', outcome: resume(core, request) };
      case 'unsubscribe': {
        const outcome = unsubscribe(core, request, acceptedMicros);
        if (outcome.kind === 'paused') return this.#readOn(ticket, outcome);
        return { kind: 'unsubscribed', outcome };
      }
      case 'oneOff': {
        const outcome = answerOnce(core, request, acceptedMicros);
        if (outcome.kind === 'paused') return this.#readOn(ticket, outcome);
        return { kind: 'oneOff', outcome };
      }
      default:
        return notHere;
    }
  }

  /** Whether it may call anything is for the leader to say. */
  #connect({ caller, connectionId }: ConnectRequest): DatabaseReply {
    const { connections, store } = this.#core;
    if (connections.has(connectionId)) return { kind: 'connected', refusal: inUseText };
    const { identity, jwtPayload, rights } = caller;
    const open = { identity, jwtPayload, rights, isReadOnly: rights.isReadOnly };
    connections.set(connectionId, { ...open, since: store.offset });
    return { kind: 'connected', refusal: undefined };
  }

  #disconnect(
    connectionId: ConnectionNumber,
    acceptedMicros: bigint,
    results: TurnResult[],
  ): DatabaseReply {
    const core = this.#core;
    results.push(...this.#longReads.cancelOf(connectionId, connectionClosedText));
    core.live.dropConnection(core, connectionId, acceptedMicros);
    core.connections.delete(connectionId);
    return { kind: 'disconnected' };
  }

  #readOn(ticket: Ticket, rows: PausedRows): DatabaseReply {
    this.#longReads.add(ticket, rows);
    return { kind: 'reading', queries: rows.queries };
  }

  #query(ticket: Ticket, query: SqlRequest, acceptedMicros: bigint): DatabaseReply | undefined {
    try {
      const begun = runQuery(this.#core, query, acceptedMicros);
      if (begun.kind === 'paused') return this.#longReads.addStatement(ticket, begun);
      return { kind: 'queried', outcome: begun };
    } catch (error) {
      // Nothing can be written, which here is a reason to ask the leader.
      const isWrite = error instanceof Refusal && error.body.code === 'database.full';
      if (isWrite) return notHere;
      if (error instanceof Refusal) return { kind: 'refused', body: error.body };
      throw error;
    }
  }
}

/** What a reader leaves to the actor of a host that leads. */
export interface LeftCopy {
  readonly core: DatabaseCore;
  readonly own: readonly OwnCommit[];
}

/** Why a core of a copy commits nothing; its caller is sent to the leader. */
export const copyText = 'another host leads the database';

/** Refuses requests that no reader takes. */
export function refuseAll(
  requests: ItemSource<TicketedRequest>,
  handOver: (turn: TurnReport) => void,
): void {
  const results: TurnResult[] = [];
  while (requests.remaining > 0) {
    results.push({ ticket: requests.next().ticket, reply: notHere });
  }
  if (results.length > 0) handOver(turnOf(results, commitOffset(0)));
}

/** Of a turn without commits. `offset`: the last commit that the copy shows; 0: not known. */
function turnOf(results: readonly TurnResult[], offset: CommitOffset): TurnReport {
  const places = { write: writeNumber(0), isDurable: true, offset };
  return { results, commits: [], ...places, nextDueMicros: undefined };
}

const notLeader: RefusalBody = {
  code: 'database.notLeader',
  message: 'This host does not lead the database; nothing was done.',
};

const notHere: DatabaseReply = { kind: 'refused', body: notLeader };
