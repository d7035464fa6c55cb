import { entryKinds } from './entry.ts';

/**
 * For how long the leader of one log may answer confirmed reads without asking the engine. Who else
 * claims that log has read its last entry, by which an append is conditional, a whole lease ago:
 *
 * ```
 *  leader     append n begins ──▶ stored     lasts: 0.8 of a lease ──┤
 *  candidate       reads n ──▶ waits: a whole lease ───────────────────────▶ claim, as n + 1
 * ```
 *
 * So nobody else leads before that time is over, whatever the engine's clock, beats, or an append
 * that was late; what is assumed is that the monotonic clocks of two hosts run alike up to a tenth.
 */
export class ReadLease {
  readonly #lastsMillis: number;
  /** The highest seq that an append from here was for, and when the first one for it began. */
  #seq = -1;
  #begunAt = 0;
  /** False if the entry begins a term: it may be another host's. */
  #isGiving = false;
  #endsAt = Number.NEGATIVE_INFINITY;
  #wantedAt = Number.NEGATIVE_INFINITY;

  constructor(leaseMillis: number) {
    this.#lastsMillis = readShare * leaseMillis;
  }

  /** An append begins, which nobody has been sent before. An entry that is repeated is no news. */
  appending({ seq, bytes }: { readonly seq: number; readonly bytes: Uint8Array }, now: number) {
    if (seq > this.#seq) {
      this.#seq = seq;
      this.#begunAt = now;
      this.#isGiving = true;
    }
    if (bytes[kindAt] !== entryKinds.term) return;
    // Who is given the term need not wait.
    this.#isGiving = false;
    this.#endsAt = Number.NEGATIVE_INFINITY;
  }

  /** An append for `seq` was stored. */
  stored(seq: number): void {
    if (seq !== this.#seq || !this.#isGiving) return;
    this.#endsAt = this.#begunAt + this.#lastsMillis;
  }

  /** True if nobody else leads, and a read that has ended may be let out. */
  holds(now: number): boolean {
    return now < this.#endsAt;
  }

  /** True if somebody reads and more than half of it is over; not again for a while. */
  wantsAppend(now: number): boolean {
    if (this.#endsAt - now > this.#lastsMillis / 2) return false;
    if (now - this.#wantedAt < this.#lastsMillis / 8) return false;
    this.#wantedAt = now;
    return true;
  }
}

/** The rest of a lease is for clocks that do not run alike. */
const readShare = 0.8;
/** Where an entry has its kind. */
const kindAt = 6;
