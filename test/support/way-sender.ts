import { LaneSender } from '../../src/host/lanes/lane-sender.ts';
import type { OpenWay, Outbound } from '../../src/host/outbound/outbound.ts';
import type { FetchOutcome, OutboundRequest } from '../../src/module/lane.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';

/** Sends requests as a lane does. */
export class WaySender {
  readonly open: OpenWay;
  /** Why the way was closed, if a lane would be ended for it. */
  readonly broken: string[] = [];
  readonly #sender: LaneSender;
  readonly #waiting = new Map<number, (outcome: FetchOutcome) => void>();

  constructor(outbound: Outbound, database: DatabaseIdentity) {
    this.open = outbound.open(database, {
      lanes: 1,
      broken: (message) => this.broken.push(message),
    });
    this.#sender = new LaneSender(this.open.way, (id, outcome) => {
      this.#waiting.get(id)?.(outcome);
      this.#waiting.delete(id);
    });
  }

  fetch(
    _database: DatabaseIdentity,
    request: OutboundRequest,
    signal: AbortSignal,
  ): Promise<FetchOutcome> {
    return new Promise((resolve) => {
      const id = this.#sender.send(request);
      this.#waiting.set(id, resolve);
      signal.addEventListener('abort', () => {
        this.#sender.cancel(id);
        resolve({ kind: 'failed', message: 'cancelled' });
      });
    });
  }
}
