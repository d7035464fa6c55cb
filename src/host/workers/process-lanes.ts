import type { Duplex } from 'node:stream';
import { limits } from '../../limits.ts';
import { emptyEnv } from '../../module/module-env.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { EnvSource } from '../lanes/lane-env.ts';
import {
  encodeLaneMessage,
  type LaneMessage,
  LaneMessageReader,
  type ToKeeper,
} from '../messages/lane-frames.ts';
import type { OpenWay, Outbound } from '../outbound/outbound.ts';
import { type Arrived, lostText, RequestPort } from '../outbound/request-way.ts';
import { ChangeNotices } from './change-notices.ts';
import { PacedChannel } from './paced-channel.ts';
import type { LaneOwner, LanePlaces } from './seat-lanes.ts';

export interface ProcessLanesOptions {
  readonly identity: DatabaseIdentity;
  /** Counts the resets of the database. */
  readonly generation: number;
  readonly places: LanePlaces;
  /** Sends the HTTP requests of its lanes; absent: they send none. */
  readonly outbound: Outbound | undefined;
  /** Has the configuration of its lanes; absent: they have none. */
  readonly env: EnvSource | undefined;
  /** Called before a lane may start, with how many it then has. */
  readonly entering: (lanes: number) => void;
  /** It has sent what no keeper sends. */
  readonly broken: (error: unknown) => void;
  /** It cannot end one of its lanes. */
  readonly stuck: () => void;
}

/** Places that a process can have or wait for at once: some may be on their way back. */
const placesMax = 2 * limits.databaseLanesMax;

/** Each of its lanes may send as many as a database may have under way; the rest is refused. */
const requestsMax = limits.databaseLanesMax * limits.outboundRequestsMax;

/**
 * The lanes of one process, as the gateway sees them: it gives them their places and their
 * configuration, and sends their HTTP requests, for the database that the process was started for.
 * What the process says is checked: a program may have taken it over.
 */
export class ProcessLanes implements LaneOwner {
  readonly #options: ProcessLanesOptions;
  readonly #channel: PacedChannel;
  readonly #messages = new LaneMessageReader();
  #entered = 0;
  /** Those that wait for a place; each call withdraws one. */
  #waiting: (() => void)[] = [];
  /** Requests that have no answer yet. */
  readonly #requests = new Set<number>();
  /** Where they go, from the first one on. */
  #sending: { readonly open: OpenWay; readonly port: RequestPort } | undefined;
  readonly #unfollow: (() => void) | undefined;
  readonly #changes = new ChangeNotices(() => this.#send({ kind: 'envChanged' }));
  #isEnvAsked = false;
  /** Tasks on the history that have no answer yet. */
  readonly #tasks = new Map<number, (answer: string) => void>();
  #lastTask = 0;
  #hasEnded = false;

  constructor(channel: Duplex | undefined, options: ProcessLanesOptions) {
    this.#options = options;
    const changed = () => this.#changes.changed();
    this.#unfollow = options.env?.follow(options.identity, changed);
    this.#channel = new PacedChannel(channel, {
      read: (chunk, isEnough) =>
        this.#messages.push(chunk, (message) => this.#receive(message), isEnough),
      broken: options.broken,
    });
  }

  wanted(isWanted: boolean): void {
    this.#send({ kind: 'wanted', isWanted });
  }

  /** Has the process do a task on the files of its history; empty: it has ended. */
  history(task: string, signal: AbortSignal): Promise<string> {
    if (this.#hasEnded) return Promise.resolve('');
    return new Promise((resolve) => {
      this.#lastTask = (this.#lastTask % 0xffff_ffff) + 1;
      const id = this.#lastTask;
      const stop = (): void => this.#send({ kind: 'stopHistory', id });
      this.#tasks.set(id, (answer) => {
        signal.removeEventListener('abort', stop);
        resolve(answer);
      });
      this.#send({ kind: 'history', id, task });
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
    });
  }

  /** The process is gone: so are its lanes and their requests. */
  end(): void {
    this.#hasEnded = true;
    for (const answer of this.#tasks.values()) answer('');
    this.#tasks.clear();
    this.#unfollow?.();
    this.#changes.end();
    this.#sending?.open.close();
    this.#sending?.port.close();
    const hadAny = this.count > 0;
    for (const withdraw of this.#waiting.splice(0)) withdraw();
    for (; this.#entered > 0; this.#entered -= 1) this.#options.places.release();
    if (hadAny) this.#options.places.leave(this);
    this.#channel.destroy();
  }

  /** Those that run, and those that wait for a place. */
  get count(): number {
    return this.#entered + this.#waiting.length;
  }

  #receive(message: LaneMessage): void {
    if (this.#hasEnded) return;
    switch (message.kind) {
      case 'enter':
        this.#enter();
        return;
      case 'withdraw':
        // Its place may be on the way: then it comes back.
        this.#waiting.pop()?.();
        this.#leftIfEmpty();
        return;
      case 'leave':
        if (this.#entered === 0) throw new Error('a lane ends that has not begun');
        this.#entered -= 1;
        this.#options.places.release();
        this.#leftIfEmpty();
        return;
      case 'request':
        this.#request(message);
        return;
      case 'abort':
        // It may have been answered meanwhile.
        if (this.#requests.has(message.id)) {
          this.#sending?.port.post({ kind: 'cancel', id: message.id });
        }
        return;
      case 'stuck':
        this.#options.stuck();
        return;
      case 'envSeen':
        this.#changes.seen();
        return;
      case 'historyDone': {
        const answer = this.#tasks.get(message.id);
        if (answer === undefined) throw new Error('an answer to a task that it was not given');
        this.#tasks.delete(message.id);
        answer(message.answer);
        return;
      }
      case 'askEnv':
        if (this.#isEnvAsked) throw new Error('it asks for what it will get');
        this.#isEnvAsked = true;
        void this.#answerEnv(message.program);
        return;
      default:
        throw new Error(`a message of the kind \`${message.kind}\``);
    }
  }

  #enter(): void {
    if (this.count >= placesMax) throw new Error('more lanes than a database may have');
    const { places, entering } = this.#options;
    if (this.count === 0) places.join(this);
    let withdraw: () => void = () => undefined;
    const waiting = () => withdraw();
    this.#waiting.push(waiting);
    withdraw = places.enter(() => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      this.#entered += 1;
      entering(this.#entered);
      this.#send({ kind: 'entered' });
    });
  }

  #leftIfEmpty(): void {
    if (this.count === 0) this.#options.places.leave(this);
  }

  /** The one who sends it looks at the rest of it. */
  #request({ id, head, body, redirect }: Extract<LaneMessage, { kind: 'request' }>): void {
    const { outbound } = this.#options;
    if (outbound?.isEnabled !== true) throw new Error('a request where none may be sent');
    if (this.#requests.has(id)) throw new Error('a request with the number of another one');
    if (this.#requests.size >= requestsMax) throw new Error('too many requests');
    this.#requests.add(id);
    this.#sending ??= this.#openWay(outbound);
    const moved = [head.buffer as ArrayBuffer, body.buffer as ArrayBuffer];
    this.#sending.port.post({ kind: 'send', id, head, body, redirect }, moved);
  }

  #openWay(outbound: Outbound) {
    const { identity, broken } = this.#options;
    const open = outbound.open(identity, {
      lanes: limits.databaseLanesMax,
      broken: (message) => broken(new Error(message)),
    });
    return { open, port: new RequestPort(open.way, (arrived) => this.#answer(arrived)) };
  }

  async #answerEnv(program: string): Promise<void> {
    const { env, identity, generation, broken } = this.#options;
    try {
      const reader = { identity, generation, program };
      const current = env === undefined ? emptyEnv : await env.whole(reader);
      this.#isEnvAsked = false;
      this.#send({ kind: 'env', env: current });
    } catch (error) {
      broken(error);
    }
  }

  #answer(arrived: Arrived): void {
    const lost = { kind: 'failed', message: lostText } as const;
    const answers =
      arrived === 'lost' ? [...this.#requests].map((id) => ({ id, outcome: lost })) : arrived;
    for (const answer of answers) {
      this.#requests.delete(answer.id);
      this.#send({ kind: 'answer', ...answer });
    }
  }

  /** What a process does not read is kept here, so it may ask for no more until it does. */
  #send(message: ToKeeper): void {
    if (this.#hasEnded) return;
    if (this.#channel.write(encodeLaneMessage(message))) this.#channel.holdUntilWritten();
  }
}
