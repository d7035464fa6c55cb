import type { Duplex } from 'node:stream';
import type { FetchOutcome, OutboundRequest } from '../../module/lane.ts';
import type { EnvReader, ModuleEnv } from '../../module/module-env.ts';
import { encodeHttpRequest } from '../../protocol/http-abi.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { EnvSource } from '../lanes/lane-env.ts';
import {
  encodeLaneMessage,
  type FromKeeper,
  type LaneMessage,
  LaneMessageReader,
} from '../messages/lane-frames.ts';
import type { OpenWay, Outbound, Sender, WayOptions } from '../outbound/outbound.ts';
import { openWay } from '../outbound/way-requests.ts';
import type { LaneOwner, LanePlaces } from './seat-lanes.ts';

/** Does a task on the files of a history; `undefined`: the thread that does so has ended. */
type HistoryText = (task: string, signal: AbortSignal) => Promise<string | undefined>;

export interface KeeperLinkOptions {
  /** True: programs may send HTTP requests. */
  readonly sendsRequests: boolean;
  readonly history: HistoryText;
}

interface EnvQuestion {
  readonly program: string;
  readonly take: (env: ModuleEnv) => void;
}

/**
 * The keeper's way to the gateway: it asks for the places of its lanes and their configuration
 * there, and has their HTTP requests sent. The other end is `process-lanes.ts`.
 */
export class KeeperLink implements LanePlaces, Outbound, Sender, EnvSource {
  readonly isEnabled: boolean;
  readonly #channel: Duplex;
  readonly #messages = new LaneMessageReader();
  readonly #owners = new Set<LaneOwner>();
  #isWanted = false;
  /** Those that wait for a place, in the order in which they asked. */
  #waiting: (() => void)[] = [];
  readonly #requests = new Map<number, (outcome: FetchOutcome) => void>();
  #lastId = 0;
  readonly #envFollowers = new Set<() => void>();
  /** Lanes that wait for the configuration of one program, and those that are to be asked for. */
  #envAsked: EnvQuestion[] = [];
  #envNext: EnvQuestion[] = [];
  readonly #work: HistoryText;
  /** Tasks on the history that are not done. */
  readonly #tasks = new Map<number, AbortController>();

  constructor(channel: Duplex, { sendsRequests, history }: KeeperLinkOptions) {
    this.isEnabled = sendsRequests;
    this.#channel = channel;
    this.#work = history;
    channel.on('data', (chunk: Buffer) => {
      this.#messages.push(chunk, (message) => this.#receive(message));
    });
  }

  join(owner: LaneOwner): void {
    this.#owners.add(owner);
    if (this.#isWanted) owner.wanted(true);
  }

  leave(owner: LaneOwner): void {
    this.#owners.delete(owner);
  }

  enter(begin: () => void): () => void {
    this.#waiting.push(begin);
    this.#send({ kind: 'enter' });
    return () => {
      if (!this.#waiting.includes(begin)) return;
      this.#waiting = this.#waiting.filter((other) => other !== begin);
      this.#send({ kind: 'withdraw' });
    };
  }

  release(): void {
    this.#send({ kind: 'leave' });
  }

  open(database: DatabaseIdentity, options: WayOptions): OpenWay {
    return openWay(this, database, options);
  }

  /** In the name of the database whose process this is, which the gateway knows. */
  fetch(
    _database: DatabaseIdentity,
    { head, body, redirect = 'follow' }: OutboundRequest,
    signal: AbortSignal,
  ): Promise<FetchOutcome> {
    return new Promise((resolve) => {
      // Never 0.
      this.#lastId = (this.#lastId % 0xffff_ffff) + 1;
      const id = this.#lastId;
      const abort = () => this.#send({ kind: 'abort', id });
      this.#requests.set(id, (outcome) => {
        signal.removeEventListener('abort', abort);
        resolve(outcome);
      });
      this.#send({ kind: 'request', id, head: encodeHttpRequest(head), body, redirect });
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
    });
  }

  /** That of the database whose process this is, which the gateway knows. */
  whole({ program }: EnvReader): Promise<ModuleEnv> {
    return new Promise((take) => {
      this.#envNext.push({ program, take });
      this.#askEnv();
    });
  }

  follow(_database: DatabaseIdentity, changed: () => void): () => void {
    this.#envFollowers.add(changed);
    return () => this.#envFollowers.delete(changed);
  }

  /** Has the process ended, because one of its lanes cannot be. `told` follows. */
  stuck(told: () => void): void {
    this.#send({ kind: 'stuck' });
    this.#channel.end(told);
  }

  #receive(message: LaneMessage): void {
    switch (message.kind) {
      case 'entered': {
        const begin = this.#waiting.shift();
        if (begin === undefined) this.release();
        else begin();
        return;
      }
      case 'wanted':
        this.#isWanted = message.isWanted;
        for (const owner of this.#owners) owner.wanted(message.isWanted);
        return;
      case 'answer': {
        const answer = this.#requests.get(message.id);
        this.#requests.delete(message.id);
        answer?.(message.outcome);
        return;
      }
      case 'envChanged':
        for (const changed of this.#envFollowers) changed();
        this.#send({ kind: 'envSeen' });
        return;
      case 'env':
        for (const { take } of this.#envAsked.splice(0)) take(message.env);
        this.#askEnv();
        return;
      case 'history':
        void this.#keep(message.id, message.task);
        return;
      case 'stopHistory':
        this.#tasks.get(message.id)?.abort();
        return;
      default:
        throw new Error(`a message of the kind \`${message.kind}\``);
    }
  }

  async #keep(id: number, task: string): Promise<void> {
    const stop = new AbortController();
    this.#tasks.set(id, stop);
    const answer = (await this.#work(task, stop.signal)) ?? '';
    this.#tasks.delete(id);
    this.#send({ kind: 'historyDone', id, answer });
  }

  /** An answer to an earlier question may be out of date, so nobody joins one. */
  #askEnv(): void {
    const program = this.#envNext[0]?.program;
    if (this.#envAsked.length > 0 || program === undefined) return;
    this.#envAsked = this.#envNext.filter((one) => one.program === program);
    this.#envNext = this.#envNext.filter((one) => one.program !== program);
    this.#send({ kind: 'askEnv', program });
  }

  #send(message: FromKeeper): void {
    this.#channel.cork();
    for (const piece of encodeLaneMessage(message)) this.#channel.write(piece);
    this.#channel.uncork();
  }
}
