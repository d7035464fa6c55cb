import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { ForwardAnswer, ForwardRequest, LeaderHint } from './link-client.ts';

/** Where a database is led, as this host knows it. */
export type LeaderPlace =
  | { readonly kind: 'here' }
  | ({ readonly kind: 'elsewhere' } & LeaderHint)
  | { readonly kind: 'unknown' };

export interface RoutingOptions {
  readonly placeOf: (database: DatabaseIdentity) => LeaderPlace;
  readonly send: (address: string, request: ForwardRequest) => Promise<ForwardAnswer>;
  readonly now: () => number;
  readonly waitMillis?: number;
}

/** `noLeader`: nothing was done. `here`: this host leads by now. */
export type Routed =
  | Exclude<ForwardAnswer, { readonly kind: 'notDone' }>
  | { readonly kind: 'here' }
  | { readonly kind: 'noLeader' }
  | { readonly kind: 'overloaded' };

interface Waiter {
  wake(): void;
}

/**
 * Takes requests to the host that leads their database. A wrong hint costs one more try; while
 * nobody leads, requests wait, so many per database and so long.
 */
export class Routing {
  readonly #options: RoutingOptions;
  readonly #waiting = new Map<DatabaseIdentity, Set<Waiter>>();
  /** What other hosts said that is newer than what this one knows. */
  readonly #told = new Map<DatabaseIdentity, LeaderHint>();

  constructor(options: RoutingOptions) {
    this.#options = options;
  }

  /** Something of the database has changed here: those who wait for it look again. */
  changed(database: DatabaseIdentity): void {
    for (const waiter of this.#waiting.get(database) ?? []) waiter.wake();
  }

  async route(database: DatabaseIdentity, request: ForwardRequest): Promise<Routed> {
    const { now, send, waitMillis = limits.waitLeaderMillis } = this.#options;
    const { head, body, signal } = request;
    const begun = now();
    const patience = Math.min(waitMillis, head.waitsMillis);
    let tried: string | undefined;
    while (!signal.aborted) {
      const place = this.#placeOf(database);
      if (place.kind === 'here') return place;
      const left = patience - (now() - begun);
      if (left <= 0) return { kind: 'noLeader' };
      // Who has refused a moment ago is asked again only after something has changed, or a pause.
      if (place.kind === 'elsewhere' && place.address !== tried) {
        tried = place.address;
        const passed = { ...head, waitsMillis: left, hops: head.hops + 1 };
        const answer = await send(place.address, { ...request, head: passed });
        if (answer.kind !== 'notDone') return answer;
        this.#learn(database, place, answer.leader);
        const isReadOnce = body !== undefined && !(body instanceof Uint8Array);
        if (isReadOnce) return { kind: 'noLeader' };
        continue;
      }
      if (!(await this.#pause(database, Math.min(left, limits.routeLookMillis), signal))) {
        return { kind: 'overloaded' };
      }
      tried = undefined;
    }
    return { kind: 'noLeader' };
  }

  #placeOf(database: DatabaseIdentity): LeaderPlace {
    const known = this.#options.placeOf(database);
    const told = this.#told.get(database);
    if (told === undefined || known.kind === 'here') return known;
    if (known.kind === 'elsewhere' && known.term >= told.term) {
      this.#told.delete(database);
      return known;
    }
    return { kind: 'elsewhere', ...told };
  }

  #learn(database: DatabaseIdentity, asked: LeaderHint, told: LeaderHint | undefined): void {
    if (told === undefined || told.term <= asked.term) return;
    if (this.#told.size >= limits.placeHintsMax) this.#told.clear();
    this.#told.set(database, told);
  }

  /** False if too many wait already. */
  async #pause(database: DatabaseIdentity, millis: number, signal: AbortSignal): Promise<boolean> {
    const waiting = this.#waiting.get(database) ?? new Set();
    if (waiting.size >= limits.callQueueMax) return false;
    this.#waiting.set(database, waiting);
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        waiting.delete(waiter);
        if (waiting.size === 0) this.#waiting.delete(database);
        resolve();
      };
      const waiter: Waiter = { wake: done };
      const timer = setTimeout(done, millis);
      signal.addEventListener('abort', done);
      waiting.add(waiter);
    });
    return true;
  }
}
