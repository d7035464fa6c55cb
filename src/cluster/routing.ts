import type { PlacesFull } from '../host/replication/leader-refusals.ts';
import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { LeaderHint } from './leader-hint.ts';
import type { ForwardAnswer, ForwardRequest, NotDone } from './link-client.ts';

/** Where a database is led, as this host knows it. */
export type LeaderPlace =
  | { readonly kind: 'here' }
  | ({ readonly kind: 'elsewhere' } & LeaderHint)
  | { readonly kind: 'unknown' };

export interface RoutingOptions {
  readonly placeOf: (database: DatabaseIdentity) => LeaderPlace;
  readonly now: () => number;
  /** Where other hosts reach this one; who is sent here waits until it leads. */
  readonly me?: string;
  readonly waitMillis?: number;
}

/** Sends a request to an address of a host. */
export type Send<Answer> = (address: string, request: ForwardRequest) => Promise<Answer | NotDone>;

/** `noLeader`: nothing was done. `here`: this host leads by now. */
export type Routed<Answer = ForwardAnswer> =
  | Exclude<Answer, NotDone>
  | { readonly kind: 'here' }
  | { readonly kind: 'noLeader' }
  /** Nothing was done; `full` is absent where as many wait for a leader as may. */
  | { readonly kind: 'overloaded'; readonly full?: PlacesFull };

/** What became of a request, and the client address of the host that it went to last. */
export type Led<Answer extends { readonly kind: string }> = Routed<Answer> & {
  readonly leader: string | undefined;
};

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

  async route<Answer extends { readonly kind: string }>(
    request: ForwardRequest,
    send: Send<Answer>,
  ): Promise<Routed<Answer>> {
    const { now, waitMillis = limits.waitLeaderMillis } = this.#options;
    const { head, signal } = request;
    const { database } = head;
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
        const { term } = place;
        const passed = { ...head, waitsMillis: left, hops: head.hops + 1, term };
        const answer = await send(place.address, { ...request, head: passed });
        if (!isNotDone(answer)) return answer as Exclude<Answer, NotDone>;
        this.#learn(database, place, answer.leader);
        this.#unlearn(database, place);
        if (answer.isSpent) return { kind: 'noLeader' };
        continue;
      }
      if (!(await this.#pause(database, Math.min(left, limits.routeLookMillis), signal))) {
        return { kind: 'overloaded' };
      }
      tried = undefined;
    }
    return { kind: 'noLeader' };
  }

  /** Resolves to true when this host leads, and to false if that takes too long. */
  async untilHere(database: DatabaseIdentity, millisMax: number): Promise<boolean> {
    const { now, placeOf } = this.#options;
    const until = now() + millisMax;
    for (let left = millisMax; left > 0; left = until - now()) {
      if (placeOf(database).kind === 'here') return true;
      const never = new AbortController().signal;
      if (!(await this.#pause(database, Math.min(left, limits.routeLookMillis), never)))
        return false;
    }
    return placeOf(database).kind === 'here';
  }

  #placeOf(database: DatabaseIdentity): LeaderPlace {
    const known = this.#options.placeOf(database);
    const told = this.#told.get(database);
    if (told === undefined || known.kind === 'here') return known;
    if (known.kind === 'elsewhere' && known.term >= told.term) {
      this.#told.delete(database);
      return known;
    }
    return told.address === this.#options.me ? { kind: 'unknown' } : { kind: 'elsewhere', ...told };
  }

  #learn(database: DatabaseIdentity, asked: LeaderHint, told: LeaderHint | undefined): void {
    if (told === undefined || told.term <= asked.term) return;
    if (this.#told.size >= limits.placeHintsMax) this.#told.clear();
    this.#told.set(database, told);
  }

  /** Who was told of, and does not lead, is forgotten unless somebody names it again. */
  #unlearn(database: DatabaseIdentity, asked: LeaderHint): void {
    const told = this.#told.get(database);
    if (told?.address === asked.address && told.term === asked.term) this.#told.delete(database);
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

function isNotDone(answer: { readonly kind: string }): answer is NotDone {
  return answer.kind === 'notDone';
}
