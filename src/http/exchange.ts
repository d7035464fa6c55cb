import type { IncomingMessage } from 'node:http';
import type { RequestCaller } from '../auth/caller.ts';
import type { Sender } from '../auth/page-rules.ts';
import { hintLine } from '../doors/call-error-text.ts';
import type { CopyOffer } from '../doors/copy-offer.ts';
import { booleanFault, choiceFault, queryFault, repeatedFault } from '../doors/request-faults.ts';
import type { CopyHandle } from '../host/supervision/copy-handle.ts';
import { limits } from '../limits.ts';
import type { HttpVersion } from '../protocol/http-abi.ts';

/** One request as an endpoint sees it, independent of the HTTP library. */
export interface Exchange {
  readonly method: string;
  /** Path parameters, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** The path as it was sent. */
  readonly path: string;
  /** The query as it was sent, with its `?`; empty: there is none. */
  readonly search: string;
  /** The database at whose host the request came in, as a target; absent: the service's own. */
  readonly app: string | undefined;
  /** Returns the first value of a header, by its lower-case name. */
  header(name: string): string | undefined;
  /** Reads the whole body once; throws `HttpError` 413 over `bytesMax`. */
  body(bytesMax: number): Promise<Uint8Array>;
  /** Reads the body as it comes, once, and never much of it at a time; fails as `body` does. */
  bodyPieces(bytesMax: number): AsyncIterable<Uint8Array>;
  /** What the client sent, byte for byte. */
  readonly received: ReceivedHead;
  /** The client's address, for the audit log. */
  readonly address: string;
  /** The client's network, as which it is counted. */
  readonly clientNetwork: string;
  /** Checks the token of the `Authorization` header as other doors do, and sets `caller`. */
  settleCaller(token: 'optional' | 'required'): Promise<void>;
  /** Set before the endpoint runs; absent if the endpoint does not look at tokens. */
  readonly caller: RequestCaller | undefined;
  /** Counts requests that came along with this one, as if each had been sent alone. */
  countMore(requestCount: number): void;
  /** Whether a page sent the request, and which kind of page. */
  readonly sender: Sender;
  /** Whether the client is on this machine, and asked for it there: not through another. */
  readonly isOnMachine: boolean;
  /** Whether nobody in between reads along: the client is on this machine, or has come by TLS. */
  readonly isConfidential: boolean;
  /** The local address of the connection, for origin checks. */
  readonly localAddress: string;
  /** Aborted when the client leaves before it has received the whole response. */
  readonly abandoned: AbortSignal;
  /** This host's copy of the database, where the request is to be answered from it. */
  readonly copy: ReadCopy | undefined;
  /** This host's copy of a database that another one leads, which the endpoint may read. */
  readonly offer: CopyOffer | undefined;
  /** Keeps the request counted as in progress until then, though its response has begun. */
  inHandUntil(done: Promise<unknown>): void;
}

/** A copy that is read. */
export interface ReadCopy {
  readonly handle: CopyHandle;
  /** The last commit in the rows that the answer is about; the endpoint knows it better. */
  offset: number;
}

/** The head of a request as it came. Texts have one character for each byte. */
export interface ReceivedHead {
  readonly version: HttpVersion;
  /** The whole address by which the client asked: a client, or a proxy, can write anything here. */
  readonly uri: string;
  /** As sent, without the query. */
  readonly path: string;
  /** In order, names in lower case. */
  readonly headers: readonly HeaderLine[];
}

export type HeaderLine = readonly [name: string, value: string];

/** The response of an endpoint; the router adds the headers that every response has. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Header lines besides, in which names may repeat; `headers` replace lines of their names. */
  readonly lines?: readonly HeaderLine[];
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array>;
  /** The body of another host's answer, passed on as it comes; `lines` are its headers. */
  readonly passed?: IncomingMessage;
  /** For a streamed body: the bytes that are held until the stream ends, such as its source. */
  readonly heldBytes?: number;
}

/** Ends the work early with a response: thrown anywhere below the router, which sends `reply`. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly reply: Reply;

  constructor(reply: Reply) {
    super(typeof reply.body === 'string' ? reply.body : `HTTP ${reply.status}`);
    this.reply = reply;
  }
}

export const jsonType = 'application/json';
const textType = 'text/plain; charset=utf-8';

/** Returns a plain text response; every error is one. */
export function text(status: number, body: string, headers: Record<string, string> = {}): Reply {
  return { status, body, headers: { 'content-type': textType, ...headers } };
}

/** Returns a response whose body is already JSON text. */
export function json(status: number, body: string, headers: Record<string, string> = {}): Reply {
  return { status, body, headers: { 'content-type': jsonType, ...headers } };
}

/**
 * Returns a plain text response with a hint below a fixed text, if there is one, on a line of its
 * own. A header has it too, encoded as a URI part, because headers are bytes.
 */
export function hintedText(
  status: number,
  body: string,
  hint: string | undefined,
  headers: Record<string, string> = {},
): Reply {
  if (hint === undefined) return text(status, body, headers);
  const most = limits.hintCharactersMax;
  const cut = hint.length > most ? `${hint.slice(0, most - 1)}…` : hint;
  // An unpaired surrogate cannot be encoded.
  const shown = cut.replace(/[\ud800-\udfff]/gu, '\ufffd');
  const more = { ...headers, 'reducerdb-error-hint': encodeURI(shown) };
  return text(status, `${body}${hintLine}${shown}`, more);
}

export function empty(status: number, headers: Record<string, string> = {}): Reply {
  return { status, headers: { 'content-length': '0', ...headers } };
}

/** The query of a URL. Unknown parameters are ignored; invalid ones are a 400 that says why. */
export class Query {
  readonly parameters: URLSearchParams;

  constructor(search: string) {
    this.parameters = new URLSearchParams(search);
  }

  string(name: string): string | undefined {
    const values = this.parameters.getAll(name);
    if (values.length > 1) throw badQuery(repeatedFault(name));
    return values[0];
  }

  boolean(name: string, otherwise: boolean): boolean {
    const value = this.string(name);
    if (value === undefined) return otherwise;
    if (value !== 'true' && value !== 'false') throw badQuery(booleanFault);
    return value === 'true';
  }

  /** Returns an unsigned integer below 2^`bits`. */
  count(name: string, bits = 32): number | undefined {
    const value = this.string(name);
    if (value === undefined) return undefined;
    if (!/^\d+$/.test(value)) throw badQuery('invalid digit found in string');
    const count = Number(value);
    if (count >= 2 ** bits) throw badQuery('number too large to fit in target type');
    return count;
  }

  oneOf<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.string(name);
    const choice = choices.find((candidate) => candidate === value);
    if (value !== undefined && choice === undefined) {
      throw badQuery(choiceFault(value, choices));
    }
    return choice;
  }
}

export function badQuery(detail: string): HttpError {
  return new HttpError(text(400, queryFault(detail)));
}
