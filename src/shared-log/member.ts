import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import type { LogPoint } from '../log/log-point.ts';
import { type AppendOutcome, runAppend } from './append-run.ts';
import { encodeEntry, entryKinds, isSameEntry } from './entry.ts';
import { encodeLead, encodeRestart, type Lead } from './entry-payloads.ts';
import { findStart } from './find-start.ts';
import {
  followingState,
  type LeadershipEvent,
  type LeadershipState,
  leadershipAfter,
} from './leadership.ts';
import type { MemberOptions, SettledNote } from './member-options.ts';
import { Replicator, type ReplicatorEnd } from './replicator.ts';
import { restOf } from './rest-of.ts';
import { EngineError, type ReadAnswer, type SharedLog, type StoredEntry } from './shared-log.ts';
import { Tail, type TailFault, type TailStep } from './tail.ts';
import { isUnlikeSettled, unlikeText } from './unlike-settled.ts';

/** A place between records, and whether a segment begins there. */
type Place = Pick<Tail, 'point' | 'border'>;

/**
 * One database at one host: follows the shared log, claims it when its leader is silent, writes to
 * it while it leads. The owner calls `step` again and again, and whenever an entry may be there;
 * one step runs at a time.
 */
export class Member {
  readonly #options: MemberOptions;
  #state: LeadershipState = followingState;
  #tail = new Tail();
  #replicator: Replicator | undefined;
  /** True until something else is known of the records behind the shared log's end. */
  #hasOwnTail = true;
  /** True once the engine has dropped what it had shown. */
  #hasReadAgain = false;
  /** The fault at which the log was read again from its beginning; cleared at its end. */
  #lastFault: string | undefined;
  #isAtEnd = false;
  /** The last entry when it was looked at, and when that was first. */
  #end: Uint8Array | undefined;
  #endAt = 0;
  /** True if the engine answered the last read. */
  #isReached = false;
  /** True if it was tried to read on where the local log ends. */
  #hasSearched = false;
  #isEnded = false;
  #settledOffset = 0;
  /** True while the copy may have something else than what was read. */
  #isTaking = false;
  /** What the leader has said last. */
  #note: SettledNote | undefined;
  #lastWarning: string | undefined;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.#settledOffset = options.replica.acknowledgedOffset;
    const { handedTerm: term } = options;
    if (term !== undefined)
      this.#state = { ...followingState, handed: { term, at: options.now() } };
  }

  get state(): LeadershipState {
    return this.#state;
  }

  /** The writer of this host's term, while it leads. */
  get replicator(): Replicator | undefined {
    return this.#state.kind === 'leading' ? this.#replicator : undefined;
  }

  /** Who leads by the last entry that says so. */
  get lead(): Lead | undefined {
    return this.#tail.lead;
  }

  /** True if the last read came to the end of what the engine shows. */
  get isAtEnd(): boolean {
    return this.#isAtEnd;
  }

  get term(): number {
    return this.#tail.term;
  }

  /** The entry that comes next, for `SharedLog.wait`. */
  get next(): number {
    return this.#tail.next;
  }

  /**
   * Largest offset that is known to be in acknowledged history. A follower shows no more than that:
   * an entry that was read may still be lost.
   */
  get settledOffset(): number {
    return Math.max(this.#settledOffset, this.#replicator?.acknowledgedOffset ?? 0);
  }

  /** Reads on, and tries to lead if it is time. A leader does nothing here. */
  async step(): Promise<void> {
    if (this.#isEnded || this.#state.kind !== 'following') return;
    await this.#readOn();
    if (this.#isEnded || this.#state.kind !== 'following') return;
    this.#noteEnd();
    const { lead } = this.#tail;
    const around = this.#options.look(lead);
    const command = this.#on({
      kind: 'look',
      look: {
        ...around,
        now: this.#options.now(),
        term: this.#tail.term,
        leader: lead?.boot,
        isAtEnd: this.#isAtEnd,
        endMillis: this.#options.now() - this.#endAt,
        hasLeaderWritten: !this.#tail.isTermEmpty,
        isEngineReached: around.isEngineReached && this.#isReached,
      },
    });
    if (command === 'claim') await this.#claim();
    else if (command === 'takeUp') await this.#takeUp();
  }

  /**
   * Takes in what the leader has sent this host since the last entry that was read, without asking
   * the engine. False if it was nothing, or does not continue what was read: then the engine says
   * what is there, with `step`. It was stored, and not settled by that: its leader also waits for
   * its own disk, in case an engine has lied.
   */
  async takeStreamed(): Promise<boolean> {
    const { sharedLog, log } = this.#options;
    const isFollowing = (): boolean => !this.#isEnded && this.#state.kind === 'following';
    if (!isFollowing() || this.#tail.next === 0) return false;
    const entries = (await sharedLog.streamed?.(log, this.#tail.next)) ?? [];
    for (const { after, ...entry } of entries) {
      const isNext = entry.seq === this.#tail.next && isSameEntry(after, this.#tail.last);
      if (!isFollowing() || !isNext || !(await this.#takeSent(entry))) return false;
    }
    return entries.length > 0;
  }

  /**
   * Another host leads in `term`, and says that commits up to `offset` are acknowledged. Of another
   * term than was read last it says nothing about what this host has.
   */
  noteSettled(note: SettledNote): void {
    this.#note = note;
    if (!this.#isTaking) this.#settle();
  }

  /** What is settled now, by the entries that were read, and by the leader's own word. */
  #settle(): void {
    const { acknowledged, term, lead, point } = this.#tail;
    const note = this.#note;
    const isOfTerm = note?.term === term && note.boot === lead?.boot;
    const told = isOfTerm ? Math.min(note.offset, point.offset) : 0;
    this.#settledOffset = Math.max(this.#settledOffset, acknowledged, told);
    this.#options.replica.settled?.(this.#settledOffset);
  }

  /** Gives the database to another host, which leads once it has written. */
  handOver(to: Lead): void {
    this.replicator?.handOver(to);
  }

  /** Ends this host's part; what is under way may still be stored. */
  stop(): void {
    this.#isEnded = true;
    this.#replicator?.stop();
  }

  #on(event: LeadershipEvent): 'claim' | 'takeUp' | undefined {
    const { me, leaseMillis, isReadByLease } = this.#options;
    const rules = { boot: me.boot, leaseMillis, isReadByLease };
    const after = leadershipAfter(this.#state, event, rules);
    this.#state = after.state;
    return after.command;
  }

  /** Takes in everything that the engine shows. */
  async #readOn(): Promise<void> {
    const { sharedLog, log } = this.#options;
    this.#isAtEnd = false;
    this.#isReached = false;
    if (!this.#hasSearched && !(await this.#search())) return;
    while (!this.#isEnded && this.#state.kind === 'following') {
      let answer: Awaited<ReturnType<SharedLog['read']>>;
      const { next } = this.#tail;
      try {
        answer = await sharedLog.read(log, Math.max(0, next - 1), limits.sharedReadBytesMax);
      } catch {
        return;
      }
      this.#isReached = true;
      const { entries, first } = answer;
      // What is gone is in a snapshot, and the first entry that is there says how to read on.
      if (first > next && next > 0) {
        this.#tail = new Tail();
        continue;
      }
      if (!this.#isLastThere(answer)) {
        this.#readAgain();
        continue;
      }
      const from = next === 0 ? first : next;
      const behind = entries.filter(({ seq }) => seq >= from);
      if (behind.length === 0) {
        if (next > 0) await this.#atEnd();
        return;
      }
      for (const entry of behind) if (!(await this.#take(entry))) return;
    }
  }

  /** Begins where the local log ends, if that is in a long log; false: the engine is away. */
  async #search(): Promise<boolean> {
    const { sharedLog, log, replica } = this.#options;
    const { position } = replica.end;
    const chainAt = (at: number) => replica.chainAt(at);
    try {
      const found = await findStart(sharedLog, log, { position, chainAt });
      this.#hasSearched = true;
      if (found === undefined) return true;
      const { start, beginning } = found;
      await replica.begin(beginning);
      // A local log that is of another history is not there any more.
      if (replica.chainAt(start.point.position) === start.point.chain) this.#tail = Tail.at(start);
      return true;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return false;
    }
  }

  /**
   * False if the entry that was read last has gone: the engine showed it, and then dropped it. A
   * host that overlooked that would wait for a leader that has no term.
   */
  #isLastThere({ entries, first }: ReadAnswer): boolean {
    const { next, last } = this.#tail;
    if (next === 0 || first >= next) return true;
    const found = entries.find(({ seq }) => seq === next - 1);
    return found !== undefined && isSameEntry(found.bytes, last);
  }

  /** False if the entry was not taken. */
  async #take(entry: StoredEntry): Promise<boolean> {
    if (this.#isEnded) return false;
    const before: Place = { point: this.#tail.point, border: this.#tail.border };
    const step = this.#tail.accept(entry);
    if (step.kind === 'fault') {
      this.#contradicted(step.fault);
      return false;
    }
    if (this.#isUnlike(step, before)) {
      await this.#refuse(entry.seq);
      return false;
    }
    return this.#taken(step, before);
  }

  /** The same for one that the leader has sent, once it was stored. */
  async #takeSent(entry: StoredEntry): Promise<boolean> {
    const before: Place = { point: this.#tail.point, border: this.#tail.border };
    const step = this.#tail.accept(entry);
    if (step.kind === 'fault') return false;
    if (this.#isUnlike(step, before)) {
      this.#readAgain();
      return false;
    }
    return this.#taken(step, before);
  }

  async #taken(step: TailStep, before: Place): Promise<boolean> {
    this.#noteEnd();
    this.#isTaking = true;
    await this.#apply(step, before);
    this.#isTaking = false;
    this.#settle();
    return !this.#isEnded;
  }

  /** An entry that is read again counts as another one. */
  #noteEnd(): void {
    const { last } = this.#tail;
    if (this.#end === last) return;
    this.#end = last;
    this.#endAt = this.#options.now();
  }

  #isUnlike(step: TailStep, { point: from }: Place): boolean {
    const { settledOffset: settled } = this;
    return isUnlikeSettled(step, { from, settled }, this.#options.replica);
  }

  async #apply(step: TailStep, before: Place): Promise<void> {
    const { replica, me } = this.#options;
    if (step.kind === 'beginning') return replica.begin(step.beginning);
    if (step.kind === 'restart') return this.#restart(step);
    if (step.kind === 'term') {
      // What this host has written behind the log's end comes too late for another's term; it has
      // been set aside before this host began one of its own.
      this.#hasOwnTail = step.lead.host === me.host && !this.#hasReadAgain;
      return;
    }
    if (step.kind !== 'records') return;
    // What was before its first record is in its state.
    if (step.end.position < replica.startPosition) return;
    const isThere = replica.chainAt(step.end.position) === step.end.chain;
    // Without records there is only a segment that begins, where the copy may end.
    const isOnlySegment = isThere && replica.end.position === step.end.position;
    if (isThere && !(isOnlySegment && step.records.length === 0)) return;
    if (before.point.position < replica.startPosition && !isThere) {
      return this.#applyRest(step, before.point);
    }
    if (!isThere && replica.end.position > before.point.position) await this.#setAside(before);
    assert(replica.end.chain === before.point.chain, 'a copy continues what it has applied');
    await replica.apply({ records: step.records, end: step.end, segment: step.segment });
  }

  async #restart({ beginning, point }: Extract<TailStep, { kind: 'restart' }>): Promise<void> {
    const { replica } = this.#options;
    if (await replica.restart(beginning, point)) {
      this.#settledOffset = Math.max(this.#settledOffset, replica.acknowledgedOffset);
      return;
    }
    this.#fail(`log.behind: entries up to commit ${point.offset} are gone, without a snapshot`);
  }

  /** Of an entry in which the copy's snapshot lies, what is behind that. */
  async #applyRest(step: Extract<TailStep, { kind: 'records' }>, from: LogPoint): Promise<void> {
    const { replica } = this.#options;
    const rest = restOf(step, from, replica);
    if (rest !== undefined) await replica.apply(rest);
    else this.#fail('log.diverged: the snapshot of this host is none of the log');
  }

  /** This host has read all that there is. */
  async #atEnd(): Promise<void> {
    const { replica } = this.#options;
    const { point } = this.#tail;
    this.#isAtEnd = true;
    this.#lastFault = undefined;
    // What was acknowledged stays, also when the engine has lost it: its leader can restore it.
    const isAhead = replica.end.position > point.position;
    if (!isAhead || this.#isOwnTail() || this.#isEngineBehind()) return;
    await this.#setAside(this.#tail);
  }

  /** What is cut off may have begun a segment there; whether one begins is for entries to say. */
  async #setAside({ point, border }: Place): Promise<void> {
    const { replica } = this.#options;
    await replica.setAside(point);
    if (border === undefined) return;
    await replica.apply({ records: new Uint8Array(0), end: point, segment: border });
  }

  /** True if the engine lacks what this host knows to be acknowledged. */
  #isEngineBehind(): boolean {
    return this.settledOffset > this.#tail.point.offset;
  }

  /**
   * An entry contradicts what was read. The engine may have lost entries that nobody acknowledged;
   * then reading the log from its beginning ends well.
   */
  #contradicted({ code, seq, reason }: TailFault): void {
    const fault = `entry ${seq}: ${reason}`;
    if (code === 'later') this.#fail(`log.later: ${fault}; a later version wrote it`);
    else if (this.#lastFault === fault) this.#fail(`log.diverged: ${fault}`);
    else {
      this.#lastFault = fault;
      this.#readAgain();
    }
  }

  /** An entry contradicts acknowledged commits. An engine that stores nothing may be an old one. */
  async #refuse(seq: number): Promise<void> {
    const { sharedLog, log } = this.#options;
    const asked = sharedLog.confirm([{ log, seq }]);
    const [confirmed = 'unknown'] = await asked.catch(() => []);
    if (confirmed !== 'unknown') {
      this.#contradicted({ code: 'damaged', seq, reason: unlikeText });
      return;
    }
    this.#isReached = false;
    this.#readAgain();
  }

  /** Reads the log again from its beginning; the copy keeps what is in it. */
  #readAgain(): void {
    this.#hasReadAgain = true;
    this.#hasOwnTail = false;
    this.#tail = new Tail();
  }

  #fail(reason: string): void {
    this.#on({ kind: 'fail', reason });
    this.#options.events.warn(reason);
  }

  async #claim(): Promise<void> {
    const { me, history } = this.#options;
    if (!(await this.#mayClaim())) {
      this.#on({ kind: 'claimEnded', term: undefined });
      return;
    }
    const lead = { ...me, history: history() };
    const term = this.#tail.term + 1;
    await this.#begin(term, this.#made(entryKinds.term, term, encodeLead(lead)));
  }

  async #takeUp(): Promise<void> {
    const { term } = this.#tail;
    await this.#begin(term, this.#made(entryKinds.empty, term, new Uint8Array(0)));
  }

  /**
   * An engine may lack what a host has seen acknowledged; above all after a fail-over of its own.
   */
  async #mayClaim(): Promise<boolean> {
    const { history, acknowledgedElsewhere, replica } = this.#options;
    const { lead, point } = this.#tail;
    const isSame = lead === undefined || lead.history === history();
    const elsewhere = isSame ? [] : await acknowledgedElsewhere();
    // What this host wrote itself behind the log's end goes in again, behind its claim.
    const isOwn = this.#isOwnTail();
    const isHere = (end: LogPoint): boolean =>
      end.position <= point.position || (isOwn && replica.chainAt(end.position) === end.chain);
    const missing = elsewhere.filter((end) => !isHere(end)).map(({ offset }) => offset);
    const ownEnd = isOwn ? replica.end.offset : point.offset;
    const known = Math.max(this.settledOffset, this.#tail.promised);
    if (known > ownEnd) missing.push(known);
    if (missing.length === 0) return true;
    this.#warnBehind(point.offset, Math.max(...missing));
    return false;
  }

  /** True if the local log continues the shared one, and nobody else has led since. */
  #isOwnTail(): boolean {
    const { replica, me } = this.#options;
    const { point, lead } = this.#tail;
    const isOwn = this.#hasOwnTail && (lead === undefined || lead.host === me.host);
    return isOwn && replica.chainAt(point.position) === point.chain;
  }

  #warnBehind(found: number, acknowledged: number): void {
    const warning =
      `log.diverged: the engine ends with commit ${found}, and commit ${acknowledged} was ` +
      'acknowledged. Connect to the engine that has it, or repair the log from a host that has.';
    if (this.#lastWarning !== warning) this.#options.events.warn(warning);
    this.#lastWarning = warning;
  }

  /** Stores the entry with which this host begins to lead. */
  async #begin(term: number, entry: StoredEntry): Promise<void> {
    const { sharedLog, log, pause, events } = this.#options;
    const attempt = {
      log,
      entry,
      previous: this.#tail.last,
      emptyAt: (seq: number) => this.#made(entryKinds.empty, term, new Uint8Array(0), seq).bytes,
    };
    const isStopped = () => this.#isEnded;
    const { onResult } = events;
    const pace = { pause, isStopped, ...(onResult === undefined ? {} : { onResult }) };
    const outcome = await runAppend(sharedLog, attempt, pace);
    if (outcome.kind === 'stored') await this.#lead(term, outcome);
    else {
      if (outcome.kind === 'behind') this.#readAgain();
      this.#on({ kind: 'claimEnded', term: undefined });
    }
  }

  async #lead(term: number, stored: Extract<AppendOutcome, { kind: 'stored' }>): Promise<void> {
    const { replica } = this.#options;
    const isOwn = this.#isOwnTail();
    for (const entry of stored.entries) {
      const step = this.#tail.accept(entry);
      assert(step.kind === 'term' || step.kind === 'nothing', 'a claim continues the log');
    }
    const { point } = this.#tail;
    this.#settledOffset = Math.max(this.#settledOffset, point.offset);
    if (!isOwn && replica.end.position > point.position) await this.#setAside(this.#tail);
    if (this.#isEnded) return;
    const replicator = this.#replicatorOf(term, stored.entries.at(-1) as StoredEntry);
    this.#replicator = replicator;
    this.#hasOwnTail = false;
    for (const write of replica.writesBehind(point)) replicator.write(write);
    this.#on({ kind: 'claimEnded', term });
    this.#options.events.onLead(replicator);
  }

  #replicatorOf(term: number, start: StoredEntry): Replicator {
    const { sharedLog, log, me, replica, entryBytesMax, events } = this.#options;
    const { now, pause, waitsForLocalSync } = this.#options;
    const { onResult, onAcknowledged, warn } = events;
    const replicator: Replicator = new Replicator({
      ...{ sharedLog, log, term, boot: me.boot, entryBytesMax, start, now, pause, warn },
      ...(onResult === undefined ? {} : { onResult }),
      ...(onAcknowledged === undefined ? {} : { onAcknowledged }),
      point: this.#tail.point,
      restart: {
        every: this.#options.restartEvery ?? limits.restartEveryEntries,
        payload: () => this.#restartPayload(),
      },
      localSync: waitsForLocalSync ? () => replica.sync() : undefined,
      onEnd: (end) => this.#ended(replicator, end),
    });
    return replicator;
  }

  #restartPayload(): Uint8Array | undefined {
    const beginning = this.#options.beginning?.();
    const { lead, promised } = this.#tail;
    if (beginning === undefined || lead === undefined) return undefined;
    return encodeRestart({ beginning, lead, promised });
  }

  #ended(replicator: Replicator, end: ReplicatorEnd): void {
    const { lastSeq, lastHeader, storedEnd, acknowledgedOffset } = replicator;
    this.#settledOffset = Math.max(this.#settledOffset, acknowledgedOffset);
    this.#tail.advance({ last: { seq: lastSeq, bytes: lastHeader }, point: storedEnd });
    this.#replicator = undefined;
    this.#options.events.onLost(end);
    if (end.kind === 'diverged') this.#fail(`log.diverged: ${end.reason}`);
    else if (end.kind === 'localFailure') this.#fail('log.failed: the local log has failed');
    else if (end.kind === 'handedOver') {
      this.#on({ kind: 'handOver', term: this.#tail.term + 1, now: this.#options.now() });
    } else this.#on({ kind: 'lost' });
  }

  /** An entry without records, at the end of the log. */
  #made(
    kind: (typeof entryKinds)['term' | 'empty'],
    term: number,
    payload: Uint8Array,
    seq = this.#tail.next,
  ): StoredEntry {
    const { position, chain, offset } = this.#tail.point;
    const { boot } = this.#options.me;
    const settled = this.#settledOffset;
    const bytes = encodeEntry({
      ...{ kind, seq, term, boot, payload, startsSegment: false },
      ...{ position, chain, offset, chainAfter: chain },
      // A term says also what is restored behind it, so that nobody else begins one without that.
      acknowledged: kind === entryKinds.term ? settled : Math.min(settled, offset),
    });
    return { seq, bytes };
  }
}
