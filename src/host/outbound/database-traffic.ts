import { limits } from '../../limits.ts';
import { HostPlaces } from './host-places.ts';
import { KeptConnections } from './kept-connections.ts';

/** The running requests of one database, with what they share and what they may take together. */
export class DatabaseTraffic {
  readonly connections = new KeptConnections();
  readonly places = new HostPlaces(limits.outboundHostRequestsMax);
  /** Whether somebody will look later if it can be dropped. */
  isScheduled = false;
  #requests = 0;
  #bodyBytes = 0;

  /** Counts a request. Throws if it would be one too many. */
  begin(): void {
    if (this.#requests >= limits.outboundRequestsMax) {
      throw new Error(`${limits.outboundRequestsMax} requests of this database are running`);
    }
    this.#requests += 1;
  }

  end(): void {
    this.#requests -= 1;
  }

  /** Throws if the bodies of all running requests become too large together. */
  takeBytes(bytes: number): void {
    if (this.#bodyBytes + bytes > limits.outboundBodiesBytesMax) {
      const mebibytes = limits.outboundBodiesBytesMax / 2 ** 20;
      throw new Error(`bodies of running requests exceed ${mebibytes} MiB`);
    }
    this.#bodyBytes += bytes;
  }

  giveBackBytes(bytes: number): void {
    this.#bodyBytes -= bytes;
  }

  get isIdle(): boolean {
    return this.#requests === 0 && this.connections.idleCount === 0;
  }
}

/** The bytes of one request's bodies, given back together. */
export class BodyBytes {
  readonly #traffic: DatabaseTraffic;
  #bytes = 0;

  constructor(traffic: DatabaseTraffic) {
    this.#traffic = traffic;
  }

  take(bytes: number): void {
    this.#traffic.takeBytes(bytes);
    this.#bytes += bytes;
  }

  giveBack(): void {
    this.#traffic.giveBackBytes(this.#bytes);
    this.#bytes = 0;
  }
}
