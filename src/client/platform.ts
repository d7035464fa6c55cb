/**
 * Everything the library needs from its platform: browsers, workers, Node, Bun, Deno, React Native.
 * Names are looked up on `globalThis` on use, so importing the library has no effects, and a test
 * can pass its own platform.
 */
import { isLogged } from './log-level.ts';

/**
 * The constructor of web sockets: the platform's, or one that the program provides.
 *
 * @example
 * ```ts
 * const webSocket: WebSocketClass = WebSocket;
 * ```
 */
export type WebSocketClass = new (
  url: string,
  protocols: string[],
) => {
  readonly protocol: string;
  readonly readyState: number;
  binaryType: string;
  onopen: ((event: any) => void) | null;
  onmessage: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
  send(data: any): void;
  close(code?: number, reason?: string): void;
};

export interface HttpAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly statusText: string;
  text(): Promise<string>;
}

export interface HttpRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

/**
 * The part of an `AbortSignal` that is needed to stop waiting.
 *
 * @example
 * ```ts
 * const signal: StopSignal = AbortSignal.timeout(1_000);
 * ```
 */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: any;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export interface Platform {
  /** Milliseconds since 1970. */
  now(): number;
  /** A number of at least 0, below 1. */
  random(): number;
  /** Runs `run` after `millis`, unless the returned function is called before. May wait forever. */
  after(millis: number, run: () => void): () => void;
  fetch(url: string, request: HttpRequest): Promise<HttpAnswer>;
  /** The platform's own sockets, if it has any. */
  webSocket(): Promise<WebSocketClass>;
  /** Returns false if the platform knows that there is no network. */
  isOnline(): boolean;
  /** Calls `wake` when the network is back or the page becomes visible again. */
  onWake(wake: () => void): () => void;
  canDecompress(format: string): boolean;
  decompress(format: 'gzip' | 'brotli', bytes: Uint8Array): Promise<Uint8Array>;
  /** Reports an error that a callback of the program threw. */
  report(error: unknown): void;
  /** Logs a problem; the library goes on. */
  warn(text: string): void;
  /** Logs details for debugging. */
  debug(text: string): void;
}

interface Globals {
  setTimeout(run: () => void, millis: number): unknown;
  clearTimeout(timer: unknown): void;
  fetch(url: string, request: HttpRequest): Promise<HttpAnswer>;
  WebSocket?: WebSocketClass;
  navigator?: { readonly onLine?: boolean };
  document?: EventSource & { readonly visibilityState?: string };
  addEventListener?: EventSource['addEventListener'];
  removeEventListener?: EventSource['removeEventListener'];
  DecompressionStream?: new (format: string) => unknown;
  Blob?: new (parts: unknown[]) => { stream(): { pipeThrough(through: unknown): unknown } };
  Response?: new (body: unknown) => { arrayBuffer(): Promise<ArrayBuffer> };
  reportError?(error: unknown): void;
  console?: {
    error(...words: unknown[]): void;
    warn(...words: unknown[]): void;
    debug(...words: unknown[]): void;
  };
}

interface EventSource {
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}

const globals = globalThis as unknown as Globals;

export const platform: Platform = {
  now: () => Date.now(),
  random: () => Math.random(),
  after: (millis, run) => {
    // A delay beyond the timer's range would fire at once.
    if (millis >= 2 ** 31) return () => {};
    const timer = globals.setTimeout(run, millis);
    return () => globals.clearTimeout(timer);
  },
  fetch: (url, request) => globals.fetch(url, request),
  webSocket: async () => globals.WebSocket ?? packageWebSocket(),
  isOnline: () => globals.navigator?.onLine !== false,
  onWake: listenToWake,
  canDecompress,
  decompress,
  report: (error) => {
    if (globals.reportError !== undefined) globals.reportError(error);
    else globals.console?.error(error);
  },
  warn: (text) => {
    if (isLogged('warn')) globals.console?.warn(`reducerdb: ${text}`);
  },
  debug: (text) => {
    if (isLogged('debug')) globals.console?.debug(`reducerdb: ${text}`);
  },
};

/**
 * Node 20 has no `WebSocket`. The package names are variables, so that bundlers do not follow them.
 */
async function packageWebSocket(): Promise<WebSocketClass> {
  for (const name of ['ws', 'undici']) {
    try {
      const found = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as {
        WebSocket?: WebSocketClass;
      };
      if (found.WebSocket !== undefined) return found.WebSocket;
    } catch {
      // Not installed: try the next one, or throw the error below, which says what to do.
    }
  }
  throw new Error('this platform has no WebSocket: install `ws`, or pass the option `webSocket`');
}

function listenToWake(wake: () => void): () => void {
  const { document } = globals;
  const wakeIfSeen = () => {
    if (document?.visibilityState !== 'hidden') wake();
  };
  const types = ['online', 'pageshow', 'focus'];
  for (const type of types) globals.addEventListener?.(type, wakeIfSeen);
  document?.addEventListener('visibilitychange', wakeIfSeen);
  return () => {
    for (const type of types) globals.removeEventListener?.(type, wakeIfSeen);
    document?.removeEventListener('visibilitychange', wakeIfSeen);
  };
}

function canDecompress(format: string): boolean {
  const { DecompressionStream } = globals;
  try {
    return DecompressionStream !== undefined && new DecompressionStream(format) !== undefined;
  } catch {
    return false;
  }
}

async function decompress(format: 'gzip' | 'brotli', bytes: Uint8Array): Promise<Uint8Array> {
  const { DecompressionStream, Blob, Response } = globals;
  if (DecompressionStream === undefined || Blob === undefined || Response === undefined) {
    throw new Error(`this platform cannot decompress ${format}`);
  }
  const body = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format));
  return new Uint8Array(await new Response(body).arrayBuffer());
}
