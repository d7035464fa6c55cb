import { assert, unreachable } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { LogPoint } from '../../log/log-point.ts';
import type { FetchedSnapshot } from '../../log/snapshot-begin.ts';
import { cutText } from '../../module/log-line.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { LookAround } from '../../shared-log/member-options.ts';
import {
  type AppendItem,
  type AppendResult,
  type ConfirmItem,
  type ConfirmResult,
  EngineError,
  type ReadAnswer,
  type SharedLog,
  type StopSignal,
  type StreamedEntry,
} from '../../shared-log/shared-log.ts';
import type { OwnerIdentity } from '../../values/identity-roles.ts';
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
import { MemberRun } from '../replication/member-run.ts';

export interface ActorMemberOptions {
  readonly data: MemberData;
  readonly owner: OwnerIdentity;
  readonly generation: number;
  readonly post: (message: MemberOrder) => void;
  readonly warn: (message: string) => void;
}

/** The cluster as an actor sees it: the gateway, which reaches the engine, answers it. */
export class ActorMember {
  readonly run: MemberRun;
  readonly #post: (message: MemberOrder) => void;
  readonly #waiting = new Map<number, (reply: MemberReply) => void>();
  #news: ClusterNews;
  #lastId = 0;

  constructor({ data, owner, generation, post, warn }: ActorMemberOptions) {
    this.#post = post;
    const { news, handedTerm, coldReason, ...known } = data;
    this.#news = news;
    const place: MemberPlace = {
      ...{ ...known, owner, generation },
      sharedLog: this.#sharedLog(),
      history: () => this.#news.history,
      look: (leader) => this.#look(leader),
      readRestarts: () => this.#news.readRestarts,
      acknowledgedElsewhere: () => this.#elsewhere(),
      fetchSnapshot: (position) => this.#snapshot(position),
    };
    const role = (role: DatabaseRole): void => post({ kind: 'role', role });
    this.run = new MemberRun({
      ...{ place, handedTerm, coldReason, role, warn },
      readable: (reading) => post({ kind: 'readable', reading }),
    });
  }

  take(message: MemberNews): void {
    switch (message.kind) {
      case 'memberReply':
        this.#waiting.get(message.id)?.(message.reply);
        this.#waiting.delete(message.id);
        return;
      case 'look':
        this.#news = message.news;
        if (message.isDue) this.run.wake();
        return;
      case 'handOver':
        void this.#handOver(message.to);
        return;
      case 'settled':
        this.run.noteSettled(message.note);
        return;
      case 'renewLead':
        this.run.renewLead();
        return;
      case 'prepareReads':
        this.run.prepareReads();
        return;
      default:
        unreachable(message);
    }
  }

  /** Of a leader that the gateway has not heard of yet, nothing is known against it. */
  #look(leader: Lead | undefined): LookAround {
    const { around, leader: known } = this.#news;
    return known === leader?.boot ? around : { ...around, isGone: false, beatAgeMillis: 0 };
  }

  async #handOver(to: Lead): Promise<void> {
    try {
      await this.run.handOver(to);
      this.#post({ kind: 'handedOver', failure: undefined });
    } catch (error) {
      const failure = cutText(String(error), limits.reportCharactersMax);
      this.#post({ kind: 'handedOver', failure });
    }
  }

  #ask(ask: MemberAsk, began?: (id: number) => void): Promise<MemberReply> {
    this.#lastId += 1;
    const id = this.#lastId;
    began?.(id);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#post({ kind: 'member', id, ask });
    });
  }

  async #elsewhere(): Promise<readonly LogPoint[]> {
    const reply = expected(await this.#ask({ kind: 'elsewhere' }));
    return reply.kind === 'elsewhere' ? reply.ends : [];
  }

  async #snapshot(position: number): Promise<FetchedSnapshot | undefined> {
    const reply = expected(await this.#ask({ kind: 'snapshot', position }));
    return reply.kind === 'snapshot' ? reply.fetched : undefined;
  }

  #sharedLog(): SharedLog {
    return {
      append: (items) => Promise.all(items.map((item) => this.#append(item))),
      read: (_, from, bytesMax, countMax) => this.#read(from, bytesMax, countMax),
      wait: (_, from, signal) => this.#wait(from, signal),
      streamed: (_, from) => this.#streamed(from),
      confirm: (items) => Promise.all(items.map((item) => this.#confirm(item))),
      create: async (_, bytes) => {
        const reply = await this.#ask({ kind: 'create', bytes });
        return reply.kind === 'create' ? reply.result : 'unknown';
      },
      remove: async () => {
        expected(await this.#ask({ kind: 'remove' }));
      },
      // These are the gateway's to decide.
      truncate: () => Promise.reject(new EngineError('an actor removes no entries')),
      capabilities: () => Promise.reject(new EngineError('an actor asks for no capabilities')),
    };
  }

  async #append({ seq, bytes, after }: AppendItem): Promise<AppendResult> {
    const reply = await this.#ask({ kind: 'append', seq, bytes, after });
    return reply.kind === 'append' ? reply.result : 'unknown';
  }

  async #confirm({ seq }: ConfirmItem): Promise<ConfirmResult> {
    const reply = await this.#ask({ kind: 'confirm', seq });
    return reply.kind === 'confirm' ? reply.result : 'unknown';
  }

  async #read(from: number, bytesMax: number, countMax?: number): Promise<ReadAnswer> {
    const reply = expected(await this.#ask({ kind: 'read', from, bytesMax, countMax }));
    assert(reply.kind === 'read', 'a read is answered by entries');
    return reply.answer;
  }

  async #streamed(from: number): Promise<readonly StreamedEntry[]> {
    const reply = await this.#ask({ kind: 'streamed', from });
    return reply.kind === 'streamed' ? reply.entries : [];
  }

  async #wait(from: number, signal: StopSignal): Promise<void> {
    let stop = (): void => undefined;
    const reply = this.#ask({ kind: 'wait', from }, (id) => {
      stop = () => this.#post({ kind: 'member', id: 0, ask: { kind: 'stop', of: id } });
    });
    signal.addEventListener('abort', stop);
    try {
      expected(await reply);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}

function expected(reply: MemberReply): MemberReply {
  if (reply.kind === 'failed') throw new EngineError(reply.message);
  return reply;
}
