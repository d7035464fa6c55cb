import { randomBytes } from 'node:crypto';

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

/**
 * Things kept for callers between requests, under unguessable ids. A caller over its bounds evicts
 * its own oldest things; when all callers together exceed theirs, the least recently requested
 * things are evicted.
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

  /** Drops the oldest matching things until at most `countMax` are left. */
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
