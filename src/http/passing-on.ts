import type { IncomingMessage } from 'node:http';
import type { ClusterPart, Led } from '../cluster/cluster-part.ts';
import { hintHeaders } from '../cluster/leader-hint.ts';
import type { ForwardAnswer, ForwardRequest } from '../cluster/link-client.ts';
import type { ForwardedClient, ForwardedHead } from '../cluster/settled-caller.ts';
import { Refusal } from '../database/outcome.ts';
import { lostElsewhere, noLeader, tooManyWait } from '../doors/leader-refusals.ts';
import { parseTarget } from '../host/registry/names.ts';
import { registryIdentity } from '../host/registry/registry.ts';
import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { type Exchange, empty, type HeaderLine, type Reply } from './exchange.ts';

/** A request that may have to go to another host. */
export interface PassableExchange extends Pick<Exchange, 'method' | 'caller' | 'abandoned'> {
  readonly incoming: Pick<IncomingMessage, 'url' | 'rawHeaders'>;
  /** What another host said of it; absent: a client sent it. */
  readonly forwarded: ForwardedHead | undefined;
  readonly client: ForwardedClient;
  /** True if an endpoint has read the body in pieces, which are gone. */
  readonly isSpent: boolean;
  /** The body: kept, if it is short or an endpoint has read it. */
  passedBody(): Promise<ForwardRequest['body']>;
  inHandUntil(done: Promise<unknown>): void;
}

export interface PassingOnOptions {
  readonly part: Pick<ClusterPart, 'name' | 'forward' | 'isLedElsewhere' | 'hintFor'>;
  /** The identity behind a target; throws `Refusal` if there is none. */
  readonly resolve: (target: string) => DatabaseIdentity;
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

  /** `target`: the database that the request is for, as its client named it. */
  async serve(
    exchange: PassableExchange,
    target: string | undefined,
    work: () => Promise<Reply> | Reply,
  ): Promise<Reply> {
    const { forwarded } = exchange;
    const database = target === undefined ? undefined : this.#find(target);
    const isForHere = forwarded !== undefined && !forwarded.isAsked;
    let next: Next | undefined =
      !isForHere && this.#isElsewhere(database) ? { database, isAsked: false } : undefined;
    for (let turn = 0; turn < turnsMax; turn++) {
      const passed = next === undefined ? undefined : await this.#pass(exchange, next);
      if (passed !== undefined) return passed;
      try {
        return this.#named(await work());
      } catch (error) {
        next = this.#nextFor(error, database, exchange);
        if (next === undefined) return this.#refused(error, exchange);
        if (exchange.isSpent) throw noLeader();
      }
    }
    throw noLeader();
  }

  #find(target: string): DatabaseIdentity | undefined {
    if (parseTarget(target).kind === 'invalid') return undefined;
    try {
      return this.#options.resolve(target);
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

  /** 421 stays among hosts. */
  #refused(error: unknown, { forwarded }: PassableExchange): Reply {
    const isNotLeader = error instanceof Refusal && error.body.code === 'database.notLeader';
    if (!isNotLeader) throw error;
    if (forwarded === undefined || forwarded.isAsked) throw noLeader();
    return empty(421, hintHeaders(this.#options.part.hintFor(forwarded.database)));
  }

  #named(reply: Reply): Reply {
    const named = { 'reducerdb-host': this.#options.part.name };
    return { ...reply, headers: { ...reply.headers, ...named } };
  }

  /** `undefined`: this host leads by now. */
  async #pass(exchange: PassableExchange, next: Next): Promise<Reply | undefined> {
    const { incoming, method, caller, client, forwarded } = exchange;
    const hops = forwarded?.hops ?? 0;
    const waitsMillis = forwarded?.waitsMillis ?? limits.waitLeaderMillis;
    const led = await this.#options.part.forward({
      ...{ method, path: incoming.url ?? '/', rawHeaders: incoming.rawHeaders },
      body: await exchange.passedBody(),
      head: { ...next, caller, client, waitsMillis, hops },
      signal: exchange.abandoned,
    });
    if (led.kind === 'answered') {
      const { answer } = led;
      exchange.inHandUntil(new Promise((resolve) => answer.once('close', resolve)));
    }
    return replyOf(led);
  }
}

/** The host that a request belongs to, by what it leads. */
type Next = Pick<ForwardedHead, 'database' | 'isAsked'>;

/** A database that changes hands more often while a request is here is not waited for. */
const turnsMax = 4;

function replyOf(led: Led<ForwardAnswer>): Reply | undefined {
  switch (led.kind) {
    case 'here':
      return undefined;
    case 'answered':
      return passedOn(led.answer, led.leader);
    case 'unknown':
      throw lostElsewhere();
    case 'noLeader':
      throw noLeader();
    case 'overloaded':
      throw tooManyWait();
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
