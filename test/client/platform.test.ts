import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { getGlobalLogLevel, type LogLevel, setGlobalLogLevel } from '../../src/client/log-level.ts';
import { platform } from '../../src/client/platform.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  setGlobalLogLevel('info');
});

/** Something that events happen to. */
class Source {
  readonly #listeners = new Map<string, Set<() => void>>();
  visibilityState = 'visible';

  addEventListener = (type: string, listener: () => void) => {
    const known = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, known.add(listener));
  };
  removeEventListener = (type: string, listener: () => void) => {
    this.#listeners.get(type)?.delete(listener);
  };

  happen(type: string): void {
    for (const listener of this.#listeners.get(type) ?? []) listener();
  }

  get listenerCount(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }
}

describe('what the library takes from where it runs', () => {
  it('[client-sdk 6.6] reports errors to the platform, or else to the console', () => {
    const reported: unknown[] = [];
    vi.stubGlobal('reportError', undefined);
    vi.stubGlobal('console', { error: (error: unknown) => reported.push(['console', error]) });
    const first = new Error('first');
    platform.report(first);
    vi.stubGlobal('reportError', (error: unknown) => reported.push(['platform', error]));
    const second = new Error('second');
    platform.report(second);
    expect(reported).toEqual([
      ['console', first],
      ['platform', second],
    ]);
  });

  it('[client-sdk 13] wakes when the network is back and when the page is seen again', () => {
    const [window, document] = [new Source(), new Source()];
    vi.stubGlobal('document', document);
    vi.stubGlobal('addEventListener', window.addEventListener);
    vi.stubGlobal('removeEventListener', window.removeEventListener);
    let count = 0;
    const stop = platform.onWake(() => {
      count += 1;
    });
    for (const type of ['online', 'pageshow', 'focus']) window.happen(type);
    document.happen('visibilitychange');
    expect(count).toBe(4);
    document.visibilityState = 'hidden';
    document.happen('visibilitychange');
    expect(count).toBe(4);
    stop();
    expect([window.listenerCount, document.listenerCount]).toEqual([0, 0]);
  });

  it('[client-sdk 19] is offline only where the platform says so', () => {
    vi.stubGlobal('navigator', undefined);
    expect(platform.isOnline()).toBe(true);
    vi.stubGlobal('navigator', { onLine: false });
    expect(platform.isOnline()).toBe(false);
  });

  it('[client-sdk 16] waits for ever where no timer is that long', async () => {
    let count = 0;
    const run = () => {
      count += 1;
    };
    const stops = [Number.POSITIVE_INFINITY, 2 ** 31].map((millis) => platform.after(millis, run));
    await new Promise<void>((resolve) => {
      platform.after(20, resolve);
    });
    expect(count).toBe(0);
    for (const stop of stops) stop();
  });

  it('[client-sdk 18] decompresses with the platform, and knows where it cannot', async () => {
    const bytes = new TextEncoder().encode('many rows '.repeat(50));
    expect(platform.canDecompress('gzip')).toBe(true);
    expect(await platform.decompress('gzip', gzipSync(bytes))).toEqual(bytes);
    vi.stubGlobal('DecompressionStream', undefined);
    expect(platform.canDecompress('gzip')).toBe(false);
    await expect(platform.decompress('gzip', bytes)).rejects.toThrow('cannot decompress gzip');
  });

  it('[client-sdk 18] takes the web sockets of the platform where there are any', async () => {
    class PlatformSocket {}
    vi.stubGlobal('WebSocket', PlatformSocket);
    expect(await platform.webSocket()).toBe(PlatformSocket);
  });

  it('[client-sdk 1] says more or less on the console, as it is told', () => {
    const written: string[] = [];
    vi.stubGlobal('console', { debug: (text: string) => written.push(text) });
    expect(getGlobalLogLevel()).toBe('info');
    platform.debug('unsaid');
    for (const level of ['debug', 'trace'] as const) {
      setGlobalLogLevel(level);
      platform.debug(level);
    }
    setGlobalLogLevel('error');
    platform.debug('unsaid');
    expect(written).toEqual(['reducerdb: debug', 'reducerdb: trace']);
    expect(() => setGlobalLogLevel('loud' as LogLevel)).toThrow('log levels are error, warn');
  });
});
