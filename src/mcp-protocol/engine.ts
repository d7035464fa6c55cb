import { limits } from '../limits.ts';
import { member } from '../values/json.ts';
import { whenAborted } from './abort.ts';
import { type Accepted, readAccept } from './accept.ts';
import { sessionHeader, sessionIdFor } from './client-capabilities.ts';
import { type Asking, ClientRequests } from './client-requests.ts';
import type { EngineReply, EngineRequest } from './engine-request.ts';
import { InputRounds, type RoundOrigin } from './input-rounds.ts';
import {
  errorText,
  idText,
  invalid,
  type Message,
  type NotificationMessage,
  type RequestId,
  type RequestMessage,
  readBody,
  readLargeBody,
  resultText,
} from './json-rpc.ts';
import { canListen, ListenStreams } from './listen-streams.ts';
import { type Method, modernMembers } from './method.ts';
import { methodsOf } from './methods.ts';
import { Outgoing } from './outgoing.ts';
import { logReports, progressReports } from './reports.ts';
import { versionHeader } from './request-headers.ts';
import { RpcError, rpcCode } from './rpc-error.ts';
import { type RequestName, RunningRequests } from './running-requests.ts';
import type { ServerDefinition } from './server-definition.ts';
import { eraOf, readTerms, type Terms } from './terms.ts';
import { batchVersion, type Era } from './versions.ts';

export interface EngineOptions<Session> {
  readonly definition: ServerDefinition<Session>;
  /** Called for errors that no handler expected; the client gets -32603 without the text. */
  readonly onError: (error: unknown, method: string) => void;
  /** Aborted when the service stops: ends endless streams and waiting requests to clients. */
  readonly stopping: AbortSignal;
}

/** The response to one request. */
interface Answer {
  readonly status: number;
  readonly text: string;
}

/** One request with everything known about it. */
interface Served<Session> {
  readonly message: RequestMessage;
  readonly request: EngineRequest<Session>;
  readonly terms: Terms;
  readonly method: Method<Session>;
}

/**
 * Serves a `ServerDefinition`, message by message: decodes the message, applies the rules of its
 * era, runs the method, and replies with one message or a stream.
 */
export class Engine<Session> {
  readonly #options: EngineOptions<Session>;
  readonly #methods: Readonly<Record<Era, ReadonlyMap<string, Method<Session>>>>;
  readonly #rounds: InputRounds;
  readonly #clientRequests: ClientRequests;
  readonly #streams: ListenStreams<Session>;
  readonly #running = new RunningRequests(limits.mcpRequestsMax);

  constructor(options: EngineOptions<Session>) {
    const { definition, stopping } = options;
    this.#options = options;
    this.#methods = {
      modern: methodsOf(definition, 'modern'),
      legacy: methodsOf(definition, 'legacy'),
    };
    this.#rounds = new InputRounds(definition.sealingKey);
    this.#clientRequests = new ClientRequests(stopping);
    this.#streams = new ListenStreams(definition, stopping);
  }

  async handle(request: EngineRequest<Session>): Promise<EngineReply> {
    const mayBeBatch = request.header(versionHeader)?.trim() === batchVersion;
    const { body: text, parseLarge } = request;
    const isLarge = parseLarge !== undefined && text.length > limits.wholeTextCharactersMax;
    const body = isLarge
      ? await readLargeBody(text, mayBeBatch, parseLarge)
      : readBody(text, mayBeBatch);
    const accepted = readAccept(request.header('accept'));
    return body.kind === 'batch'
      ? this.#handleBatch(body.messages, request)
      : this.#handleMessage(body, request, accepted);
  }

  /** Handles the messages of a batch concurrently; one array holds all responses. */
  async #handleBatch(
    messages: readonly Message[],
    request: EngineRequest<Session>,
  ): Promise<EngineReply> {
    const accepted = readAccept(undefined);
    request.countMore?.(messages.length - 1);
    const replies = await Promise.all(
      messages.map((message) => this.#handleMessage(message, request, accepted)),
    );
    const answers = replies.flatMap((reply) => (reply.kind === 'message' ? [reply.body] : []));
    if (answers.length === 0) return { kind: 'accepted' };
    return { kind: 'message', status: 200, body: `[${answers.join(',')}]` };
  }

  async #handleMessage(
    message: Message,
    request: EngineRequest<Session>,
    accepted: Accepted,
  ): Promise<EngineReply> {
    switch (message.kind) {
      case 'notification':
        this.#take(message, request);
        return { kind: 'accepted' };
      case 'response': {
        if (this.#clientRequests.answer(message, request.caller)) return { kind: 'accepted' };
        const { error } = invalid('nothing was asked of the client');
        return replyOf(errorAnswer(message.id, error, 'legacy'));
      }
      case 'invalid':
        return replyOf(errorAnswer(message.id, message.error, 'legacy'));
      case 'request':
        return this.#serve(message, request, accepted);
    }
  }

  #take({ method, params }: NotificationMessage, request: EngineRequest<Session>): void {
    if (method !== 'notifications/cancelled') return;
    const id = idText(member(params, 'requestId'));
    if (id !== undefined) this.#running.cancel(nameOf(request, id));
  }

  async #serve(
    message: RequestMessage,
    request: EngineRequest<Session>,
    accepted: Accepted,
  ): Promise<EngineReply> {
    const era = eraOf(message, request.header);
    try {
      const terms = askableTerms(readTerms(message, request.header, era), accepted);
      if (!accepted.json && !accepted.events) throw notAcceptable();
      if (era === 'modern' && message.method === 'subscriptions/listen') {
        return await this.#listen(message, request, accepted);
      }
      const method = this.#methods[era].get(message.method);
      if (method === undefined) throw methodNotFound(message.method);
      const reply = await this.#run({ message, request, terms, method }, accepted);
      const sessionId = this.#sessionIdOf(message, era);
      return sessionId === undefined
        ? reply
        : { ...reply, headers: { [sessionHeader]: sessionId } };
    } catch (error) {
      return replyOf(this.#failed(error, message, era));
    }
  }

  /** Returns a session id for an initializing client that can be asked, if this server asks. */
  #sessionIdOf({ method, params }: RequestMessage, era: Era): string | undefined {
    const mayAsk = era === 'legacy' && this.#options.definition.sealingKey !== undefined;
    const isBeginning = mayAsk && method === 'initialize';
    return isBeginning ? sessionIdFor(member(params, 'capabilities')) : undefined;
  }

  async #listen(
    message: RequestMessage,
    request: EngineRequest<Session>,
    accepted: Accepted,
  ): Promise<EngineReply> {
    if (!canListen(this.#options.definition)) throw methodNotFound(message.method);
    if (!accepted.events) throw notAcceptable();
    return this.#streams.open(message, request);
  }

  /**
   * Replies with a stream if the client accepts one and there is something to send before the
   * response, even if only a sign of progress; else with one message.
   */
  async #run(served: Served<Session>, accepted: Accepted): Promise<EngineReply> {
    const { request, terms } = served;
    const running = this.#running.begin(runningNameOf(served));
    const left = new AbortController();
    const leave = () => {
      left.abort();
      // Legacy clients cancel with a message, so the work of one that has disconnected continues.
      if (terms.era === 'modern') running.cancel();
    };
    const forget = whenAborted(request.signal, leave);
    const outgoing = new Outgoing(leave);
    const { caller } = request;
    const canAnswer = AbortSignal.any([running.signal, left.signal]);
    const asking = { terms, caller, outgoing, signal: canAnswer };
    const answer = this.#answer(served, running.signal, asking).finally(() => {
      forget();
      running.end();
    });
    const ended = Promise.race([answer, running.cancelled]).then((end) => {
      outgoing.end(end === 'cancelled' ? undefined : end.text);
      return end;
    });
    const isStream = !accepted.json || (accepted.namesEvents && (await outgoing.begun()));
    if (isStream) return { kind: 'stream', messages: outgoing, work: answer };
    const end = await ended;
    return end === 'cancelled' ? { kind: 'accepted' } : replyOf(end);
  }

  async #answer(served: Served<Session>, signal: AbortSignal, asking: Asking): Promise<Answer> {
    const { message, request, terms, method } = served;
    const { outgoing } = asking;
    const { id, params } = message;
    const { definition } = this.#options;
    const isModern = terms.era === 'modern';
    try {
      const origin = originOf(served);
      const given = await this.#rounds.read(origin, terms.era);
      const reports = {
        progress: progressReports(params, outgoing),
        log: logReports(definition.logs ? terms.logLevel : undefined, outgoing),
      };
      const { session, header } = request;
      const context = { ...terms, ...reports, session, signal, given };
      const call = { params, header, context };
      const outcome = isModern
        ? await method(call)
        : await this.#clientRequests.run(method, call, asking);
      const result =
        outcome.kind === 'result'
          ? outcome
          : { members: await this.#rounds.ask(outcome, origin, terms) };
      const members = isModern ? modernMembers(result, definition.info) : result.members;
      return { status: 200, text: resultText(id, members) };
    } catch (error) {
      return this.#failed(error, message, terms.era);
    }
  }

  #failed(error: unknown, { id, method }: RequestMessage, era: Era): Answer {
    if (error instanceof RpcError) return errorAnswer(id, error, era);
    this.#options.onError(error, method);
    return errorAnswer(id, new RpcError(rpcCode.internal, 'internal error', undefined, 500), era);
  }
}

/** Removes capabilities of legacy clients that accept no stream, on which they would be asked. */
function askableTerms(terms: Terms, { namesEvents }: Accepted): Terms {
  const isDeaf = terms.era === 'legacy' && !namesEvents;
  return isDeaf ? { ...terms, clientCapabilities: undefined } : terms;
}

/**
 * Returns the name by which a notification can cancel the request: none in the modern era, where it
 * could hit another client of the caller, and none for the handshake.
 */
function runningNameOf<Session>({ message, request, terms }: Served<Session>): RequestName {
  const canBeCancelled = terms.era === 'legacy' && message.method !== 'initialize';
  return canBeCancelled ? nameOf(request, message.id) : { caller: request.caller };
}

function nameOf<Session>({ caller, header }: EngineRequest<Session>, id: RequestId): RequestName {
  return { caller, id, session: header(sessionHeader) };
}

function originOf<Session>({ message, request }: Served<Session>): RoundOrigin {
  const { caller, endpoint } = request;
  return { caller: caller.key, endpoint, method: message.method, params: message.params };
}

function methodNotFound(method: string): RpcError {
  return new RpcError(rpcCode.methodNotFound, `method not found: ${method}`);
}

function notAcceptable(): RpcError {
  const words = 'Accept must allow application/json or text/event-stream';
  return new RpcError(rpcCode.invalidRequest, words, undefined, 406);
}

function replyOf({ status, text }: Answer): EngineReply {
  return { kind: 'message', status, body: text };
}

function errorAnswer(id: RequestId, error: RpcError, era: Era): Answer {
  return { status: error.status ?? statusOf(error, era), text: errorText(id, error) };
}

/** Returns the HTTP status of an error; in the legacy era, errors are normal responses. */
function statusOf({ code }: RpcError, era: Era): number {
  if (era === 'legacy') return 200;
  switch (code) {
    case rpcCode.methodNotFound:
      return 404;
    case rpcCode.headerMismatch:
    case rpcCode.missingCapability:
    case rpcCode.unsupportedVersion:
      return 400;
    default:
      return 200;
  }
}
