import type { Duplex } from 'node:stream';
import { limits } from '../limits.ts';
import type { BootId } from '../shared-log/host-ids.ts';
import type { Membership } from './membership.ts';

export interface RelaysOptions {
  readonly membership: Pick<Membership, 'hosts' | 'hasEnded'>;
  /** How long ago a process answered last. */
  readonly silentMillis: (boot: BootId) => number;
  readonly leaseMillis: number;
}

/**
 * WebSockets of clients that are connected with other hosts, which relay them to this one. The end
 * of a process ends its connections. A machine that is gone does not: here its connections are
 * ended, so that its clients count as gone.
 */
export class Relays {
  readonly #streams = new Map<BootId, Set<Duplex>>();
  #timer: NodeJS.Timeout | undefined;

  /** Keeps a stream until it ends; `sender` is absent where an older host sends it. */
  add(sender: BootId | undefined, stream: Duplex): void {
    if (sender === undefined) return;
    const known = this.#streams.get(sender) ?? new Set();
    this.#streams.set(sender, known.add(stream));
    stream.once('close', () => {
      known.delete(stream);
      if (known.size === 0 && this.#streams.get(sender) === known) this.#streams.delete(sender);
    });
  }

  /** Looks for hosts that are gone, until `close`. */
  begin(options: RelaysOptions): void {
    this.#timer = setInterval(() => this.#look(options), limits.linkPingMillis).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(options: RelaysOptions): void {
    for (const [sender, streams] of this.#streams) {
      if (isGone(sender, options)) for (const stream of streams) stream.destroy();
    }
  }
}

/**
 * True if a host has said goodbye, or its process has ended, or nothing was heard of it for a
 * lease: neither a beat, nor an answer.
 */
export function isGone(sender: BootId, options: RelaysOptions): boolean {
  const { membership, silentMillis, leaseMillis } = options;
  if (membership.hasEnded(sender)) return true;
  // One that has just joined is not in the beats yet.
  const seen = membership.hosts.find(({ boot }) => boot === sender);
  if (seen === undefined) return false;
  const isSilent = seen.ageMillis > leaseMillis && silentMillis(sender) > leaseMillis;
  return seen.state === 'gone' || isSilent;
}
