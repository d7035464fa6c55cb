import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { hintLine } from '../doors/call-error-text.ts';
import { limits } from '../limits.ts';
import { bytesText } from '../values/bytes-text.ts';
import { JsonError } from '../values/json-error.ts';
import { parseAs, type Shape } from '../values/json-shape.ts';
import { CliError } from './io.ts';
import type { ServerAddress } from './server-choice.ts';

/** A service over HTTP, as one caller. */
export class Api {
  readonly server: ServerAddress;
  readonly token: string | undefined;
  readonly #hints: ErrorHints;
  #uploads: http.Agent | undefined;

  constructor(server: ServerAddress, token: string | undefined, hints: ErrorHints = {}) {
    this.server = server;
    this.token = token;
    this.#hints = hints;
  }

  /**
   * Sends a request and returns the response, whatever its status. Not by `fetch`: loading that
   * takes longer than everything else that a short command does.
   */
  async send(method: string, path: string, request: ApiRequest = {}): Promise<ApiAnswer> {
    const type = typeof request.body === 'string' ? { 'content-type': 'text/plain' } : {};
    const headers = { ...type, ...request.headers };
    const answer = await this.begun(method, path, { ...request, headers });
    const status = answer.statusCode ?? 0;
    const text = await this.read(answer, request);
    const get = (name: string) => {
      const value = answer.headers[name];
      return typeof value === 'string' ? value : null;
    };
    return { status, ok: status >= 200 && status < 300, headers: { get }, text: async () => text };
  }

  /** Sends a request; throws where the head of the response shows that no service sent it. */
  async begun(method: string, path: string, request: ApiRequest = {}): Promise<IncomingMessage> {
    const answer = await this.open(method, path, request);
    const status = answer.statusCode ?? 0;
    const isRedirect = status >= 300 && status < 400 && answer.headers.location !== undefined;
    const isOurs = !isRedirect && !isPage(answer.headers['content-type']);
    if (!isOurs) answer.destroy();
    if (isRedirect) throw noAnswer(this.server, new Error('it answers with a redirect'));
    if (!isOurs) throw notOurs(this.server, status);
    return answer;
  }

  /** The text of a response; throws when it is cut, or longer than any that a service gives. */
  async read(answer: AsyncIterable<Uint8Array>, request: ApiRequest = {}): Promise<string> {
    return (await this.bytes(answer, request)).toString('utf8');
  }

  /** The bytes of a response; throws as `read` does. */
  async bytes(answer: AsyncIterable<Uint8Array>, request: ApiRequest = {}): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#bounded(answer, request)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  async *#bounded(
    pieces: AsyncIterable<Uint8Array>,
    { answerBytesMax = limits.answerBytesMax, signal }: ApiRequest,
  ): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    try {
      for await (const piece of pieces) {
        bytes += piece.length;
        if (bytes > answerBytesMax) break;
        yield piece;
      }
    } catch (cause) {
      throw signal?.aborted ? cause : connectionLost(this.server, cause);
    }
    if (bytes <= answerBytesMax) return;
    const most = bytesText(answerBytesMax);
    throw new CliError(`the answer of ${this.server.url} is longer than ${most}; it was not read`);
  }

  /**
   * Sends a request whose response may arrive in pieces, with pauses of any length. Each request
   * has its own connection: an idle one could be closed at that very moment, and the caller could
   * not tell whether the request was received.
   */
  open(method: string, path: string, request: ApiRequest = {}): Promise<IncomingMessage> {
    const headers: Record<string, string> = { ...request.headers };
    if (this.token !== undefined) headers.authorization = `Bearer ${this.token}`;
    const { request: start } = this.server.url.startsWith('https:') ? https : http;
    const { body, signal } = request;
    const options = { method, headers, agent: false, ...(signal && { signal }) };
    return new Promise((resolve, reject) => {
      const sent = start(`${this.server.url}${path}`, options, resolve);
      sent.on('error', (cause) => reject(noAnswer(this.server, cause)));
      sent.end(body);
    });
  }

  /**
   * Sends a file as it is read. Connections are used again: what an upload has done is the same
   * when it is sent twice, so a connection that was closed at that moment is no loss.
   */
  async upload(path: string, content: Readable, bytes: number): Promise<UploadAnswer> {
    const headers: Record<string, string> = { 'content-length': String(bytes) };
    if (this.token !== undefined) headers.authorization = `Bearer ${this.token}`;
    const isSecure = this.server.url.startsWith('https:');
    this.#uploads ??= new (isSecure ? https : http).Agent({ keepAlive: true, timeout: 5_000 });
    return this.#stream(path, content, { method: 'PUT', headers, agent: this.#uploads });
  }

  /** Sends what is read as the body of a request. */
  post(path: string, content: Readable, given: Readonly<Record<string, string>>) {
    const headers: Record<string, string> = { ...given };
    if (this.token !== undefined) headers.authorization = `Bearer ${this.token}`;
    return this.#stream(path, content, { method: 'POST', headers, agent: false });
  }

  async #stream(
    path: string,
    content: Readable,
    options: http.RequestOptions,
  ): Promise<UploadAnswer> {
    const { request: start } = this.server.url.startsWith('https:') ? https : http;
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = start(`${this.server.url}${path}`, options, resolve);
      sent.on('error', (cause) => reject(noAnswer(this.server, cause)));
      content.on('error', (cause: Error) => sent.destroy(cause));
      content.pipe(sent);
    }).finally(() => content.destroy());
    const text = await this.read(answer);
    const seconds = Number(answer.headers['retry-after']);
    const retrySeconds = Number.isFinite(seconds) ? seconds : undefined;
    return { status: answer.statusCode ?? 0, text, retrySeconds };
  }

  /**
   * Requests a response that arrives in pieces. Any status but success throws an error with the
   * response text.
   */
  async *pieces(path: string, request: ApiRequest = {}): AsyncGenerator<string> {
    const answer = await this.open('GET', path, request);
    if (isPage(answer.headers['content-type'])) throw notOurs(this.server, answer.statusCode ?? 0);
    if (answer.statusCode !== 200) throw await this.failure(answer);
    answer.setEncoding('utf8');
    try {
      yield* answer;
    } catch (cause) {
      throw connectionLost(this.server, cause);
    }
  }

  /**
   * Sends a request and returns the response text; any status but success throws an error with it.
   */
  async text(method: string, path: string, request: ApiRequest = {}): Promise<string> {
    const answer = await this.send(method, path, request);
    const text = await answer.text();
    if (!answer.ok) throw new CliError(this.failureText(answer.status, text));
    return text;
  }

  /** The text of an error, as of `statusText`, with what is known of the project and the server. */
  failureText(status: number, text: string): string {
    return statusText(status, text, { ...this.#hints, server: this.server });
  }

  /** The error of a response that is none, of which nothing was read. */
  async failure(answer: IncomingMessage): Promise<CliError> {
    return new CliError(this.failureText(answer.statusCode ?? 0, await this.read(answer)));
  }

  /** Sends a request and returns the response, JSON of this shape; errors are those of `text`. */
  async json<Answer>(
    method: string,
    path: string,
    shape: Shape<Answer>,
    request: ApiRequest = {},
  ): Promise<Answer> {
    return readAnswer(await this.text(method, path, request), shape);
  }
}

/** A response that has been read. */
export interface ApiAnswer {
  readonly status: number;
  /** Whether the status is one of success. */
  readonly ok: boolean;
  /** By lower-case name. */
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export interface UploadAnswer {
  readonly status: number;
  readonly text: string;
  /** When to try again, if the service says so. */
  readonly retrySeconds: number | undefined;
}

/** Reads the text of a response, which is JSON of this shape. */
export function readAnswer<Answer>(text: string, shape: Shape<Answer>): Answer {
  return fitting(() => parseAs(text, shape));
}

/** Reads a response, or a part of it. */
export function fitting<Answer>(read: () => Answer): Answer {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof JsonError)) throw cause;
    throw new CliError(unfittingText(cause), 1, { cause });
  }
}

/** What is said of a response that is not what it should be. */
export function unfittingText({ message }: JsonError): string {
  const fault = `the server's answer has another form than expected: ${message}`;
  return `${fault}. Is the server of another version?`;
}

/** What errors can refer to; asked for when there is one. */
export interface ErrorHints {
  /** The databases that the project configuration names. */
  readonly projectDatabases?: () => readonly string[];
  /** Saved identities of a server that others have replaced, the newest first. */
  readonly replacedIdentities?: (server: ServerAddress) => readonly string[];
}

interface KnownForErrors extends ErrorHints {
  readonly server?: ServerAddress;
}

export interface ApiRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal;
  /** What a response has at most; by default what others than those with rows have. */
  readonly answerBytesMax?: number;
}

/** The path of a database, by name or identity, below `/v1/database`. */
export function databasePath(database: string, rest = ''): string {
  return `/v1/database/${encodeURIComponent(database)}${rest}`;
}

/**
 * An error text with the next step, where one is known, and without a status that adds nothing to
 * it.
 */
export function statusText(
  status: number,
  given: string,
  { projectDatabases, replacedIdentities, server }: KnownForErrors = {},
): string {
  const { shownErrorLengthMax } = limits;
  const text =
    given.length > shownErrorLengthMax ? `${given.slice(0, shownErrorLengthMax)} …` : given;
  if (text.trim() === '') return `the server answered with status ${status}`;
  const [, database] = (status === 404 && /^`([^`]*)` not found$/.exec(text)) || [];
  if (database !== undefined) {
    const advice = projectDatabases?.().includes(database) === true ? `\n${projectAdvice}` : '';
    return `${text}\nThe server has no such database: see \`reducerdb list\`.${advice}`;
  }
  if (status === 403 && text.endsWith(' is not an operator of this host')) {
    return `${text}\n${operatorAdvice}`;
  }
  const isToken = status === 401 && text.startsWith('Invalid token: ');
  if (!isToken) return text;
  const replaced = server === undefined ? [] : (replacedIdentities?.(server) ?? []);
  const lines = [text, `${tokenAdvice} ${server?.url ?? '<server>'}`];
  if (replaced.length > 0) lines.push(replacedAdvice(replaced));
  return lines.join('\n');
}

/** A server that was started with an earlier data folder takes the identity that it had then. */
function replacedAdvice([first, ...others]: readonly string[]): string {
  const more = others.length === 0 ? '' : ', or another one of `reducerdb login list`';
  const what = 'To take up again the one that you had there before';
  return `${what}: reducerdb login --identity ${first}${more}`;
}

const operatorAdvice =
  'Its configuration names its operators: start it with --operator and this identity, or log in ' +
  'as one of them.';

const projectAdvice =
  'The project configuration of this folder names it. Publish it with `reducerdb publish`, or ' +
  'pass --no-config to name another database.';

const tokenAdvice =
  'This server does not accept your saved token. To get another identity there, and keep this ' +
  'one: reducerdb login --server';

/** No service answers, or the service is not ready yet. */
export class Unreachable extends CliError {}

export function connectionLost({ url }: ServerAddress, cause: unknown): CliError {
  return new CliError(`the connection to ${url} was lost`, 1, { cause });
}

export function noAnswer(server: ServerAddress, cause: unknown): Unreachable {
  const words = isLost(cause)
    ? `the connection to the reducerdb host at ${server.url} was lost before it answered ` +
      `(${reason(cause)}): what was asked for may have been done, or not.`
    : `could not reach the reducerdb host at ${server.url} (${reason(cause)}). ` +
      'Start one with `reducerdb start`, or name another with --server.';
  return new Unreachable(words, 1, { cause });
}

/** Whether there was a connection: if so, a retry may repeat what the first request did. */
function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && lostCodes.includes(String(error.code))) || isLost(error.cause);
}

const lostCodes: readonly string[] = ['ECONNRESET', 'EPIPE'];

/** True for an HTML page: our services never answer with one. */
function isPage(contentType: string | null | undefined): boolean {
  return contentType?.startsWith('text/html') === true;
}

function notOurs({ url }: ServerAddress, status: number): Unreachable {
  return new Unreachable(
    `${url} answers with a page (status ${status}), as no reducerdb service does: ` +
      'another program listens there, or a proxy that finds no service.',
  );
}

/** What went wrong can be the cause of an error. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return reason(cause);
  if ('code' in error && error.code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    return 'it does not speak TLS: its address begins with http://';
  }
  return error.message.trim() || error.name;
}

/** The text of an error, and the hint that stands below it and in a header. */
interface HintedText {
  readonly text: string;
  readonly hint: string | undefined;
}

/** Takes the text of an error apart. */
export function hintedText({ headers }: ApiAnswer, text: string): HintedText {
  const encoded = headers.get('reducerdb-error-hint');
  if (encoded === null) return { text, hint: undefined };
  const hint = decoded(encoded);
  const end = `${hintLine}${hint}`;
  return { text: text.endsWith(end) ? text.slice(0, -end.length) : text, hint };
}

/** A hint as a further line, as doors show it. */
export function hintLines(hint: string | undefined): readonly string[] {
  return hint === undefined ? [] : [`${hintLine}${hint}`.trimStart()];
}

function decoded(hint: string): string {
  try {
    return decodeURI(hint);
  } catch {
    // Another program sent it.
    return hint;
  }
}
