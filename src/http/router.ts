import { setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import { type RequestCaller, settleCaller, settledElsewhere } from '../auth/caller.ts';
import { type ClientAddresses, networkOf, type Passage } from '../auth/client-address.ts';
import type { HostTokens } from '../auth/host-tokens.ts';
import type { PageRules, Sender } from '../auth/page-rules.ts';
import { payersOf } from '../auth/payers.ts';
import type { RateLimiter, RequestRates } from '../auth/rate-limiter.ts';
import type { ClusterPart } from '../cluster/cluster-part.ts';
import type { ForwardRequest } from '../cluster/link-client.ts';
import {
  type ForwardedClient,
  type ForwardedHead,
  forwardedHeadOf,
} from '../cluster/settled-caller.ts';
import { Refusal } from '../database/outcome.ts';
import type { CopyOffer } from '../doors/copy-offer.ts';
import { pathBytesFault, tooManyRequestsText } from '../doors/request-faults.ts';
import { decodePathPart, hostFault, splitTarget } from '../doors/request-target.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import { limits } from '../limits.ts';
import { openHeaders, varyHeaders } from '../protocol/response-headers.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { appPath } from './app-files.ts';
import {
  type Exchange,
  empty,
  HttpError,
  Query,
  type ReadCopy,
  type ReceivedHead,
  type Reply,
  text,
} from './exchange.ts';
import { Load, type LoadBounds, type LoadShare, tooMuch } from './load.ts';
import { checkPage, verdictOn } from './origin.ts';
import { type PassableExchange, PassingOn } from './passing-on.ts';
import { forgetRest, readBody, readPieces, tooLong } from './read-body.ts';
import { askedOrigin, receivedHead } from './received-head.ts';
import { replyOfError } from './refusal-status.ts';
import { allowedMethods, type Method, type Route } from './route.ts';
import { sendLines } from './send-lines.ts';

type Env = { Bindings: HttpBindings };

export interface RouterOptions {
  readonly routes: readonly Route[];
  readonly tokens: HostTokens;
  readonly addresses: ClientAddresses;
  readonly rates: RequestRates;
  /** Which pages can use the service, and the names by which it is known. */
  readonly pages: PageRules;
  readonly bounds: LoadBounds;
  /** Absent: there are no hosts of apps. */
  readonly apps?: AppRouting;
  /** Absent: the service is alone. Present, and databases may be led by other hosts. */
  readonly cluster?: ClusterRouting | undefined;
  /** Called for each response of an endpoint with the path of its route, its status and time. */
  readonly onAnswer: (path: string, status: string, millis: number) => void;
  /** Called when a token keeps a request from the database that its path names. */
  readonly onTurnedAway: (
    target: string,
    caller: RequestCaller | undefined,
    why: 'token.invalid' | 'token.limited',
  ) => void;
  /** Called for an error that no endpoint expected; the client gets a 500 without its text. */
  readonly onError: (error: unknown, method: string, path: string) => void;
}

export interface AppRouting {
  /** Answers at hosts of apps, for all that is not of the API. */
  readonly route: Route;
  /** Whether two targets are the same database. */
  readonly isSameDatabase: (one: string, other: string) => boolean;
}

export interface ClusterRouting {
  readonly part: ClusterPart;
  /** The identity behind a target; throws `Refusal` if there is none. */
  readonly resolve: (target: string) => DatabaseIdentity;
  readonly database: (identity: DatabaseIdentity) => HostedDatabase;
}

/**
 * Routes the paths of the HTTP door. Only this file knows the HTTP library: it turns the library's
 * requests into `Exchange`s, settles the caller, and adds the headers that every response has.
 */
export function makeRouter(options: RouterOptions): Hono<Env> {
  const getPath = (_: Request, { env }: { env?: HttpBindings } = {}) => {
    const { path } = splitTarget(env?.incoming.url);
    const isOfApp = appOf(options, env?.incoming) !== undefined;
    return isOfApp && !/^\/v1(?:\/|$)/.test(path) ? appPath : path;
  };
  const app = new Hono<Env>({ getPath });
  const load = new Load(options.bounds);
  const passingOn = options.cluster && new PassingOn(options.cluster);
  for (const route of [
    ...options.routes,
    ...(options.apps === undefined ? [] : [options.apps.route]),
  ]) {
    app.all(route.path, async (context) => {
      const share = load.begin();
      if (share === undefined) return respondTo(context, tooMuch);
      const exchange = new HonoExchange(context, share, options);
      const beginMillis = performance.now();
      try {
        const reply = await answer(context, exchange, { options, route, passingOn });
        const label = route.label ?? route.path;
        options.onAnswer(label, shownStatus(route, reply), performance.now() - beginMillis);
        return respondTo(context, reply);
      } finally {
        exchange.endLoad();
      }
    });
  }
  app.notFound((context) => respondTo(context, manyHosts(context) ?? empty(404)));
  app.onError((error, context) => {
    options.onError(error, context.req.method, context.req.path);
    return respondTo(context, text(500, 'internal error'));
  });
  return app;
}

function appOf({ pages }: RouterOptions, incoming: IncomingMessage | undefined) {
  return pages.apps?.databaseOf(incoming?.headers.host);
}

function shownStatus({ isOfModules }: Route, { status }: Reply): string {
  return isOfModules ? `${Math.floor(status / 100)}xx` : String(status);
}

interface Answering {
  readonly options: RouterOptions;
  readonly route: Route;
  /** Absent: the service is alone. */
  readonly passingOn: PassingOn | undefined;
}

async function answer(
  context: Context<Env>,
  exchange: HonoExchange,
  answering: Answering,
): Promise<Reply> {
  const { options, route } = answering;
  const bad = manyHosts(context);
  if (bad !== undefined) return bad;
  if (!isHere(exchange, route, options)) return empty(404);
  // The host that the client asked has judged its page, and adds what pages need to the answer.
  if (exchange.forwarded !== undefined) {
    const reply = await attempt(() => serve(exchange, answering), exchange, context, options);
    exchange.hold(reply);
    return exchange.method === 'HEAD' ? withoutBody(reply) : reply;
  }
  const verdict = verdictOn(exchange, options.pages);
  const cors = route.cors?.(exchange, verdict) ?? checkPage(verdict);
  if (cors.kind === 'refused') return cors.reply;
  if (verdict.kind === 'allowed') exchange.sender = verdict.sender;
  const reply =
    exchange.method === 'OPTIONS'
      ? preflight
      : await attempt(() => serve(exchange, answering), exchange, context, options);
  const caller = exchange.showsCaller ? exchange.caller : undefined;
  exchange.hold(reply);
  const complete = route.isBare ? reply : withHeaders(reply, cors.headers, caller);
  return exchange.method === 'HEAD' ? withoutBody(complete) : complete;
}

/** Whether the host has this route: that of an app has few, and for its own database alone. */
function isHere(exchange: HonoExchange, route: Route, { apps }: RouterOptions): boolean {
  const { app } = exchange;
  if (app === undefined || route === apps?.route) return true;
  if (route.isOfApps !== true) return false;
  const { db } = exchange.params;
  return db === undefined || apps?.isSameDatabase(app, db) === true;
}

/** Returns the answer to a request with several `Host` headers: which one counts is a guess. */
function manyHosts({ env }: Context<Env>): Reply | undefined {
  const fault = hostFault(env.incoming.rawHeaders);
  return fault === undefined ? undefined : text(400, fault, varyHeaders);
}

function requireRate(limiter: RateLimiter, key: string): void {
  const seconds = limiter.take(key);
  if (seconds === 0) return;
  throw new HttpError(text(429, tooManyRequestsText, { 'retry-after': String(seconds) }));
}

const preflight: Reply = empty(200, {
  'access-control-allow-methods': '*',
  'access-control-allow-headers': 'authorization,accept,content-type,idempotency-key',
});

/** Checks the token, then the database of the path, then the method; then runs the endpoint. */
async function serve(exchange: HonoExchange, answering: Answering): Promise<Reply> {
  const { route, options, passingOn } = answering;
  const verb = exchange.method === 'HEAD' ? 'GET' : exchange.method;
  const method = route.everyMethod ?? route.methods[verb];
  if (exchange.forwarded === undefined) {
    requireRate(options.rates.byAddress, networkOf(exchange.clientAddress(options.addresses)));
  }
  const rule = method ?? ruleOfOthers(route);
  if (rule !== undefined) await settle(exchange, rule, options);
  if (exchange.badParameter !== undefined) {
    return text(400, pathBytesFault(exchange.badParameter));
  }
  if (method !== undefined) {
    if (passingOn === undefined) return method.run(exchange);
    const app = route === options.apps?.route ? exchange.app : undefined;
    const named = exchange.params.db ?? app ?? (await method.target?.(exchange));
    const target = method.isOfHost === true ? undefined : named;
    const { wish } = method;
    const takesOffer = await method.takesOffer?.(exchange);
    const wanted = { target, wish: wish && (() => wish(exchange)), takesOffer };
    return passingOn.serve(exchange, wanted, () => method.run(exchange));
  }
  route.resolve?.(exchange);
  return empty(405, { allow: allowedMethods(route) });
}

/** Returns the rule for an unsupported method, where anonymous callers get an identity. */
function ruleOfOthers({ methods }: Route): Method | undefined {
  return Object.values(methods).find(({ token }) => token === 'anonymous');
}

type TokenRules = Omit<Method, 'run'>;

async function settle(
  exchange: HonoExchange,
  rule: TokenRules,
  options: RouterOptions,
): Promise<void> {
  const { tokens, addresses, rates } = options;
  if (rule.token === 'none') return;
  const settled = exchange.forwarded?.caller;
  if (settled !== undefined) {
    const outcome = settledElsewhere(tokens, settled);
    if (outcome.kind === 'refused') throw new HttpError(text(outcome.status, outcome.text));
    exchange.caller = outcome.caller;
    return;
  }
  const authorization = exchange.header('authorization');
  const readsQuery = authorization === undefined && !rule.ignoresQueryToken;
  const queryToken = readsQuery ? exchange.query.string('token') : undefined;
  const isAbsent = authorization === undefined && queryToken === undefined;
  if (rule.token === 'optional' && isAbsent) return;
  const withoutToken = rule.token === 'anonymous' ? 'anonymous' : 'refuse';
  const address = exchange.clientAddress(addresses);
  const outcome = await settleCaller(tokens, { authorization, queryToken, address, withoutToken });
  if (outcome.kind === 'refused') {
    const fault = isAbsent ? 'absent' : 'invalid';
    const words = outcome.status === 401 ? rule.challenge?.(exchange, fault) : undefined;
    const headers = words === undefined ? {} : { 'www-authenticate': words };
    const { db } = exchange.params;
    if (!isAbsent && db !== undefined) options.onTurnedAway(db, undefined, 'token.invalid');
    throw new HttpError(text(outcome.status, outcome.text, headers));
  }
  const { caller } = outcome;
  // Anonymous identities are limited by address, because each is made for one request.
  if (!caller.isAnonymous) requireRate(rates.byIdentity, caller.identity.toString(16));
  exchange.caller = caller;
  exchange.showsCaller = rule.token === 'anonymous' || rule.showsCaller === true;
}

async function attempt(
  work: () => Promise<Reply>,
  exchange: HonoExchange,
  context: Context<Env>,
  options: RouterOptions,
): Promise<Reply> {
  try {
    return await work();
  } catch (error) {
    const { caller, params } = exchange;
    if (params.db !== undefined && error instanceof Refusal && error.body.code === 'token.limited')
      options.onTurnedAway(params.db, caller, 'token.limited');
    const reply = replyOfError(error);
    if (reply !== undefined) return reply;
    options.onError(error, exchange.method, context.req.path);
    return text(500, 'internal error');
  }
}

function withHeaders(
  reply: Reply,
  cors: Readonly<Record<string, string>>,
  caller: RequestCaller | undefined,
): Reply {
  const headers: Record<string, string> = {
    ...reply.headers,
    'access-control-expose-headers': openHeaders['access-control-expose-headers'],
    ...cors,
    ...varyHeaders,
  };
  if (caller !== undefined) {
    headers['spacetime-identity'] = identityToHex(caller.identity);
    headers['spacetime-identity-token'] = caller.token;
  }
  return { ...reply, headers };
}

/** Returns the response to HEAD: that of GET without its body; a stream is not even read. */
function withoutBody({ body, ...head }: Reply): Reply {
  if (body instanceof ReadableStream) void body.cancel();
  if (head.passed !== undefined) return head;
  if (body === undefined || body instanceof ReadableStream) return head;
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  return { ...head, headers: { ...head.headers, ...length } };
}

/** Responds at once to a client that is still sending, and reads little more of its body. */
function respondTo(context: Context<Env>, reply: Reply): Response {
  const { incoming, outgoing } = context.env;
  const respond = (complete: Reply): Response => {
    if (complete.lines === undefined) return responseOf(complete);
    sendLines(outgoing as ServerResponse, complete);
    return RESPONSE_ALREADY_SENT;
  };
  if (reply.body instanceof ReadableStream) {
    // Read on during the response: the end of an unread connection would go unnoticed.
    incoming.resume();
    return respond(reply);
  }
  if (!forgetRest(incoming)) return respond(reply);
  return respond({ ...reply, headers: { ...reply.headers, connection: 'close' } });
}

function responseOf(reply: Reply): Response {
  const body = reply.body as string | Uint8Array<ArrayBuffer> | ReadableStream | undefined;
  return new Response(body ?? null, {
    status: reply.status,
    headers: reply.headers ?? {},
  });
}

class HonoExchange implements Exchange, PassableExchange {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly app: string | undefined;
  readonly query: Query;
  readonly params: Readonly<Record<string, string>>;
  /** Name of a parameter whose bytes are not UTF-8. */
  readonly badParameter: string | undefined;
  readonly forwarded: ForwardedHead | undefined;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: HttpBindings['outgoing'];
  readonly #load: LoadShare;
  /** Settles when nothing of the request is held any more, if that is after its response begins. */
  #work: Promise<unknown> | undefined;
  readonly #options: RouterOptions;
  #abandoned: AbortSignal | undefined;
  /** The body, where it may have to be sent to another host. */
  #kept: Uint8Array | undefined;
  isSpent = false;
  copy: ReadCopy | undefined;
  offer: CopyOffer | undefined;
  caller: RequestCaller | undefined;
  sender: Sender = 'program';
  /** The identity headers belong to the endpoints that create anonymous identities. */
  showsCaller = false;

  constructor(context: Context<Env>, load: LoadShare, options: RouterOptions) {
    this.#load = load;
    this.#options = options;
    this.#incoming = context.env.incoming;
    this.forwarded = options.cluster && forwardedHeadOf(this.#incoming);
    if (this.forwarded !== undefined) this.sender = this.forwarded.client.sender;
    this.#outgoing = context.env.outgoing;
    this.method = context.req.method;
    const { path, search } = splitTarget(this.#incoming.url);
    this.path = path;
    this.search = search;
    this.app = appOf(options, this.#incoming);
    this.query = new Query(search);
    const { params, bad } = decodeParams(context.req.routePath, path);
    this.params = params;
    this.badParameter = bad;
  }

  get received(): ReceivedHead {
    return receivedHead(this.#incoming, this.#origin);
  }

  get address(): string {
    return this.clientAddress(this.#options.addresses);
  }

  get clientNetwork(): string {
    return networkOf(this.address);
  }

  settleCaller(token: 'optional' | 'required'): Promise<void> {
    return settle(this, { token, ignoresQueryToken: true }, this.#options);
  }

  get localAddress(): string {
    return this.#incoming.socket.localAddress ?? '';
  }

  get #origin(): string {
    const { forwarded } = this;
    return forwarded?.client.origin ?? askedOrigin(this.#incoming, this.#options.addresses);
  }

  get incoming(): IncomingMessage {
    return this.#incoming;
  }

  get client(): ForwardedClient {
    const { address, sender, isOnMachine, isConfidential } = this;
    return { address, sender, origin: this.#origin, isOnMachine, isConfidential };
  }

  get isOnMachine(): boolean {
    if (this.forwarded !== undefined) return this.forwarded.client.isOnMachine;
    return this.#options.addresses.isOnMachine(this.#passage, this.header('host') ?? '');
  }

  get isConfidential(): boolean {
    const { socket } = this.#incoming;
    if (this.isOnMachine) return true;
    if (this.forwarded !== undefined) return this.forwarded.client.isConfidential;
    if (!this.#options.addresses.isProxy(socket.remoteAddress ?? '')) return 'encrypted' in socket;
    // Of the way in front of the proxy, only the proxy can tell.
    const schemes = this.header('x-forwarded-proto')?.split(',') ?? [];
    return schemes.length > 0 && schemes.every((one) => one.trim().toLowerCase() === 'https');
  }

  get #passage(): Passage {
    const { remoteAddress = '' } = this.#incoming.socket;
    return { remoteAddress, forwardedFor: this.header('x-forwarded-for') };
  }

  clientAddress(addresses: ClientAddresses): string {
    return this.forwarded?.client.address ?? addresses.of(this.#passage);
  }

  countMore(requestCount: number): void {
    const { rates, addresses } = this.#options;
    rates.byAddress.spend(networkOf(this.clientAddress(addresses)), requestCount);
    const { caller } = this;
    if (caller === undefined || caller.isAnonymous) return;
    rates.byIdentity.spend(caller.identity.toString(16), requestCount);
  }

  get abandoned(): AbortSignal {
    this.#abandoned ??= leavingOf(this.#incoming, this.#outgoing);
    return this.#abandoned;
  }

  header(name: string): string | undefined {
    const value = this.#incoming.headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  inHandUntil(done: Promise<unknown>): void {
    this.#work = done;
  }

  endLoad(): void {
    const end = () => this.#load.end();
    if (this.#work === undefined) end();
    else void this.#work.then(end, end);
  }

  body(bytesMax: number): Promise<Uint8Array> {
    if (this.#options.cluster !== undefined) return this.#keptBody(bytesMax);
    return this.#readBody(bytesMax);
  }

  #readBody(bytesMax: number): Promise<Uint8Array> {
    const clients = this.#payers();
    const bounds = { bytesMax, idleMillisMax: this.bodyIdleMillisMax };
    return readBody(this.#incoming, bounds, (count) => this.#load.takeBytes(count, clients));
  }

  async #keptBody(bytesMax: number): Promise<Uint8Array> {
    this.#kept ??= await this.#readBody(bytesMax);
    if (this.#kept.length > bytesMax) throw tooLong();
    return this.#kept;
  }

  get bodyIdleMillisMax(): number {
    return this.#options.bounds.bodyIdleMillisMax;
  }

  async passedBody(): Promise<ForwardRequest['body']> {
    if (this.#kept !== undefined) return this.#kept;
    const { headers } = this.#incoming;
    const isChunked = headers['transfer-encoding'] !== undefined;
    const length = Number(headers['content-length'] ?? 0);
    if (length === 0 && !isChunked) return undefined;
    if (isChunked || length > limits.forwardKeptBytesMax) return this.#incoming;
    return this.#keptBody(limits.forwardKeptBytesMax);
  }

  bodyPieces(bytesMax: number): AsyncIterable<Uint8Array> {
    if (this.#kept !== undefined) return onePiece(this.#kept, bytesMax);
    this.isSpent = true;
    return readPieces(this.#incoming, { bytesMax, idleMillisMax: this.bodyIdleMillisMax });
  }

  /** The clients charged for the bytes of a body. */
  #payers(): readonly string[] {
    const { identity, network } = payersOf(this.caller, this.address);
    return [identity, network].filter((payer) => payer !== undefined);
  }

  /** Counts a large response as part of the load until its client has received it. */
  hold({ body, heldBytes = 0 }: Reply): void {
    const bytes = body === undefined || body instanceof ReadableStream ? heldBytes : body.length;
    const { socket } = this.#incoming;
    if (bytes < limits.largeAnswerBytesMin || socket.destroyed) return;
    const release = this.#load.holdAnswer({ bytes, giveUp: () => socket.destroy() });
    // Listen on the socket too: a response queued behind another one gets no event.
    socket.once('close', release);
    this.#outgoing.once('close', () => {
      socket.off('close', release);
      release();
    });
  }
}

async function* onePiece(body: Uint8Array, bytesMax: number): AsyncGenerator<Uint8Array> {
  if (body.length > bytesMax) throw tooLong();
  yield body;
}

/** Aborted when the client of a request leaves before its response has ended. */
function leavingOf({ socket }: IncomingMessage, outgoing: HttpBindings['outgoing']): AbortSignal {
  const leaving = new AbortController();
  // Each message of a batch adds a listener.
  setMaxListeners(0, leaving.signal);
  const abort = () => leaving.abort();
  if (socket.destroyed) abort();
  // Listen on the socket: a response queued behind another one gets no event.
  socket.once('close', abort);
  outgoing.once('close', () => socket.off('close', abort));
  return leaving.signal;
}

/** Decodes path parameters; one that is not UTF-8 is reported by name, never guessed. */
function decodeParams(pattern: string, path: string) {
  const params: Record<string, string> = {};
  let bad: string | undefined;
  const parts = path.split('/');
  pattern.split('/').forEach((part, at) => {
    if (!part.startsWith(':')) return;
    const name = part.slice(1);
    const value = decodePathPart(parts[at] ?? '');
    if (value === undefined) bad ??= name === 'db' ? 'name_or_identity' : name;
    params[name] = value ?? '';
  });
  return { params, bad };
}
