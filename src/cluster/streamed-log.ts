import { limits } from '../limits.ts';
import type { Lead } from '../shared-log/entry-payloads.ts';
import type { BootId } from '../shared-log/host-ids.ts';
import type { LogName } from '../shared-log/log-name.ts';
import type {
  AppendItem,
  AppendResult,
  SharedLog,
  StopSignal,
  StreamedEntry,
} from '../shared-log/shared-log.ts';
import type { LinkClient } from './link-client.ts';
import { StreamReceiver } from './stream-receiver.ts';
import { StreamSender } from './stream-sender.ts';

export interface StreamedLogOptions {
  readonly inner: SharedLog;
  readonly client: Pick<LinkClient, 'stream'>;
  /** The other host that leads a log, as far as this one knows. */
  readonly leaderOf: (log: LogName) => Pick<Lead, 'boot' | 'address'> | undefined;
}

/** Entries, from and to other hosts, since the start; and logs of which they come now. */
export interface StreamFigures {
  readonly sent: number;
  readonly left: number;
  readonly received: number;
  readonly logs: number;
}

/**
 * A shared log whose entries also come from the hosts that write them: one stream for each host of
 * which this one follows something. While there is one, a follower asks the engine for nothing but
 * whether it is there; without, it waits at the engine.
 */
export class StreamedLog implements SharedLog {
  readonly #options: StreamedLogOptions;
  readonly #inner: SharedLog;
  readonly #receivers = new Map<BootId, StreamReceiver>();
  /** Hosts whose stream is being opened, or could not be, and when. */
  readonly #tried = new Map<BootId, number>();
  #isClosed = false;
  /** Entries that came by streams that have ended. */
  #received = 0;
  /** What other hosts want of this one. */
  readonly sender = new StreamSender();

  constructor(options: StreamedLogOptions) {
    this.#options = options;
    this.#inner = options.inner;
  }

  get figures(): StreamFigures {
    const receivers = [...this.#receivers.values()];
    const sumOf = (of: (receiver: StreamReceiver) => number) =>
      receivers.reduce((sum, receiver) => sum + of(receiver), 0);
    return {
      ...this.sender.counts,
      received: this.#received + sumOf(({ entryCount }) => entryCount),
      logs: sumOf(({ logCount }) => logCount),
    };
  }

  async append(items: readonly AppendItem[]): Promise<readonly AppendResult[]> {
    const results = await this.#inner.append(items);
    items.forEach((item, at) => {
      if (results[at] === 'stored') this.sender.stored(item);
    });
    return results;
  }

  async streamed(log: LogName, from: number): Promise<readonly StreamedEntry[]> {
    return this.#receiverOf(log)?.take(log, from) ?? [];
  }

  async wait(log: LogName, from: number, signal: StopSignal): Promise<void> {
    const receiver = this.#receiverOf(log);
    const isBegun = receiver?.wants(log);
    if (receiver === undefined || isBegun === undefined) {
      return this.#inner.wait(log, from, signal);
    }
    if (receiver.has(log, from) || signal.aborted) return;
    const over = new AbortController();
    const stop = (): void => over.abort();
    let forget: () => void = () => undefined;
    let timer: NodeJS.Timeout | undefined;
    const news = new Promise<void>((resolve) => {
      forget = receiver.onNews(log, resolve);
      signal.addEventListener('abort', stop);
      over.signal.addEventListener('abort', () => resolve());
      if (isBegun) timer = setTimeout(resolve, limits.logLookMillis);
    });
    try {
      // What was stored before entries are sent is the engine's to show.
      await (isBegun ? news : Promise.race([news, this.#inner.wait(log, from, over.signal)]));
    } finally {
      signal.removeEventListener('abort', stop);
      clearTimeout(timer);
      forget();
      over.abort();
    }
  }

  read(...given: Parameters<SharedLog['read']>): ReturnType<SharedLog['read']> {
    return this.#inner.read(...given);
  }

  confirm(...given: Parameters<SharedLog['confirm']>): ReturnType<SharedLog['confirm']> {
    return this.#inner.confirm(...given);
  }

  truncate(...given: Parameters<SharedLog['truncate']>): ReturnType<SharedLog['truncate']> {
    return this.#inner.truncate(...given);
  }

  create(...given: Parameters<SharedLog['create']>): ReturnType<SharedLog['create']> {
    return this.#inner.create(...given);
  }

  remove(log: LogName): Promise<void> {
    return this.#inner.remove(log);
  }

  capabilities(): ReturnType<SharedLog['capabilities']> {
    return this.#inner.capabilities();
  }

  close(): void {
    this.#isClosed = true;
    for (const receiver of this.#receivers.values()) receiver.end();
    this.sender.close();
  }

  /** The stream of the host that leads a log; none yet, and it is opened. */
  #receiverOf(log: LogName): StreamReceiver | undefined {
    const leader = this.#options.leaderOf(log);
    if (leader === undefined || this.#isClosed) return undefined;
    const known = this.#receivers.get(leader.boot);
    if (known === undefined) void this.#open(leader);
    return known;
  }

  async #open({ boot, address }: Pick<Lead, 'boot' | 'address'>): Promise<void> {
    const now = performance.now();
    if (now - (this.#tried.get(boot) ?? Number.NEGATIVE_INFINITY) < limits.streamAgainMillis)
      return;
    if (this.#tried.size > limits.clusterHostsMax) this.#tried.clear();
    this.#tried.set(boot, now);
    const link = await this.#options.client.stream(address, boot).catch(() => undefined);
    if (link === undefined) return;
    if (this.#isClosed || this.#receivers.has(boot)) return link.close();
    const receiver = new StreamReceiver(link, () => {
      this.#receivers.delete(boot);
      this.#received += receiver.entryCount;
    });
    this.#receivers.set(boot, receiver);
  }
}
