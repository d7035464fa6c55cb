import { limits } from '../limits.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import type { BootId, HostId } from '../shared-log/host-ids.ts';
import { bigintToHex } from '../values/hex.ts';
import type { LinkClient } from './link-client.ts';

export interface LinkWatchOptions {
  readonly client: Pick<LinkClient, 'ping'>;
  /** The other hosts that live as far as this one knows. */
  readonly others: () => readonly SeenHost[];
  /** Called when a process that answered has ended: its address refuses connections. */
  readonly onRefused: (host: HostId, boot: BootId) => void;
}

/**
 * Pings the other hosts. A process that was killed is known to be gone when its address refuses
 * connections; one that is paused or cut off does not answer, which says nothing.
 */
export class LinkWatch {
  readonly #options: LinkWatchOptions;
  /** The boot that answered last at each host. */
  readonly #answered = new Map<HostId, BootId>();
  readonly #asking = new Set<HostId>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: LinkWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), limits.linkPingMillis).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const host of this.#options.others()) {
      if (!this.#asking.has(host.host)) void this.#ping(host);
    }
  }

  async #ping({ host, boot, address }: SeenHost): Promise<void> {
    this.#asking.add(host);
    try {
      const ping = await this.#options.client.ping(address);
      if (ping.kind === 'boot' && ping.boot === bigintToHex(boot, 32)) {
        this.#answered.set(host, boot);
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
