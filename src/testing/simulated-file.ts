import { assert } from '../assert.ts';
import type { Random } from './random.ts';

/** The smallest piece a power cut leaves whole. */
const sectorBytes = 512;

type ContentChange =
  | { readonly kind: 'write'; readonly position: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly size: number }
  | { readonly kind: 'allocate'; readonly size: number };

/** A file, whatever its name: durable content, current content, and the changes between them. */
export class SimulatedInode {
  #durable: Content;
  #current: Content;
  #pending: ContentChange[] = [];

  constructor(bytes: Uint8Array = new Uint8Array(0)) {
    this.#durable = new Content(bytes);
    this.#current = new Content(bytes);
  }

  get size(): number {
    return this.#current.size;
  }

  copy(): SimulatedInode {
    const copy = new SimulatedInode();
    copy.#durable = new Content(this.#durable.bytes());
    copy.#current = new Content(this.#current.bytes());
    copy.#pending = [...this.#pending];
    return copy;
  }

  bytes(): Uint8Array {
    return this.#current.bytes();
  }

  read(into: Uint8Array, position: number): number {
    return this.#current.read(into, position);
  }

  change(change: ContentChange): void {
    this.#current.apply(change);
    this.#pending.push(change);
  }

  /** Number of changes that a sync begun now will cover. */
  get pendingCount(): number {
    return this.#pending.length;
  }

  settle(count: number): void {
    for (const change of this.#pending.splice(0, count)) this.#durable.apply(change);
  }

  /** What is found of it after a power cut: some of the changes since the last sync. */
  crash(random: Random, keep: number): SimulatedInode {
    const found = new Content(this.#durable.bytes());
    const isPrefix = random.chance(0.3);
    let isCut = false;
    for (const change of this.#pending) {
      for (const piece of inSectors(change)) {
        const isKept = random.chance(keep);
        if (isPrefix) isCut ||= !isKept;
        if (isPrefix ? !isCut : isKept) found.apply(piece);
      }
    }
    return new SimulatedInode(found.bytes());
  }

  flipBit(position: number, bit: number): void {
    this.#durable.flipBit(position, bit);
    this.#current.flipBit(position, bit);
  }
}

/** The pieces of a change, each of which reaches the disk or not on its own. */
function* inSectors(change: ContentChange): Generator<ContentChange> {
  if (change.kind === 'truncate') yield change;
  else if (change.kind === 'allocate') {
    // Growing a file by zeros may stop half-way.
    yield { kind: 'allocate', size: Math.floor(change.size / 2 / sectorBytes) * sectorBytes };
    yield change;
  } else {
    const { position, bytes } = change;
    for (let start = 0; start < bytes.length; ) {
      const at = position + start;
      const end = Math.min(bytes.length, start + sectorBytes - (at % sectorBytes));
      yield { kind: 'write', position: at, bytes: bytes.subarray(start, end) };
      start = end;
    }
  }
}

/** Growable bytes. */
class Content {
  size: number;
  #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes.slice();
    this.size = bytes.length;
  }

  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.size);
  }

  read(into: Uint8Array, position: number): number {
    const count = Math.max(0, Math.min(into.length, this.size - position));
    into.set(this.#bytes.subarray(position, position + count));
    return count;
  }

  apply(change: ContentChange): void {
    if (change.kind === 'write') {
      this.#grow(change.position + change.bytes.length);
      this.#bytes.set(change.bytes, change.position);
    } else if (change.kind === 'allocate' || change.size > this.size) this.#grow(change.size);
    else {
      this.#bytes.fill(0, change.size, this.size);
      this.size = change.size;
    }
  }

  flipBit(position: number, bit: number): void {
    assert(position < this.size, `no byte at ${position} to flip a bit of`);
    this.#bytes[position] = (this.#bytes[position] ?? 0) ^ (1 << bit);
  }

  #grow(size: number): void {
    if (size > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(size, 2 * this.#bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.size = Math.max(this.size, size);
  }
}
