import { limits } from '../limits.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import type { BootId, HostId } from '../shared-log/host-ids.ts';
import { bigintToHex } from '../values/hex.ts';
import type { LinkClient } from './link-client.ts';

export interface LinkWatchOptions {
  readonly client: Pick<LinkClient, 'ping' | 'untilBroken'>;
  /** The other hosts that live as far as this one knows. */
  readonly others: () => readonly SeenHost[];
  readonly now: () => number;
  /** Called when a process that answered has ended: its address refuses connections. */
  readonly onRefused: (host: HostId, boot: BootId) => void;
}

/**
 * Pings the other hosts, and at once when a connection with one ends. A process that was killed is
 * known to be gone when its address refuses connections; one that is paused or cut off does not
 * answer, which says nothing.
 */
export class LinkWatch {
  readonly #options: LinkWatchOptions;
  /** The boot that answered last at each host. */
  readonly #answered = new Map<HostId, BootId>();
  readonly #answeredAt = new Map<BootId, number>();
  readonly #asking = new Set<HostId>();
  /** Hosts with a connection whose end is heard of at once. */
  readonly #held = new Set<HostId>();
  readonly #closing = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(options: LinkWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), limits.linkPingMillis).unref();
  }

  /** How long ago a process answered last. */
  silentMillis(boot: BootId): number {
    return this.#options.now() - (this.#answeredAt.get(boot) ?? Number.NEGATIVE_INFINITY);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#closing.abort();
  }

  #look(): void {
    for (const host of this.#options.others()) {
      if (!this.#asking.has(host.host)) void this.#ping(host);
    }
  }

  async #hold(seen: SeenHost): Promise<void> {
    const { host, address } = seen;
    this.#held.add(host);
    const isBroken = await this.#options.client.untilBroken(address, this.#closing.signal);
    this.#held.delete(host);
    if (isBroken && !this.#closing.signal.aborted) await this.#ping(seen);
  }

  async #ping(seen: SeenHost): Promise<void> {
    const { host, boot, address } = seen;
    this.#asking.add(host);
    try {
      const ping = await this.#options.client.ping(address);
      if (ping.kind === 'boot' && ping.boot === bigintToHex(boot, 32)) {
        const before = this.#answered.get(host);
        if (before !== undefined && before !== boot) this.#answeredAt.delete(before);
        this.#answered.set(host, boot);
        this.#answeredAt.set(boot, this.#options.now());
        if (!this.#held.has(host)) void this.#hold(seen);
      }
      if (ping.kind === 'refused' && this.#answered.get(host) === boot) {
        this.#options.onRefused(host, boot);
      }
    } catch {
      // Nothing is known: the lease decides.
    } finally {
      this.#asking.delete(host);
    }
  }
}
