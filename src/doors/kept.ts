import { randomBytes } from 'node:crypto';
import { assert } from '../assert.ts';
import { hasRole, type Rights } from '../database/rights.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';

export interface KeptBounds {
  /** Maximum count of things: of all callers together, and of one caller. */
  readonly countMax: number;
  readonly callerCountMax: number;
  /** Maximum bytes: of one thing, and of all together. */
  readonly thingBytesMax: number;
  readonly bytesMax: number;
  /** Time since a thing was last requested. */
  readonly millisMax: number;
}

/** For whom a thing is kept. */
export interface Holder {
  /** Equal for all requests that can get the thing. */
  readonly caller: string;
  /**
   * Who shares the room with whom, outermost first: such as the owner of the database, the
   * database, the caller. Identities cost nothing, so callers alone are no measure.
   */
  readonly shares: readonly string[];
}

/**
 * Things kept for callers between requests, under unguessable ids. A caller over its bounds evicts
 * its own oldest things. When all callers together exceed theirs, a thing is evicted from the
 * outermost share that holds most, within it from the next one that does, and so on: the one that
 * was least recently requested. So nobody drives out the things of others who hold less.
 */
export class Kept<Thing> {
  readonly #bounds: KeptBounds;
  /** By id, least recently requested first. */
  readonly #entries = new Map<string, Entry<Thing>>();
  #bytes = 0;

  constructor(bounds: KeptBounds) {
    this.#bounds = bounds;
  }

  get count(): number {
    return this.#entries.size;
  }

  /** Keeps a thing of about `bytes`; returns its id, or `undefined` if it is too large. */
  put(holder: Holder, thing: Thing, bytes: number): string | undefined {
    const { thingBytesMax, bytesMax, countMax, callerCountMax, millisMax } = this.#bounds;
    if (bytes > thingBytesMax) return undefined;
    const own = [...this.#entries].filter(([, { caller }]) => caller === holder.caller);
    const [oldest] = own;
    if (own.length >= callerCountMax && oldest !== undefined) this.drop(oldest[0]);
    const { shares } = holder;
    while (this.count >= countMax) this.#evict({ shares, bytes }, () => 1);
    while (this.#bytes + bytes > bytesMax) this.#evict({ shares, bytes }, (one) => one.bytes);
    const id = randomBytes(16).toString('base64url');
    const timer = setTimeout(() => this.drop(id), millisMax);
    timer.unref();
    this.#entries.set(id, { ...holder, thing, bytes, timer });
    this.#bytes += bytes;
    return id;
  }

  /** Returns the thing with that id, if it was kept for this caller. */
  get(caller: string, id: string): Thing | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.caller !== caller) return undefined;
    entry.timer.refresh();
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return entry.thing;
  }

  drop(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    clearTimeout(entry.timer);
    this.#entries.delete(id);
    this.#bytes -= entry.bytes;
  }

  /** Drops the oldest thing of what would be the largest share with `next`, which needs room. */
  #evict(next: Weighed, weightOf: (one: Weighed) => number): void {
    let left = [...this.#entries];
    for (let level = 0; ; level++) {
      const shareOf = ({ shares }: Weighed) => shares[level];
      const weights = new Map([[shareOf(next), weightOf(next)]]);
      for (const [, entry] of left) {
        const share = shareOf(entry);
        weights.set(share, (weights.get(share) ?? 0) + weightOf(entry));
      }
      // Of equal ones the first, which has the oldest thing.
      const weight = ([, entry]: (typeof left)[number]) => weights.get(shareOf(entry)) ?? 0;
      const [first] = left;
      assert(first !== undefined, 'nothing is kept, and yet there is no room');
      const most = left.reduce((best, one) => (weight(one) > weight(best) ? one : best), first);
      const share = shareOf(most[1]);
      if (share === undefined) {
        this.drop(most[0]);
        return;
      }
      left = left.filter(([, entry]) => shareOf(entry) === share);
    }
  }
}

interface Weighed {
  readonly shares: readonly string[];
  readonly bytes: number;
}

/**
 * The shares of what is kept of a database for a caller. Strangers come from nowhere: they share.
 */
export function sharesIn(
  { owner, identity }: Pick<HostedDatabase, 'owner' | 'identity'>,
  rights: Rights,
  callerKey: string,
): readonly string[] {
  const standing = hasRole(rights) ? 'role' : 'stranger';
  return [String(owner), String(identity), standing, callerKey];
}

interface Entry<Thing> extends Holder, Weighed {
  readonly thing: Thing;
  readonly timer: NodeJS.Timeout;
}
