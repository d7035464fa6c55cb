import type { IncomingMessage } from 'node:http';
import { payersOf } from '../auth/payers.ts';
import type { ClusterPart } from '../cluster/cluster-part.ts';
import { hintHeaders } from '../cluster/leader-hint.ts';
import type { ForwardAnswer, ForwardRequest } from '../cluster/link-client.ts';
import type { Led } from '../cluster/routing.ts';
import type { ForwardedClient, ForwardedHead } from '../cluster/settled-caller.ts';
import { Refusal } from '../database/outcome.ts';
import type { CopyOffer } from '../doors/copy-offer.ts';
import { placeHeaders } from '../doors/read-place.ts';
import { type GivenWish, wishOf } from '../doors/read-wish.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import { parseTarget } from '../host/registry/names.ts';
import { registryIdentity } from '../host/registry/registry.ts';
import { type CopyTimes, timesFor } from '../host/replication/copy-times.ts';
import { noEngine } from '../host/replication/engine-state.ts';
import {
  lostElsewhere,
  noLeader,
  noPlace,
  tooOldHere,
} from '../host/replication/leader-refusals.ts';
import { readCopy } from '../host/replication/read-copy.ts';
import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { type Exchange, empty, type HeaderLine, type ReadCopy, type Reply } from './exchange.ts';
import { tooSlow } from './read-body.ts';

/** A request that may have to go to another host. */
export interface PassableExchange extends Pick<Exchange, 'method' | 'caller' | 'abandoned'> {
  readonly incoming: Pick<IncomingMessage, 'url' | 'rawHeaders'>;
  /** What another host said of it; absent: a client sent it. */
  readonly forwarded: ForwardedHead | undefined;
  readonly client: ForwardedClient;
  /** True if an endpoint has read the body in pieces, which are gone. */
  readonly isSpent: boolean;
  /** The copy that the endpoint reads. */
  copy: ReadCopy | undefined;
  /** A copy that the endpoint may read, if it finds that the request wants that. */
  offer: CopyOffer | undefined;
  /** The body: kept, if it is short or an endpoint has read it. */
  passedBody(): Promise<ForwardRequest['body']>;
  /** How long it may bring nothing. */
  readonly bodyIdleMillisMax: number;
  inHandUntil(done: Promise<unknown>): void;
}

export interface PassingOnOptions {
  readonly part: Pick<
    ClusterPart,
    | 'name'
    | 'forward'
    | 'forwardJob'
    | 'isLedElsewhere'
    | 'isBroken'
    | 'hintFor'
    | 'copies'
    | 'knowsRights'
    | 'engine'
  >;
  /** The identity behind a target; throws `Refusal` if there is none. */
  readonly resolve: (target: string) => DatabaseIdentity;
  /** Throws `Refusal` if there is none. */
  readonly database: (identity: DatabaseIdentity) => HostedDatabase;
}

/** What a client asks for: which database, and from where it may be read, if it is a read. */
export interface Wanted {
  /** As the client named it. */
  readonly target: string | undefined;
  /** Throws `HttpError` for parameters that are wrong. */
  readonly wish?: (() => GivenWish | undefined) | undefined;
  /** True: the endpoint itself knows whether a copy will do. */
  readonly takesOffer?: boolean | undefined;
}

/**
 * Takes requests to the host that leads what they are about, if that is another one: the database
 * of their path; or the registry, if that is what an endpoint here has changed, or knows nothing
 * of the database. A request that another host has sent is answered here, or refused with 421.
 */
export class PassingOn {
  readonly #options: PassingOnOptions;

  constructor(options: PassingOnOptions) {
    this.#options = options;
  }

  async serve(
    exchange: PassableExchange,
    wanted: Wanted,
    work: () => Promise<Reply> | Reply,
  ): Promise<Reply> {
    let answered = (): void => undefined;
    const untilAnswered = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const waiter = () => ({
      payers: payersOf(exchange.caller, exchange.client.address),
      answered: untilAnswered,
    });
    try {
      const times = timesFor(waiter, this.#options.part.copies);
      return await this.#serve(exchange, wanted, { work, times });
    } finally {
      answered();
    }
  }

  async #serve(
    exchange: PassableExchange,
    { target, wish, takesOffer }: Wanted,
    { work, times }: Work,
  ): Promise<Reply> {
    const { forwarded } = exchange;
    const database = target === undefined ? undefined : this.#find(target);
    const isForHere = forwarded !== undefined && !forwarded.isAsked;
    const { knowsRights } = this.#options.part;
    const mayRead = forwarded === undefined && this.#isElsewhere(database) && knowsRights;
    if (wish !== undefined && mayRead) {
      const read = await this.#readHere(exchange, database, wish(), { work, times });
      if (read !== undefined) return this.#named(read);
    }
    if (takesOffer === true && mayRead) {
      const reply = await this.#offerHere(exchange, database, { work, times });
      if (reply !== undefined) return this.#named(reply);
    }
    let next: Next | undefined =
      !isForHere && this.#isElsewhere(database) ? { database, isAsked: false } : undefined;
    for (let turn = 0; turn < turnsMax; turn++) {
      const passed = next === undefined ? undefined : await this.#passIfThere(exchange, next);
      if (passed !== undefined) return passed;
      try {
        return this.#named(await work());
      } catch (error) {
        const ofJob = await this.#passJob(error, exchange);
        if (ofJob !== undefined) return ofJob;
        next = this.#nextFor(error, database, exchange);
        if (next === undefined) return this.#refused(error, exchange);
        if (exchange.isSpent) throw this.#nobody();
      }
    }
    throw this.#nobody();
  }

  /** Without the engine nobody can begin to lead. */
  #nobody(): Refusal {
    return this.#options.part.engine.isAway ? noEngine() : noLeader();
  }

  /** Lets the endpoint read this host's copy; `undefined`: the leader is to answer. */
  async #offerHere(
    exchange: PassableExchange,
    database: DatabaseIdentity,
    { work, times }: Work,
  ): Promise<Reply | undefined> {
    let state: 'open' | 'passed' | 'begun' = 'open';
    const passOn = (): boolean => {
      if (state === 'open') state = 'passed';
      return state === 'passed';
    };
    const { copy } = this.#options.database(database).handle;
    exchange.offer = { database, copy, times, passOn };
    try {
      const reply = await work();
      if (state === 'open') state = 'begun';
      return state === 'begun' ? reply : undefined;
    } finally {
      exchange.offer = undefined;
    }
  }

  /** Answers from this host's copy; `undefined`: the leader is to answer. */
  async #readHere(
    exchange: PassableExchange,
    identity: DatabaseIdentity,
    given: GivenWish | undefined,
    { work, times }: Work,
  ): Promise<Reply | undefined> {
    if (given === undefined) return undefined;
    const database = this.#options.database(identity);
    const { copy: handle } = database.handle;
    const readable = { database: identity, copy: handle, times };
    const read = await readCopy(readable, wishOf(given, database), async () => {
      const copy = { handle, offset: times.settledOffset(identity) };
      exchange.copy = copy;
      try {
        return { answer: await work(), offset: copy.offset };
      } finally {
        exchange.copy = undefined;
      }
    });
    if (read.kind === 'tooOld') throw tooOldHere();
    if (read.kind === 'leader') return undefined;
    const { answer, offset, ageMillis } = read;
    const place = { role: 'follower', generation: database.generation, offset, ageMillis } as const;
    return { ...answer, headers: { ...answer.headers, ...placeHeaders(place) } };
  }

  #find(target: string): DatabaseIdentity | undefined {
    if (parseTarget(target).kind === 'invalid') return undefined;
    try {
      const identity = this.#options.resolve(target);
      // A name outlives its database.
      this.#options.database(identity);
      return identity;
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  #isElsewhere(database: DatabaseIdentity | undefined): database is DatabaseIdentity {
    return database !== undefined && this.#options.part.isLedElsewhere(database);
  }

  /** Where a request belongs that an endpoint here could not serve; `undefined`: nowhere else. */
  #nextFor(
    error: unknown,
    database: DatabaseIdentity | undefined,
    { forwarded }: PassableExchange,
  ): Next | undefined {
    if (!(error instanceof Refusal)) return undefined;
    if ((forwarded?.hops ?? 0) >= limits.forwardHopsMax) return undefined;
    const isRegistryElsewhere = this.#isElsewhere(registryIdentity);
    const { code } = error.body;
    if (code === 'name.unknown' || code === 'database.unknown') {
      const isNews = isRegistryElsewhere && forwarded === undefined;
      return isNews ? { database: registryIdentity, isAsked: true } : undefined;
    }
    if (code !== 'database.notLeader') return undefined;
    const isRegistrys = database === undefined || !this.#isElsewhere(database);
    if (isRegistrys && isRegistryElsewhere) return { database: registryIdentity, isAsked: false };
    const isForHere = forwarded !== undefined && !forwarded.isAsked;
    return isForHere || database === undefined ? undefined : { database, isAsked: false };
  }

  /** A job is known to the host that runs it; `undefined`: no host has it, or it is no job. */
  async #passJob(error: unknown, exchange: PassableExchange): Promise<Reply | undefined> {
    const isUnknown = error instanceof Refusal && error.body.code === 'job.unknown';
    const [, id] = /^\/v1\/jobs\/([0-9a-f]{32})(?:$|\?)/.exec(exchange.incoming.url ?? '') ?? [];
    if (!isUnknown || id === undefined || exchange.forwarded !== undefined) return undefined;
    const next = { database: registryIdentity, isAsked: false };
    const answer = await this.#options.part.forwardJob(id, await requestOf(exchange, next));
    if (answer === undefined || answer.kind === 'notDone') return undefined;
    return answerOf(exchange, { ...answer, leader: undefined });
  }

  /** 421 stays among hosts. */
  #refused(error: unknown, { forwarded }: PassableExchange): Reply {
    const isNotLeader = error instanceof Refusal && error.body.code === 'database.notLeader';
    if (!isNotLeader) throw error;
    if (forwarded === undefined || forwarded.isAsked) throw this.#nobody();
    return empty(421, hintHeaders(this.#options.part.hintFor(forwarded.database)));
  }

  #named(reply: Reply): Reply {
    const named = { 'reducerdb-host': this.#options.part.name };
    return { ...reply, headers: { ...reply.headers, ...named } };
  }

  /** Where nobody leads what is broken here, this host says what is wrong. */
  async #passIfThere(exchange: PassableExchange, next: Next): Promise<Reply | undefined> {
    try {
      return await this.#pass(exchange, next);
    } catch (error) {
      const isNobody = error instanceof Refusal && error.body.code === 'database.noLeader';
      if (!isNobody || exchange.isSpent || !this.#options.part.isBroken(next.database)) throw error;
      return undefined;
    }
  }

  /** `undefined`: this host leads by now. */
  async #pass(exchange: PassableExchange, next: Next): Promise<Reply | undefined> {
    const led = await this.#options.part.forward(await requestOf(exchange, next));
    if (led.kind === 'noLeader') throw this.#nobody();
    return answerOf(exchange, led);
  }
}

/** What an endpoint does, and what it knows of copies. */
interface Work {
  readonly work: () => Promise<Reply> | Reply;
  readonly times: CopyTimes;
}

/** The host that a request belongs to, by what it leads. */
type Next = Pick<ForwardedHead, 'database' | 'isAsked'>;

/** A database that changes hands more often while a request is here is not waited for. */
const turnsMax = 4;

async function requestOf(exchange: PassableExchange, next: Next): Promise<ForwardRequest> {
  const { incoming, method, caller, client, forwarded, bodyIdleMillisMax } = exchange;
  const hops = forwarded?.hops ?? 0;
  const waitsMillis = forwarded?.waitsMillis ?? limits.waitLeaderMillis;
  return {
    ...{ method, path: incoming.url ?? '/', rawHeaders: incoming.rawHeaders },
    ...{ body: await exchange.passedBody(), bodyIdleMillisMax },
    head: { ...next, caller, client, waitsMillis, hops },
    signal: exchange.abandoned,
  };
}

/** What came of a request at another host. */
type Came = Exclude<Led<ForwardAnswer>, { kind: 'noLeader' }>;

function answerOf(exchange: PassableExchange, led: Came): Reply | undefined {
  if (led.kind === 'answered') {
    const { answer } = led;
    exchange.inHandUntil(new Promise((resolve) => answer.once('close', resolve)));
  }
  return replyOf(led, exchange);
}

function replyOf(led: Came, { bodyIdleMillisMax }: PassableExchange): Reply | undefined {
  switch (led.kind) {
    case 'here':
      return undefined;
    case 'answered':
      return passedOn(led.answer, led.leader);
    case 'unknown':
      throw lostElsewhere();
    case 'slowBody':
      throw tooSlow(bodyIdleMillisMax);
    case 'overloaded':
      throw noPlace(led.full);
  }
}

function passedOn(answer: IncomingMessage, leader: string | undefined): Reply {
  const { statusCode: status = 502, rawHeaders } = answer;
  const lines: HeaderLine[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    if (!connectionHeaders.test(name)) lines.push([name, value]);
  }
  const headers = leader === undefined || leader === '' ? {} : { 'reducerdb-leader': leader };
  return { status, headers, lines, passed: answer };
}

const connectionHeaders = /^(?:connection|keep-alive|transfer-encoding|trailer)$/i;
