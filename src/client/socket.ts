import { ConnectionRefusedError, ReducerDbError } from './errors.ts';
import type { Platform, WebSocketClass } from './platform.ts';

/**
 * Compression of the server's frames.
 *
 * @example
 * ```ts
 * const compression: CompressionChoice = 'none';
 * ```
 */
export type CompressionChoice = 'gzip' | 'brotli' | 'none';

export interface SocketRequest {
  readonly uri: URL;
  readonly database: string;
  readonly protocols: readonly string[];
  readonly token: string | undefined;
  readonly compression: CompressionChoice;
  readonly lightMode: boolean;
  /** `undefined`: the server decides. */
  readonly confirmedReads: boolean | undefined;
  /** Subscribe to any SELECT, not only to those that older clients support. */
  readonly isFullDialect?: boolean;
}

/** A connection as the library sees it; it need not be open yet when it is returned. */
export interface Socket {
  send(bytes: Uint8Array): void;
  /** Ends it, open or not. Nobody listens any more. */
  close(): void;
}

/** Calls `opened` at most once, `frame` only in between, and `closed` once, at the end. */
export interface SocketListener {
  opened(protocol: string): void;
  frame(bytes: Uint8Array): void;
  closed(error: Error | undefined): void;
}

export type OpenSocket = (request: SocketRequest, listener: SocketListener) => Socket;

/** Opens web sockets, of the platform's class or of one that the program provides. */
export function webSockets(platform: Platform, webSocket?: WebSocketClass): OpenSocket {
  return (request, listener) => {
    let isCancelled = false;
    let socket: InstanceType<WebSocketClass> | undefined;
    const open = async () => {
      const socketClass = webSocket ?? (await platform.webSocket());
      const token = await passFor(request, platform);
      if (isCancelled) return;
      const made = new socketClass(String(addressOf(request, token)), [...request.protocols]);
      made.binaryType = 'arraybuffer';
      let error: Error | undefined;
      made.onopen = () => listener.opened(made.protocol);
      made.onmessage = ({ data }) => {
        if (typeof data === 'string') made.close();
        else listener.frame(bytesOf(data));
      };
      made.onerror = (event) => {
        error = errorOf(event);
      };
      made.onclose = (event) => listener.closed(error ?? closeErrorOf(event));
      socket = made;
    };
    open().catch((error: unknown) => listener.closed(errorOf(error)));
    return {
      send: (bytes) => socket?.send(bytes),
      close: () => {
        isCancelled = true;
        socket?.close();
      },
    };
  };
}

/**
 * Browsers cannot set headers on a socket: the token is exchanged for one that is safe in a URL.
 */
async function passFor(request: SocketRequest, platform: Platform): Promise<string | undefined> {
  const { token, uri } = request;
  if (token === undefined) return undefined;
  const address = new URL('/v1/identity/websocket-token', httpAddress(uri));
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await platform.fetch(String(address), { method: 'POST', headers });
  const pass = answer.ok ? (JSON.parse(await answer.text()) as { token?: unknown }).token : 0;
  if (typeof pass === 'string') return pass;
  const text = `Failed to verify token: ${answer.statusText || answer.status}`;
  const isRefusal = answer.status === 401 || answer.status === 403;
  throw isRefusal ? new ConnectionRefusedError(answer.status, text) : new Error(text);
}

export function addressOf(request: SocketRequest, token: string | undefined): URL {
  const { uri, database, compression, lightMode, confirmedReads, isFullDialect } = request;
  let search = `compression=${capitalised(compression)}`;
  if (token !== undefined) search = `token=${encodeURIComponent(token)}&${search}`;
  if (lightMode) search += '&light=true';
  if (confirmedReads !== undefined) search += `&confirmed=${confirmedReads}`;
  if (isFullDialect === true) search += '&dialect=full';
  const base = String(httpAddress(uri)).replace(/^http/, 'ws');
  return new URL(`/v1/database/${encodeURIComponent(database)}/subscribe?${search}`, base);
}

function capitalised(choice: CompressionChoice): string {
  return choice.charAt(0).toUpperCase() + choice.slice(1);
}

/** Throws for what no socket can reach. */
export function uriIn(given: string | URL): URL {
  if (/^(http|ws)s?:/i.test(`${given}`)) return new URL(given);
  throw new TypeError(`not an http or ws address: ${given}`);
}

/** The HTTP address of the same server. */
export function httpAddress(uri: URL): URL {
  return new URL(String(uri).replace(/^ws/, 'http'));
}

function bytesOf(data: unknown): Uint8Array {
  return data instanceof Uint8Array ? data : new Uint8Array(data as ArrayBuffer);
}

/** Why a socket was closed, as its last event says; those of programs may not. */
export function closeErrorOf(event: any): ReducerDbError | undefined {
  return (
    event?.code &&
    new ReducerDbError('socket.closed', `closed: ${event.code} ${event.reason}`, { cause: event })
  );
}

/** Error events of sockets carry little information; it is kept. */
export function errorOf(thrown: any): Error {
  const error: unknown = thrown?.error ?? thrown;
  return error instanceof Error ? error : new Error(thrown?.message || 'the socket failed');
}
