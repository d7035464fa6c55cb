import { assert, unreachable } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { SettledNote } from '../../shared-log/member-options.ts';
import type { Handed } from '../../shared-log/replicator.ts';
import type {
  ClusterNews,
  MemberAsk,
  MemberData,
  MemberNews,
  MemberOrder,
  MemberReply,
} from '../messages/member-messages.ts';
import type { CopyReading, DatabaseRole } from '../replication/database-role.ts';
import type { MemberPlace } from '../replication/member-place.ts';
import type { SeatStart } from '../seats/seat.ts';

export interface SeatMemberOptions {
  readonly place: MemberPlace;
  readonly send: (message: MemberNews) => void;
  readonly role: (role: DatabaseRole) => void;
  readonly readable: (reading: CopyReading) => void;
  /** Receives how many bytes of the shared log the actor was given in all. */
  readonly fetched: (bytes: number) => void;
}

/** The cluster for an actor on a worker: asks the engine for it, and tells it what is seen. */
export class SeatMember {
  readonly #options: SeatMemberOptions;
  readonly #ended = new AbortController();
  readonly #waits = new Map<number, AbortController>();
  /** What the actor has asked and waits for. */
  #underWay = 0;
  #fetchedBytes = 0;
  #leader: Lead | undefined;
  #toldReadRestarts = true;
  /** True while the actor makes a database that must be new, and that nobody knows of yet. */
  #isNew = false;
  /** True if entry 0 is surely that of this actor. */
  #hasCreated = false;
  /** The host that the database was last told to be given to. */
  #handsTo: Lead | undefined;
  #handOver: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;

  constructor(options: SeatMemberOptions) {
    this.#options = options;
  }

  /** What the actor is started with; `mustBeNew`: it makes the log. */
  data(
    { handedTerm, coldReason }: Pick<SeatStart, 'handedTerm' | 'coldReason'>,
    mustBeNew: boolean,
  ): MemberData {
    this.#isNew = mustBeNew;
    const { log, me, entryBytesMax, leaseMillis, waitsForLocalSync } = this.#options.place;
    const { isReadByLease } = this.#options.place;
    const known = { log, me, entryBytesMax, leaseMillis, isReadByLease, waitsForLocalSync };
    return { ...known, handedTerm, coldReason, news: this.#news() };
  }

  /** Tells the actor what is seen now; `isDue`: so that it looks at once. */
  look(isDue: boolean): void {
    this.#options.send({ kind: 'look', news: this.#news(), isDue });
  }

  /** True if its leader is gone, or silent for longer than the lease, as far as this host sees. */
  get isLeaderless(): boolean {
    const { place } = this.#options;
    const { isEngineReached, isGone, beatAgeMillis } = place.look(this.#leader);
    if (!isEngineReached || this.#leader === undefined) return false;
    return isGone || (beatAgeMillis ?? Number.POSITIVE_INFINITY) > place.leaseMillis;
  }

  noteSettled(note: SettledNote): void {
    this.#options.send({ kind: 'settled', note });
  }

  renewLead(): void {
    this.#options.send({ kind: 'renewLead' });
  }

  /** Has the copy made ready for reads. */
  prepareReads(): void {
    this.#options.send({ kind: 'prepareReads' });
  }

  handOver(to: Lead): Promise<void> {
    if (this.#handOver !== undefined) {
      return Promise.reject(new Error('the database is being handed over already'));
    }
    return new Promise((resolve, reject) => {
      this.#handOver = { resolve, reject };
      this.#handsTo = to;
      this.#options.send({ kind: 'handOver', to });
    });
  }

  receive(message: MemberOrder): void {
    switch (message.kind) {
      case 'member':
        void this.#answer(message.id, message.ask);
        return;
      case 'role':
        this.#noteRole(message.role);
        return;
      case 'readable':
        this.#options.readable(message.reading);
        return;
      case 'handedOver': {
        const waiting = this.#handOver;
        this.#handOver = undefined;
        if (message.failure === undefined) waiting?.resolve();
        else {
          this.#handsTo = undefined;
          waiting?.reject(new Error(message.failure));
        }
        return;
      }
      default:
        unreachable(message);
    }
  }

  /** What an actor says of a hand-over, if it was told to do that: to whom, its host knows. */
  handed(said: Handed | undefined): Handed | undefined {
    const to = this.#handsTo;
    return said === undefined || to === undefined ? undefined : { ...said, to };
  }

  /** The actor is gone; `isHanded`: because another host has its term. */
  end(isHanded: boolean): void {
    this.#ended.abort();
    // It may have had no time to do it itself; what stays is in the way of another try.
    if (this.#hasCreated) this.#removeNew().catch(() => undefined);
    for (const wait of this.#waits.values()) wait.abort();
    const waiting = this.#handOver;
    this.#handOver = undefined;
    if (isHanded) waiting?.resolve();
    else waiting?.reject(new Error('the database ended while it was handed over'));
  }

  async #removeNew(): Promise<void> {
    if (!this.#isNew) return;
    this.#isNew = false;
    const { sharedLog, log } = this.#options.place;
    await sharedLog.remove(log);
  }

  #noteRole(role: DatabaseRole): void {
    if (role.kind === 'leader') this.#isNew = false;
    if (role.kind === 'follower') {
      this.#leader = role.leader;
      this.look(false);
    }
    this.#options.role(role);
  }

  #news(): ClusterNews {
    const { place } = this.#options;
    const leader = this.#leader;
    const readRestarts = place.readRestarts?.() !== false;
    this.#toldReadRestarts = readRestarts;
    const around = place.look(leader);
    return { leader: leader?.boot, history: place.history(), around, readRestarts };
  }

  async #answer(id: number, ask: MemberAsk): Promise<void> {
    if (ask.kind === 'stop') {
      this.#waits.get(ask.of)?.abort();
      return;
    }
    let reply: MemberReply;
    this.#underWay += 1;
    try {
      if (this.#underWay > limits.memberAsksMax) throw new Error('it asks too much at once');
      reply = await this.#reply(id, ask);
    } catch (error) {
      reply = { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
    } finally {
      this.#underWay -= 1;
    }
    if (!this.#ended.signal.aborted) this.#options.send({ kind: 'memberReply', id, reply });
  }

  async #reply(id: number, ask: Exclude<MemberAsk, { kind: 'stop' }>): Promise<MemberReply> {
    const { sharedLog, log, entryBytesMax, acknowledgedElsewhere } = this.#options.place;
    switch (ask.kind) {
      case 'append': {
        const { seq, bytes, after } = ask;
        if (bytes.length > entryBytesMax) throw new Error(`an entry of ${bytes.length} bytes`);
        // A leader is not told what is seen again and again, as one who follows is.
        if (this.#toldReadRestarts !== (this.#options.place.readRestarts?.() !== false)) {
          this.look(false);
        }
        const [result = 'unknown'] = await sharedLog.append([{ log, seq, bytes, after }]);
        return { kind: 'append', result };
      }
      case 'read': {
        const answer = await sharedLog.read(log, ask.from, ask.bytesMax, ask.countMax);
        for (const { bytes } of answer.entries) this.#fetchedBytes += bytes.length;
        this.#options.fetched(this.#fetchedBytes);
        return { kind: 'read', answer };
      }
      case 'wait':
        await this.#wait(id, ask.from);
        return { kind: 'wait' };
      case 'streamed':
        return { kind: 'streamed', entries: (await sharedLog.streamed?.(log, ask.from)) ?? [] };
      case 'confirm': {
        const [result = 'unknown'] = await sharedLog.confirm([{ log, seq: ask.seq }]);
        return { kind: 'confirm', result };
      }
      case 'create': {
        const result = await sharedLog.create(log, ask.bytes);
        this.#hasCreated ||= result === 'created';
        return { kind: 'create', result };
      }
      case 'remove':
        await this.#removeNew();
        return { kind: 'remove' };
      case 'snapshot': {
        const { fetchSnapshot } = this.#options.place;
        return { kind: 'snapshot', fetched: await fetchSnapshot?.(ask.position) };
      }
      case 'elsewhere':
        return { kind: 'elsewhere', ends: await acknowledgedElsewhere() };
      default:
        return unreachable(ask);
    }
  }

  async #wait(id: number, from: number): Promise<void> {
    const { sharedLog, log } = this.#options.place;
    const stop = new AbortController();
    assert(!this.#waits.has(id), 'an actor numbers what it asks');
    this.#waits.set(id, stop);
    try {
      await sharedLog.wait(log, from, stop.signal);
    } finally {
      this.#waits.delete(id);
    }
  }
}
