import { assert } from '../../assert.ts';
import { overloaded } from '../../database/call-queue.ts';
import type { DatabaseDescription } from '../../database/description.ts';
import {
  type Caller,
  Refusal,
  type RefusalBody,
  type SqlOutcome,
  type SqlRequest,
} from '../../database/outcome.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import type { TableFigures } from '../../database/table-figures.ts';
import type { DatabaseReply, DatabaseRequest } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import type { Epoch } from '../../log/epoch.ts';
import { flatDefinition } from '../../schema/flat-definition.ts';
import type { SettledNote } from '../../shared-log/member-options.ts';
import type { CommitOffset } from '../../store/commit-offset.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { FarSurroundings } from '../feeds/far-surroundings.ts';
import type {
  CopyClient,
  LiveConnection,
  LiveOptions,
  LiveSink,
} from '../feeds/live-connection.ts';
import type { LiveFeeds } from '../feeds/live-feeds.ts';
import type { Pending, PendingRequests } from '../feeds/pending-requests.ts';
import type { LeaderLine } from '../replication/leader-line.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
import type { SeatEnd } from '../seats/seat.ts';
import type { DatabaseLife } from './database-life.ts';

type CopyLife = Pick<DatabaseLife, 'readingSeat' | 'prepareReads' | 'noteSettled'>;

export interface CopyHandleOptions {
  readonly identity: DatabaseIdentity;
  /** Absent: no connection reads the copy. */
  readonly line: LeaderLine | undefined;
  readonly life: CopyLife;
  readonly pending: PendingRequests;
  readonly feeds: LiveFeeds;
  readonly flushSoon: () => void;
  /** The last commit that the copy shows, as far as connections have seen. */
  readonly shownOffset: () => number;
}

/**
 * Reads of this host's copy of a database that another host leads. An answer shows what this host
 * knows to be acknowledged. Everything rejects with `database.notLeader` while the copy takes no
 * reads.
 */
export class CopyHandle {
  readonly #options: CopyHandleOptions;
  readonly #waiting = new Set<() => void>();
  /** Until then reads go to the leader: one that ran too long has kept the copy from following. */
  #restsUntil = 0;
  #shownTerm = 0;
  /** Of the log of the actor, while this host leads. */
  #epoch: Epoch | undefined;
  /** While connections wait for the copy. */
  #patience: NodeJS.Timeout | undefined;
  /** This host leads next, with the connections. */
  #leads = false;
  /** The program by which it was read last. */
  #program: DatabaseDescription | undefined;

  constructor(options: CopyHandleOptions) {
    this.#options = options;
  }

  /** The program by which it is read; `undefined`: it takes no reads. */
  get description(): DatabaseDescription | undefined {
    return this.#options.life.readingSeat?.description;
  }

  /** What connections have of it; `leads`: they go on with the actor that begins. */
  get state(): 'reads' | 'leads' | 'none' {
    if (this.description !== undefined) return 'reads';
    return this.#leads ? 'leads' : 'none';
  }

  /** False: connections are for the leader alone, or for a copy that shows what they begin with. */
  get takesConnections(): boolean {
    const { line, identity, life } = this.#options;
    if (life.readingSeat?.role.shownOffset !== undefined) return false;
    return line !== undefined && line.reaches?.(identity) !== false;
  }

  /** The same; rejects with `database.notLeader`. */
  async describe(): Promise<DatabaseDescription> {
    const { description } = this;
    if (description === undefined) throw notLeaderRefusal(undefined);
    return description;
  }

  /** What the leader says of its commits. */
  noteSettled(note: SettledNote): void {
    this.#options.life.noteSettled(note);
  }

  /** Has the program loaded, if it is not, and waits for that; `undefined`: it takes no reads. */
  async ready(millisMax: number): Promise<DatabaseDescription | undefined> {
    if (performance.now() < this.#restsUntil) return undefined;
    if (this.description === undefined && this.#options.life.prepareReads()) {
      let timer: NodeJS.Timeout | undefined;
      let wake: () => void = () => undefined;
      await new Promise<void>((resolve) => {
        wake = () => {
          if (this.description !== undefined) resolve();
        };
        this.#waiting.add(wake);
        timer = setTimeout(resolve, millisMax);
      });
      this.#waiting.delete(wake);
      clearTimeout(timer);
    }
    return this.description;
  }

  async query(query: SqlRequest): Promise<SqlOutcome> {
    const reply = await this.#request({ kind: 'query', query });
    assert(reply.kind === 'queried', 'a query is answered by its outcome');
    const { outcome } = reply;
    const isEndless = outcome.kind === 'failed' && outcome.error.code === 'sql.overBudget';
    if (isEndless) this.#rest();
    return outcome;
  }

  #rest(): void {
    this.#restsUntil = performance.now() + limits.copyRestMillis;
  }

  async tables(caller: Caller): Promise<readonly TableFigures[]> {
    const reply = await this.#request({ kind: 'tables', caller });
    assert(reply.kind === 'tables', 'asking for tables gives tables');
    return reply.tables;
  }

  async program(): Promise<ProgramSource> {
    const reply = await this.#request({ kind: 'program' });
    assert(reply.kind === 'program', 'asking for the program gives the program');
    return reply.program;
  }

  /** Ends a read that has paused in a temporary connection of this id. */
  async disconnect(connectionId: ConnectionNumber): Promise<void> {
    await this.#request({ kind: 'disconnect', connectionId });
  }

  /**
   * Opens a connection whose queries read the copy, and whose calls go to the leader; see
   * `DatabaseHandle.live`. Throws `database.notLeader`.
   */
  live(options: LiveOptions, client: CopyClient, sink: LiveSink): LiveConnection {
    const moves = this.#around(options, client);
    if (this.description === undefined || moves === undefined) throw notLeaderRefusal(undefined);
    const { isConnected: _, ...arriving } = moves.client;
    return this.#options.feeds.open(
      { ...options, far: { ...moves, client: arriving }, moves },
      sink,
    );
  }

  /** How a connection is opened where this host leads, that can read the copy when it does not. */
  led(options: LiveOptions, client: CopyClient | undefined): LiveOptions {
    return client === undefined ? options : { ...options, moves: this.#around(options, client) };
  }

  /** Of a connection that this host has let in. */
  #around({ connectionId, confirmed }: LiveOptions, client: CopyClient) {
    const { line, identity: database, shownOffset } = this.#options;
    if (line === undefined) return undefined;
    const { reach, ...attached } = client;
    const around: FarSurroundings = {
      ...{ line, shownOffset, reach },
      client: { database, connectionId, confirmed, ...attached, isConnected: true },
      shownTerm: () => this.#termShown(),
      returnsValue: (reducer) => returnsValue(this.#program, reducer),
    };
    return around;
  }

  /** An actor has opened the log: this host leads. */
  opened(epoch: Epoch | undefined): void {
    this.#epoch = epoch;
    this.#options.feeds.comeHome();
  }

  /**
   * An actor has ended; `durable`: its last acknowledged commit. Where another host leads,
   * connections wait for the copy, within bounds.
   */
  ended(end: Pick<SeatEnd, 'cause' | 'isForTakeOver'>, isWanted: boolean, durable: CommitOffset) {
    const { cause, isForTakeOver } = end;
    const { feeds } = this.#options;
    // Its clients come again, and their reads may hold the next actor, too.
    if (isForTakeOver === true) this.#rest();
    const epoch = this.#epoch;
    this.#epoch = undefined;
    clearInterval(this.#patience);
    const goOn = cause === 'deposed' && !isWanted && epoch !== undefined && this.takesConnections;
    if (!goOn) feeds.endBegun('database');
    else if (feeds.leaveHome({ epoch, offset: durable })) this.#waitForCopy();
  }

  /** Asks for the copy again and again: the actor that has it may not have begun yet. */
  #waitForCopy(): void {
    const { feeds, life } = this.#options;
    const until = performance.now() + limits.copyReturnMillisMax;
    const look = (): void => {
      if (performance.now() >= until) feeds.endReturning('database');
      if (feeds.hasReturning) life.prepareReads();
      else clearInterval(this.#patience);
    };
    this.#patience = setInterval(look, limits.copyReturnLookMillis).unref();
  }

  /** It is broken or stopped, or another host leads: then those that wait for the copy stay. */
  finished(state: 'broken' | 'stopped' | 'following'): void {
    const { feeds, life } = this.#options;
    const isAwaited = state === 'following' && feeds.hasReturning;
    if (isAwaited && life.prepareReads()) feeds.endOthers('database');
    else feeds.endAll('database');
  }

  /** The last term of which all that came before it is shown. */
  #termShown(): number | undefined {
    const { life, shownOffset } = this.#options;
    const role = life.readingSeat?.role;
    if (role !== undefined && role.end.offset <= shownOffset()) this.#shownTerm = role.term;
    return this.#shownTerm;
  }

  /** It takes reads from now on, or no more; `leads`: connections go on with the actor. */
  changed(leads: boolean): void {
    const { pending, feeds } = this.#options;
    this.#program = this.description ?? this.#program;
    this.#leads = leads;
    if (this.description === undefined) {
      pending.withdrawAll(pending.lastTicket, notLeaderRefusal(undefined));
      if (leads) feeds.endUnadmitted();
      else this.#endAll();
    } else feeds.enterCopy();
    for (const wake of [...this.#waiting]) wake();
  }

  /** The leader hears of connections that have left already. */
  #endAll(): void {
    const { pending, feeds } = this.#options;
    feeds.submit();
    feeds.endAll('database');
    pending.dropIdle();
  }

  /**
   * True if a request of a connection was refused because the copy takes none any more: the
   * actor that follows gets it. One of which half is answered ends its connection.
   */
  hasTaken(pending: Pending, { code }: RefusalBody): boolean {
    if (pending.kind !== 'feed' || code !== 'database.notLeader') return false;
    if (pending.feed.canAskAgain(pending.asked)) this.#options.pending.putBack(pending);
    else pending.feed.endNow('database');
    return true;
  }

  async #request(request: DatabaseRequest): Promise<DatabaseReply> {
    const reading = this.#options.life.readingSeat;
    if (reading === undefined) throw notLeaderRefusal(undefined);
    if (this.#options.pending.size >= limits.callQueueMax) throw overloaded();
    const reply = this.#options.pending.add(request, false);
    this.#options.flushSoon();
    const settled = await reply;
    if (settled.kind === 'refused') throw new Refusal(settled.body);
    return settled;
  }
}

function returnsValue(description: DatabaseDescription | undefined, name: string): boolean {
  const reducers = description && flatDefinition(description.definition).reducers;
  const found = reducers?.find((reducer) => reducer.name === name);
  return found === undefined || found.returns !== undefined;
}
