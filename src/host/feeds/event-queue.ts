import { unreachable } from '../../assert.ts';
import type { SetId } from '../../database/live/set-id.ts';
import { limits } from '../../limits.ts';
import type { LiveUpdate, RowChanges } from '../../live/live-update.ts';
import type { RowSet } from '../../live/row-set.ts';
import type { FarPlace } from './far-matches.ts';
import type { LiveEvent, LiveRequest, LiveSubscribe, SetUpdate } from './live-connection.ts';

/** An event sent at this place, or the request whose answer takes it. */
type Place =
  | { readonly kind: 'event'; readonly event: LiveEvent; readonly byteCount: number }
  | { readonly kind: 'promised'; readonly request: Promised };

/** The answer to a request, or what a commit turns out to be. */
type Promised = LiveRequest | FarPlace;

/**
 * The events of one connection, in the order in which the database produced them. The answer to a
 * request can be promised: its rows are of that moment, and are still being read. Everything behind
 * it waits for it here.
 */
export class EventQueue {
  #ready: LiveEvent[] = [];
  /** Places from the first promise on. */
  #behind: Place[] = [];
  readonly #promised = new Set<Promised>();
  #behindBytes = 0;

  /** True when more is queued behind a promise than one client is allowed. */
  get isTooLong(): boolean {
    const { socketMessagesOutMax, socketBytesOutMax } = limits;
    return this.#behind.length > socketMessagesOutMax || this.#behindBytes > socketBytesOutMax;
  }

  /** True when nothing waits behind a promise. */
  get isWhole(): boolean {
    return this.#behind.length === 0;
  }

  get isEmpty(): boolean {
    return this.isWhole && !this.hasReady;
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  push(event: LiveEvent): void {
    if (this.#behind.length === 0) this.#ready.push(event);
    else this.#behind.push(this.#place(event));
  }

  promise(request: Promised): void {
    this.#promised.add(request);
    this.#behind.push({ kind: 'promised', request });
  }

  isPromised(request: Promised): boolean {
    return this.#promised.has(request);
  }

  /** Puts an event in front of a promised place. */
  putBefore(request: Promised, event: LiveEvent): void {
    const at = this.#placeOf(request);
    if (at === 0) this.#ready.push(event);
    else this.#behind.splice(at, 0, this.#place(event));
  }

  /**
   * Puts the answer in its promised place, or nothing at all, and releases what waited for it.
   */
  keep(request: Promised, event: LiveEvent | undefined): void {
    const at = this.#placeOf(request);
    this.#behind.splice(at, 1, ...(event === undefined ? [] : [this.#place(event)]));
    this.#promised.delete(request);
    const next = this.#behind.findIndex(({ kind }) => kind === 'promised');
    const ready = this.#behind.splice(0, next < 0 ? this.#behind.length : next);
    for (const place of ready) {
      if (place.kind !== 'event') continue;
      this.#behindBytes -= place.byteCount;
      this.#ready.push(place.event);
    }
  }

  /**
   * Removes what was to be sent about the set of a promised answer, which will never exist. Must be
   * called before the answer is kept. False: the set has ended since.
   */
  withdrawSet(request: LiveSubscribe): boolean {
    const { setId } = request;
    const start = this.#placeOf(request) + 1;
    const behind = this.#behind.slice(start);
    const found = behind.findIndex((place) => isEndOf(setId, place));
    const end = found < 0 ? behind.length : found;
    const kept = behind.slice(0, end).flatMap((place) => {
      if (place.kind === 'promised') return [place];
      this.#behindBytes -= place.byteCount;
      const event = withoutSet(place.event, setId);
      return event === undefined ? [] : [this.#place(event)];
    });
    this.#behind.splice(start, isFailure(behind[end]) ? end + 1 : end, ...kept);
    return found < 0;
  }

  take(): readonly LiveEvent[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  clear(): void {
    this.#ready = [];
    this.#behind = [];
    this.#promised.clear();
    this.#behindBytes = 0;
  }

  #place(event: LiveEvent): Place {
    const byteCount = bytesOf(event);
    this.#behindBytes += byteCount;
    return { kind: 'event', event, byteCount };
  }

  #placeOf(request: Promised): number {
    return this.#behind.findIndex(
      (place) => place.kind === 'promised' && place.request === request,
    );
  }
}

/** From here on the id belongs to no set, or to another one. */
function isEndOf(setId: SetId, place: Place): boolean {
  if (place.kind === 'promised') return isRemoval(setId, place.request);
  const { event } = place;
  switch (event.kind) {
    case 'setFailed':
      return event.setId === setId;
    case 'unsubscribed':
    case 'refused':
      return isRemoval(setId, event.request);
    case 'connected':
    case 'called':
    case 'subscribed':
    case 'resumed':
    case 'oneOff':
    case 'procedure':
    case 'updated':
      return false;
    default:
      return unreachable(event);
  }
}

function isRemoval(setId: SetId, request: Promised): boolean {
  return request.kind === 'unsubscribe' && request.setId === setId;
}

/** The set failed while it was read; its client gets only one error. */
function isFailure(place: Place | undefined): boolean {
  return place?.kind === 'event' && place.event.kind === 'setFailed';
}

/** The event without that set; `undefined` when nothing is left of it. */
function withoutSet(event: LiveEvent, setId: SetId): LiveEvent | undefined {
  switch (event.kind) {
    case 'updated':
    case 'called': {
      // The same object, if nothing changes: doors encode it once for all who get it.
      if (event.sets.every((set) => set.setId !== setId)) return event;
      const sets = event.sets.filter((set) => set.setId !== setId);
      return event.kind === 'updated' && sets.length === 0 ? undefined : { ...event, sets };
    }
    case 'connected':
    case 'subscribed':
    case 'resumed':
    case 'unsubscribed':
    case 'oneOff':
    case 'procedure':
    case 'refused':
    case 'setFailed':
      return event;
    default:
      return unreachable(event);
  }
}

/** Bytes of rows and values, which are what makes an event large. */
function bytesOf(event: LiveEvent): number {
  switch (event.kind) {
    case 'updated':
    case 'called':
      return event.sets.reduce((sum, set) => sum + bytesOfSet(set), 0);
    case 'subscribed':
    case 'unsubscribed': {
      const queries = 'queries' in event.outcome ? (event.outcome.queries ?? []) : [];
      return queries.reduce((sum, { fragments }) => sum + bytesOfRows(fragments), 0);
    }
    case 'resumed':
      return event.missed.reduce((sum, one) => sum + bytesOf(one), 0);
    case 'oneOff':
      return 'rows' in event.outcome ? event.outcome.rows.data.length : 0;
    case 'procedure':
      return 'value' in event.outcome ? event.outcome.value.length : 0;
    case 'connected':
    case 'refused':
    case 'setFailed':
      return 0;
    default:
      return unreachable(event);
  }
}

function bytesOfSet({ updates }: SetUpdate): number {
  return updates.reduce((sum, { changes }: LiveUpdate) => sum + bytesOfChanges(changes), 0);
}

function bytesOfChanges(changes: readonly RowChanges[]): number {
  return changes.reduce((sum, change) => {
    const rows = change.kind === 'event' ? [change.events] : [change.inserts, change.deletes];
    return sum + bytesOfRows(rows);
  }, 0);
}

function bytesOfRows(sets: readonly RowSet[]): number {
  return sets.reduce((sum, { data }) => sum + data.length, 0);
}
