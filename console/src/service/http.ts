import { isObject, type Json, parseJson, textOf } from './json.ts';
import { reportLost } from './reachability.ts';
import { currentToken, session, setSession } from './session-token.ts';

/** Where in a statement an error is; `offset` counts characters from 0. */
export interface Position {
  readonly offset: number;
  readonly line: number;
  readonly column: number;
}

/** What the service answered instead of what was wanted; `status` 0: it did not answer. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly status: number;
  readonly hint: string | undefined;
  readonly position: Position | undefined;
  /** The whole answer, if it was JSON. */
  readonly body: Json | undefined;

  constructor(
    status: number,
    message: string,
    more: { hint?: string; position?: Position; body?: Json } = {},
  ) {
    super(message);
    this.status = status;
    this.hint = more.hint;
    this.position = more.position;
    this.body = more.body;
  }

  /** The caller lacks a right, or has not said who they are. */
  get isForbidden(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, as text unless `headers` say otherwise. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** As nobody, to see what others see. */
  readonly isAnonymous?: boolean;
}

/** Sends a request to the service that serves the console, as who is signed in. */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  const token = options.isAnonymous === true ? undefined : currentToken();
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  let body = options.text;
  if (options.body !== undefined) {
    body = JSON.stringify(options.body);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
  }
  const answer = await fetch(path, {
    method: options.method ?? 'GET',
    headers,
    ...(body === undefined ? {} : { body }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  }).catch((cause: unknown) => {
    if (options.signal?.aborted === true) throw cause;
    reportLost();
    throw new ServiceError(0, 'The service does not answer.', {
      hint: 'The console asks again until it does.',
    });
  });
  if (answer.ok) return answer;
  const error = errorOf(answer.status, await answer.text());
  if (answer.status === 401 && token !== undefined && token === currentToken()) {
    const isEnded = /token|expired|revoked/i.test(error.message);
    if (isEnded && session.get().kind === 'token') setSession({ kind: 'none', why: error.message });
  }
  throw error;
}

/** Sends a request and reads the JSON of the answer; `null` if it has no body. */
export async function requestJson(path: string, options: RequestOptions = {}): Promise<Json> {
  const answer = await send(path, options);
  const text = await answer.text();
  return text === '' ? null : parseJson(text);
}

/** The path of a database, with more segments below it. */
export function databasePath(database: string, ...segments: readonly string[]): string {
  return `/v1/database/${[database, ...segments].map(encodeURIComponent).join('/')}`;
}

function errorOf(status: number, text: string): ServiceError {
  const body = parsed(text);
  if (isObject(body) && body.error !== undefined) {
    const { error, hint, position } = body;
    return new ServiceError(status, textOf(error), {
      body,
      ...(hint === undefined || hint === null ? {} : { hint: textOf(hint) }),
      ...(isObject(position) ? { position: position as unknown as Position } : {}),
    });
  }
  const [message = '', ...rest] = text.split(/\n+(?:Hint|hint): /);
  const hint = rest.join(' ').trim();
  const shown = message.trim() === '' ? defaultText(status) : message.trim();
  return new ServiceError(status, shown, hint === '' ? {} : { hint });
}

function parsed(text: string): Json | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function defaultText(status: number): string {
  if (status === 404) return 'There is nothing at this address.';
  if (status === 401) return 'Sign in to see this.';
  if (status === 403) return 'You may not see this.';
  return `The service answered ${status}.`;
}
