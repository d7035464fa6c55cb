import { randomBytes } from 'node:crypto';

export interface KeptBounds {
  /** Things of all callers together, and of one caller. */
  readonly countMax: number;
  readonly callerCountMax: number;
  /** Bytes of one thing, and of all together. */
  readonly thingBytesMax: number;
  readonly bytesMax: number;
  /** Time since a thing was last asked for. */
  readonly millisMax: number;
}

/**
 * Things that the gateway keeps for callers from one of their requests to the next, by ids that
 * nobody can guess. What a caller keeps drives out what the same caller kept first, and where all
 * together have too much, whatever was asked for the longest time ago.
 */
export class Kept<Thing> {
  readonly #bounds: KeptBounds;
  /** By id; what was asked for last stands last. */
  readonly #entries = new Map<string, Entry<Thing>>();
  #bytes = 0;

  constructor(bounds: KeptBounds) {
    this.#bounds = bounds;
  }

  get count(): number {
    return this.#entries.size;
  }

  /** Keeps a thing that takes about `bytes`; gives its id, or `undefined` when it is too large. */
  put(caller: string, thing: Thing, bytes: number): string | undefined {
    const { thingBytesMax, bytesMax, countMax, callerCountMax, millisMax } = this.#bounds;
    if (bytes > thingBytesMax) return undefined;
    this.#makeRoom((one) => one.caller === caller, callerCountMax - 1);
    this.#makeRoom(() => true, countMax - 1);
    for (const id of this.#entries.keys()) {
      if (this.#bytes + bytes <= bytesMax) break;
      this.drop(id);
    }
    const id = randomBytes(16).toString('base64url');
    const timer = setTimeout(() => this.drop(id), millisMax);
    timer.unref();
    this.#entries.set(id, { caller, thing, bytes, timer });
    this.#bytes += bytes;
    return id;
  }

  /** The thing of that id, if the caller is the one that it was kept for. */
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

  /** Drops the oldest of those that are meant until so many are left. */
  #makeRoom(isMeant: (entry: Entry<Thing>) => boolean, countMax: number): void {
    const meant = [...this.#entries].filter(([, entry]) => isMeant(entry));
    for (const [id] of meant.slice(0, Math.max(0, meant.length - countMax))) this.drop(id);
  }
}

interface Entry<Thing> {
  readonly caller: string;
  readonly thing: Thing;
  readonly bytes: number;
  readonly timer: NodeJS.Timeout;
}
