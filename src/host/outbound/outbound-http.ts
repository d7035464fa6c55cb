import { setMaxListeners } from 'node:events';
import { limits } from '../../limits.ts';
import type { FetchOutcome, OutboundRequest, RedirectMode } from '../../module/lane.ts';
import { encodeHttpResponse } from '../../protocol/http-abi.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { BodyBytes, DatabaseTraffic } from './database-traffic.ts';
import { causesOf, shownUrl } from './failure-text.ts';
import { HostCounts, type HostFigures } from './host-counts.ts';
import { NameLookup } from './name-lookup.ts';
import { disabledText, type Sender } from './outbound.ts';
import { gateOf, type OutboundRules } from './outbound-rules.ts';
import { headOf, readBody } from './read-response.ts';
import { redirected } from './redirect.ts';
import { AddressRefusedError, type Hop, hostOf, sendRequest } from './send-request.ts';
import { sizeFault } from './size-fault.ts';

export interface OutboundOptions {
  readonly rules: OutboundRules;
  /** The names of a database, which the allow-list may use. */
  readonly namesOf: (database: DatabaseIdentity) => readonly string[];
  /** Called for a refused host, at most once per database in `limits.outboundRefusalMillis`. */
  readonly onRefused: (database: DatabaseIdentity, host: string) => void;
  /** Name servers with their ports; absent: those of the system. */
  readonly nameServers?: readonly string[];
  /** Figures to go on with; absent: none. */
  readonly figures?: readonly HostFigures[];
}

/** A request while it runs. */
interface Job {
  readonly database: DatabaseIdentity;
  readonly traffic: DatabaseTraffic;
  readonly bytes: BodyBytes;
  readonly signal: AbortSignal;
  readonly redirect: RedirectMode;
  /** The URL that is asked now, after redirects. */
  url: URL;
}

/** Sends requests from this thread, with connections for each database. */
export class OutboundHttp implements Sender {
  readonly #options: OutboundOptions;
  readonly #names: NameLookup;
  readonly #traffic = new Map<DatabaseIdentity, DatabaseTraffic>();
  readonly #refusedAt = new Map<DatabaseIdentity, number>();
  readonly #running = new Set<AbortController>();
  readonly #counts: HostCounts;
  #isClosed = false;

  constructor(options: OutboundOptions) {
    this.#options = options;
    this.#names = new NameLookup(options.nameServers);
    this.#counts = new HostCounts(options.figures);
  }

  get isEnabled(): boolean {
    return this.#options.rules.mode !== 'off';
  }

  /** Requests by database and host since the service started. */
  get figures(): readonly HostFigures[] {
    return this.#counts.all;
  }

  async fetch(
    database: DatabaseIdentity,
    request: OutboundRequest,
    signal: AbortSignal,
  ): Promise<FetchOutcome> {
    if (!this.isEnabled) return { kind: 'failed', message: disabledText };
    let url: URL | undefined;
    try {
      const hop = hopOf(request);
      url = hop.url;
      return await this.#run(database, hop, request, signal);
    } catch (error) {
      const [cause, asked] = error instanceof HopError ? [error.cause, error.url] : [error, url];
      const about = asked === undefined ? '' : ` for url (${shownUrl(asked)})`;
      return { kind: 'failed', message: `error sending request${about}: ${causesOf(cause)}` };
    }
  }

  /** Ends running requests and closes all connections. */
  close(): void {
    this.#isClosed = true;
    for (const running of this.#running) running.abort(new Error('the service stops'));
    for (const { connections } of this.#traffic.values()) connections.close();
    this.#names.close();
  }

  /** Ends what is kept for a database that was deleted. */
  forget(database: DatabaseIdentity): void {
    this.#traffic.get(database)?.connections.close();
    this.#traffic.delete(database);
    this.#counts.forget(database);
    this.#refusedAt.delete(database);
  }

  async #run(
    database: DatabaseIdentity,
    hop: Hop,
    { head, redirect = 'follow' }: OutboundRequest,
    signal: AbortSignal,
  ): Promise<FetchOutcome> {
    if (this.#isClosed) throw new Error('the service stops');
    if (this.#running.size >= limits.outboundServiceRequestsMax) {
      throw new Error(`${limits.outboundServiceRequestsMax} requests of this service are running`);
    }
    const traffic = this.#trafficOf(database);
    traffic.begin();
    const bytes = new BodyBytes(traffic);
    const ending = new AbortController();
    const cancel = () => ending.abort(new Error('the request was cancelled'));
    const late = () => ending.abort(new Error('operation timed out'));
    const timer = setTimeout(late, timeoutMillis(head.timeoutMicros));
    // One procedure may send many requests with one signal.
    setMaxListeners(0, signal);
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    this.#running.add(ending);
    const job: Job = {
      database,
      traffic,
      bytes,
      signal: ending.signal,
      redirect,
      url: hop.url,
    };
    try {
      bytes.take(hop.body.length);
      return await this.#follow(job, hop);
    } catch (error) {
      throw new HopError(job.url, ending.signal.aborted ? ending.signal.reason : error);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      this.#running.delete(ending);
      bytes.giveBack();
      traffic.end();
      this.#dropLater(database, traffic);
    }
  }

  async #follow(job: Job, first: Hop): Promise<FetchOutcome> {
    let hop = first;
    for (let redirects = 0; redirects <= limits.outboundRedirectsMax; redirects += 1) {
      job.url = hop.url;
      const answer = await this.#hop(job, hop);
      if (answer.kind !== 'redirect') {
        return { ...answer, url: hop.url.href, isRedirected: redirects > 0 };
      }
      hop = answer.next;
    }
    throw new Error('too many redirects');
  }

  /** Asks one server, while one of the places for its host is free. */
  async #hop({ database, traffic, bytes, signal, redirect }: Job, hop: Hop): Promise<HopAnswer> {
    const { url } = hop;
    requireWeb(url);
    const host = hostOf(url);
    const giveBack = await traffic.places.take(url.host, signal);
    let figures: HostFigures | undefined;
    try {
      const context = { gate: this.#gateOf(database, url), names: this.#names, signal };
      const response = await sendRequest(hop, { ...context, connections: traffic.connections });
      figures = this.#counts.of(database, host);
      figures.bytesSent += hop.body.length;
      const next = redirected(hop, response.statusCode ?? 0, response.headers.location);
      if (next !== undefined && redirect !== 'manual') {
        // Its body could be endless; a new connection costs less than finding out.
        response.destroy();
        figures.responses += 1;
        if (redirect === 'error') throw new Error('the server redirects, which was not allowed');
        return { kind: 'redirect', next };
      }
      const body = await readBody(response, bytes);
      figures.responses += 1;
      figures.bytesReceived += body.length;
      return { kind: 'response', head: encodeHttpResponse(headOf(response)), body };
    } catch (error) {
      const isRefused = error instanceof AddressRefusedError;
      if (isRefused) this.#noteRefused(database, host);
      figures ??= isRefused ? this.#counts.ofRefused(database) : this.#counts.of(database, host);
      figures.failures += 1;
      throw error;
    } finally {
      giveBack();
    }
  }

  #gateOf(database: DatabaseIdentity, url: URL) {
    const { rules, namesOf } = this.#options;
    const keys = [identityToHex(database), ...namesOf(database)];
    const port = Number(url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port);
    return gateOf(rules, keys, { host: hostOf(url), port });
  }

  #noteRefused(database: DatabaseIdentity, host: string): void {
    const now = performance.now();
    const last = this.#refusedAt.get(database);
    if (last !== undefined && now - last < limits.outboundRefusalMillis) return;
    this.#refusedAt.set(database, now);
    this.#options.onRefused(database, host);
  }

  #trafficOf(database: DatabaseIdentity): DatabaseTraffic {
    const traffic = this.#traffic.get(database) ?? new DatabaseTraffic();
    this.#traffic.set(database, traffic);
    return traffic;
  }

  /** Connections that nobody uses end by themselves; then nothing is kept for the database. */
  #dropLater(database: DatabaseIdentity, traffic: DatabaseTraffic): void {
    if (traffic.isScheduled) return;
    traffic.isScheduled = true;
    const drop = () => {
      traffic.isScheduled = false;
      if (this.#traffic.get(database) !== traffic) return;
      if (traffic.isIdle) this.#traffic.delete(database);
      else this.#dropLater(database, traffic);
    };
    setTimeout(drop, 2 * limits.outboundIdleMillisMax).unref();
  }
}

type HopAnswer =
  | Omit<Extract<FetchOutcome, { readonly kind: 'response' }>, 'url' | 'isRedirected'>
  | { readonly kind: 'redirect'; readonly next: Hop };

/** What went wrong, and the URL that was asked at that moment. */
class HopError extends Error {
  override readonly name = 'HopError';
  readonly url: URL;

  constructor(url: URL, cause: unknown) {
    super('the request failed', { cause });
    this.url = url;
  }
}

function hopOf(request: OutboundRequest): Hop {
  const { head, body } = request;
  const { uri, headers } = head;
  // The platform sends it like this in any case.
  const method = head.method.toUpperCase();
  if (!URL.canParse(uri)) throw new Error('the URL is not valid');
  const url = new URL(uri);
  url.hash = '';
  const fault = sizeFault(request);
  if (fault !== undefined) throw new Error(fault);
  if (method === 'CONNECT') throw new Error('the method CONNECT is not available');
  return { url, method, headers, body };
}

function requireWeb({ protocol, username, password }: URL): void {
  const isWeb = protocol === 'http:' || protocol === 'https:';
  if (!isWeb) throw new Error('the URL is not http or https');
  if (username !== '' || password !== '') {
    throw new Error('the URL has a user or a password; send the header `authorization` instead');
  }
}

function timeoutMillis(micros: bigint | undefined): number {
  if (micros === undefined) return limits.outboundMillis;
  if (micros <= 0n) return 0;
  return Math.min(Math.ceil(Number(micros) / 1_000), limits.outboundMillisMax);
}
