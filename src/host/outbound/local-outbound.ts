import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { HostFigures } from './host-counts.ts';
import type { OpenWay, ServiceOutbound, WayOptions } from './outbound.ts';
import { OutboundHttp, type OutboundOptions } from './outbound-http.ts';
import { openWay } from './way-requests.ts';

/** Sends the requests of modules from the caller's thread. */
export class LocalOutbound implements ServiceOutbound {
  readonly #http: OutboundHttp;

  constructor(options: OutboundOptions) {
    this.#http = new OutboundHttp(options);
  }

  get isEnabled(): boolean {
    return this.#http.isEnabled;
  }

  open(database: DatabaseIdentity, options: WayOptions): OpenWay {
    return openWay(this.#http, database, options);
  }

  async figures(): Promise<readonly HostFigures[]> {
    return this.#http.figures;
  }

  /** The rules ask for the names each time. */
  async renamed(): Promise<void> {}

  forget(database: DatabaseIdentity): void {
    this.#http.forget(database);
  }

  async close(): Promise<void> {
    this.#http.close();
  }
}
