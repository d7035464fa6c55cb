import { assert, unreachable } from '../../assert.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type {
  ClusterNews,
  MemberAsk,
  MemberData,
  MemberNews,
  MemberOrder,
  MemberReply,
} from '../messages/member-messages.ts';
import type { DatabaseRole } from '../replication/database-role.ts';
import type { MemberPlace } from '../replication/member-place.ts';

export interface SeatMemberOptions {
  readonly place: MemberPlace;
  readonly send: (message: MemberNews) => void;
  readonly role: (role: DatabaseRole) => void;
}

/** The cluster for an actor on a worker: asks the engine for it, and tells it what is seen. */
export class SeatMember {
  readonly #options: SeatMemberOptions;
  readonly #ended = new AbortController();
  readonly #waits = new Map<number, AbortController>();
  #leader: Lead | undefined;
  /** True while the actor makes a database that must be new, and that nobody knows of yet. */
  #isNew = false;
  /** True if entry 0 is surely that of this actor. */
  #hasCreated = false;
  #handOver: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;

  constructor(options: SeatMemberOptions) {
    this.#options = options;
  }

  /** What the actor is started with; `mustBeNew`: it makes the log. */
  data(handedTerm: number | undefined, mustBeNew: boolean): MemberData {
    this.#isNew = mustBeNew;
    const { log, me, entryBytesMax, leaseMillis, waitsForLocalSync } = this.#options.place;
    const known = { log, me, entryBytesMax, leaseMillis, waitsForLocalSync };
    return { ...known, handedTerm, news: this.#news() };
  }

  /** Tells the actor what is seen now; `isDue`: so that it looks at once. */
  look(isDue: boolean): void {
    this.#options.send({ kind: 'look', news: this.#news(), isDue });
  }

  handOver(to: Lead): Promise<void> {
    if (this.#handOver !== undefined) {
      return Promise.reject(new Error('the database is being handed over already'));
    }
    return new Promise((resolve, reject) => {
      this.#handOver = { resolve, reject };
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
      case 'handedOver': {
        const waiting = this.#handOver;
        this.#handOver = undefined;
        if (message.failure === undefined) waiting?.resolve();
        else waiting?.reject(new Error(message.failure));
        return;
      }
      default:
        unreachable(message);
    }
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
    return { leader: leader?.boot, history: place.history(), around: place.look(leader) };
  }

  async #answer(id: number, ask: MemberAsk): Promise<void> {
    if (ask.kind === 'stop') {
      this.#waits.get(ask.of)?.abort();
      return;
    }
    let reply: MemberReply;
    try {
      reply = await this.#reply(id, ask);
    } catch (error) {
      reply = { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
    }
    if (!this.#ended.signal.aborted) this.#options.send({ kind: 'memberReply', id, reply });
  }

  async #reply(id: number, ask: Exclude<MemberAsk, { kind: 'stop' }>): Promise<MemberReply> {
    const { sharedLog, log, acknowledgedElsewhere } = this.#options.place;
    switch (ask.kind) {
      case 'append': {
        const { seq, bytes, after } = ask;
        const [result = 'unknown'] = await sharedLog.append([{ log, seq, bytes, after }]);
        return { kind: 'append', result };
      }
      case 'read':
        return {
          kind: 'read',
          answer: await sharedLog.read(log, ask.from, ask.bytesMax, ask.countMax),
        };
      case 'wait':
        await this.#wait(id, ask.from);
        return { kind: 'wait' };
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
