import { createHash } from 'node:crypto';
import type { OwnCommit } from '../../database/live/own-commit.ts';
import type { AttachedAnswer } from '../replication/leader-line.ts';
import type { LiveCall, SetUpdate } from './live-connection.ts';

/** The place of a commit among the events of a connection, until it is known whose it is. */
export interface FarPlace {
  readonly kind: 'far';
  readonly commit: OwnCommit;
  readonly sets: readonly SetUpdate[];
}

/** A call whose outcome was not sent. */
export interface FarCall {
  readonly request: LiveCall;
  /** The term that the copy showed when it was sent. */
  readonly term: number;
  answer: AttachedAnswer | undefined;
  /** When it became known that nobody knows its outcome. */
  lostAt: number;
}

/** Calls of one reducer with the same arguments, and commits of such calls, each in order. */
interface Alike {
  readonly key: string;
  /** How many calls there are. */
  count: number;
  /** Each may have made any of the commits. */
  readonly open: Set<FarCall>;
  /** By the offsets of the commits that they have made. */
  readonly known: Map<number, FarCall>;
  /** Shown, and made by none of those that are known. */
  readonly places: Set<FarPlace>;
}

/**
 * Which calls of a connection may have made which of its commits. What it takes to say so does not
 * grow with their number: they are found by a digest of what was called.
 */
export class FarMatches {
  readonly #alike = new Map<string, Alike>();
  readonly #of = new Map<FarCall, Alike>();
  /** Those without a call that can be theirs are among these. */
  readonly #changed = new Set<Alike>();
  /** By their offsets. */
  #places: FarPlace[] = [];

  /** A call was sent. */
  add(call: FarCall): void {
    const { reducer, args } = call.request;
    if (!('length' in args)) return;
    const key = keyOf(reducer, args);
    const made: Alike = { key, count: 0, open: new Set(), known: new Map(), places: new Set() };
    const alike = this.#alike.get(key) ?? made;
    this.#alike.set(key, alike);
    this.#of.set(call, alike);
    alike.count += 1;
    alike.open.add(call);
  }

  /** Its answer has come; `offset`: that of its commit, if it has made one. */
  answered(call: FarCall, offset: number | undefined): void {
    const alike = this.#of.get(call);
    if (alike === undefined) return;
    alike.open.delete(call);
    this.#changed.add(alike);
    if (offset === undefined) return;
    alike.known.set(offset, call);
    const place = this.placeAt(offset);
    if (place !== undefined) alike.places.delete(place);
  }

  /** Its outcome was sent, or is not sent from here. */
  remove(call: FarCall): void {
    const alike = this.#of.get(call);
    if (alike === undefined) return;
    this.#of.delete(call);
    alike.count -= 1;
    alike.open.delete(call);
    const { answer } = call;
    if (answer?.kind === 'called' && answer.outcome.kind === 'committed') {
      const { offset } = answer.outcome;
      if (alike.known.get(offset) === call) alike.known.delete(offset);
    }
    this.#changed.add(alike);
  }

  /** The first call that may have made a commit. */
  callOf({ offset, reducer, args }: OwnCommit): FarCall | undefined {
    if (this.#alike.size === 0) return undefined;
    const alike = this.#alike.get(keyOf(reducer, args));
    return alike?.known.get(offset) ?? alike?.open.values().next().value;
  }

  /** The commit of a place is shown, which a call may have made. */
  keep(place: FarPlace, call: FarCall): void {
    this.#places.push(place);
    const alike = this.#of.get(call);
    if (alike?.known.has(place.commit.offset) === false) alike.places.add(place);
  }

  placeAt(offset: number): FarPlace | undefined {
    const place = this.#places[this.#indexAfter(offset - 1)];
    return place?.commit.offset === offset ? place : undefined;
  }

  /** The first one behind an offset. */
  placeAfter(offset: number): FarPlace | undefined {
    return this.#places[this.#indexAfter(offset)];
  }

  /** True if the commit of a place is one that the call can have made. */
  isOf(call: FarCall, { commit }: FarPlace): boolean {
    const alike = this.#of.get(call);
    return alike !== undefined && alike.key === keyOf(commit.reducer, commit.args);
  }

  /** The first place that a lost call can have, and no answered one. */
  lostPlace(call: FarCall): FarPlace | undefined {
    return this.#of.get(call)?.places.values().next().value;
  }

  /** Takes out the places in front of one. */
  takeBefore({ commit }: FarPlace): readonly FarPlace[] {
    const taken = this.#places.splice(0, this.#indexAfter(commit.offset - 1));
    for (const place of taken) this.#forget(place);
    return taken;
  }

  take(place: FarPlace): void {
    const at = this.#indexAfter(place.commit.offset - 1);
    if (this.#places[at] === place) this.#places.splice(at, 1);
    this.#forget(place);
  }

  /** Takes out the places that are of no call any more. */
  takeLeft(): readonly FarPlace[] {
    const left = [...this.#changed].filter(({ open }) => open.size === 0);
    this.#changed.clear();
    const places = left.flatMap((alike) => [...alike.places]);
    for (const place of places) this.take(place);
    for (const { key, count } of left) if (count === 0) this.#alike.delete(key);
    return places;
  }

  clear(): void {
    this.#alike.clear();
    this.#of.clear();
    this.#changed.clear();
    this.#places = [];
  }

  #forget(place: FarPlace): void {
    const { reducer, args } = place.commit;
    this.#alike.get(keyOf(reducer, args))?.places.delete(place);
  }

  #indexAfter(offset: number): number {
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#places[middle] as FarPlace).commit.offset > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Keys of arguments that stay as they are, by the bytes that hold them. */
const digests = new WeakMap<Uint8Array, string>();

function keyOf(reducer: string, args: Uint8Array): string {
  const known = digests.get(args);
  const digest = known ?? createHash('sha256').update(args).digest('base64');
  if (known === undefined) digests.set(args, digest);
  return digest + reducer;
}
