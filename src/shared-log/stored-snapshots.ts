import { chainOf } from '../log/log-point.ts';
import { readSnapshotHeader } from '../log/snapshot.ts';
import { bigintFromHex, bigintToHex } from '../values/hex.ts';
import { list, number, object, parseAs, string } from '../values/json-shape.ts';
import type { LogName } from './log-name.ts';
import type { StopSignal } from './shared-log.ts';
import type { SnapshotStore } from './snapshot-store.ts';

/** A snapshot of a database in a store: `docs/format/entry.md` is normative. */
export interface StoredSnapshot {
  /** The last commit that it has, and where the log goes on behind it. */
  readonly offset: number;
  readonly position: number;
  readonly chain: bigint;
  /** An entry up to which it has everything. */
  readonly seq: number;
  readonly bytes: number;
  readonly parts: readonly SnapshotPart[];
}

export interface SnapshotPart {
  /** SHA-256, in hexadecimal digits. */
  readonly hash: string;
  readonly bytes: number;
}

export type HashOf = (bytes: Uint8Array) => string;

/** A snapshot by its manifest, and what is wrong with it. */
export interface CheckedSnapshot {
  readonly name: string;
  /** `undefined`: its manifest cannot be read. */
  readonly found: StoredSnapshot | undefined;
  readonly fault: string | undefined;
}

/** The snapshots of one log. */
export class StoredSnapshots {
  readonly #store: SnapshotStore;
  readonly #log: LogName;
  readonly #hashOf: HashOf;

  constructor(store: SnapshotStore, log: LogName, hashOf: HashOf) {
    this.#store = store;
    this.#log = log;
    this.#hashOf = hashOf;
  }

  /** The newest first. What cannot be read counts as none. */
  async all(): Promise<readonly StoredSnapshot[]> {
    const names = await this.#store.list(`${this.#log}/manifest-`);
    const found: StoredSnapshot[] = [];
    for (const name of [...names].reverse()) {
      const bytes = await this.#store.get(name);
      const manifest = bytes === undefined ? undefined : manifestIn(bytes);
      if (manifest !== undefined) found.push(manifest);
    }
    return found;
  }

  /** Reads each whole, the oldest first, and compares it with its manifest. */
  async check(signal?: StopSignal): Promise<readonly CheckedSnapshot[]> {
    const checked: CheckedSnapshot[] = [];
    for (const full of await this.#store.list(`${this.#log}/manifest-`)) {
      const name = full.slice(this.#log.length + 1);
      const bytes = await this.#store.get(full);
      // It can have been removed since.
      if (bytes === undefined || signal?.aborted === true) continue;
      const found = manifestIn(bytes);
      const fault = found === undefined ? 'its manifest cannot be read' : await this.#fault(found);
      checked.push({ name, found, fault });
    }
    return checked;
  }

  async #fault(snapshot: StoredSnapshot): Promise<string | undefined> {
    const missing = await this.#missingPart(snapshot);
    if (missing === undefined) return undefined;
    // One that its leader has just removed is not missing.
    const name = this.#manifestName(snapshot.offset);
    return (await this.#store.get(name)) === undefined ? undefined : missing;
  }

  async #missingPart({ offset, parts, position, chain }: StoredSnapshot) {
    for (const [at, { hash, bytes: length }] of parts.entries()) {
      const bytes = await this.#store.get(this.#partName(offset, hash));
      const which = `part ${at + 1} of ${parts.length}`;
      if (bytes === undefined) return `${which} is missing`;
      const isSame = bytes.length === length && this.#hashOf(bytes) === hash;
      if (!isSame) return `${which} is not what was stored`;
      if (at > 0) continue;
      const header = readSnapshotHeader(bytes);
      const place = header.kind === 'valid' ? header.header.place : undefined;
      const isOf =
        place?.offset === offset &&
        place.position === position &&
        chainOf(place.chainLow, place.chainHigh) === chain;
      if (!isOf) return 'its header is of another place';
    }
    return parts.length === 0 ? 'it has no parts' : undefined;
  }

  /**
   * Stores a snapshot, reads all of it back, and names it only then; rejects if the bytes are not
   * what they were. `pieces`: at most `limits.snapshotPartBytes` each.
   */
  async add(
    place: Pick<StoredSnapshot, 'offset' | 'position' | 'chain' | 'seq'>,
    pieces: Iterable<Uint8Array>,
  ): Promise<void> {
    const parts: SnapshotPart[] = [];
    for (const piece of pieces) {
      const hash = this.#hashOf(piece);
      const name = this.#partName(place.offset, hash);
      await this.#put(name, piece);
      parts.push({ hash, bytes: piece.length });
    }
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    await this.#put(this.#manifestName(place.offset), encoded({ ...place, bytes, parts }));
  }

  /** What is there under the name, and is something else, was damaged: it is replaced. */
  async #put(name: string, bytes: Uint8Array): Promise<void> {
    const hash = this.#hashOf(bytes);
    for (let isAgain = false; ; isAgain = true) {
      await this.#store.putIfAbsent(name, bytes);
      const there = await this.#store.get(name);
      if (there !== undefined && this.#hashOf(there) === hash) return;
      if (isAgain) throw new Error(`${this.#store.place} does not give back what was put into it`);
      await this.#store.remove(name);
    }
  }

  /** The bytes of a snapshot, part by part; rejects when one is missing or another. */
  async *read({ offset, parts }: StoredSnapshot): AsyncGenerator<Uint8Array> {
    for (const { hash } of parts) {
      const bytes = await this.#store.get(this.#partName(offset, hash));
      if (bytes === undefined || this.#hashOf(bytes) !== hash) {
        throw new Error(`${this.#store.place} lacks a part of a snapshot, or has another one`);
      }
      yield bytes;
    }
  }

  /** Removes a snapshot: first its name, so that nobody begins to read it. */
  async remove({ offset, parts }: StoredSnapshot): Promise<void> {
    await this.#store.remove(this.#manifestName(offset));
    for (const { hash } of parts) await this.#store.remove(this.#partName(offset, hash));
  }

  /** Whether anything of the log is there, named or not. */
  async hasAny(): Promise<boolean> {
    return (await this.#store.list(`${this.#log}/`)).length > 0;
  }

  /** Removes everything of the log. */
  async clear(): Promise<void> {
    for (const name of await this.#store.list(`${this.#log}/`)) await this.#store.remove(name);
  }

  #manifestName(offset: number): string {
    return `${this.#log}/manifest-${digits(offset)}`;
  }

  /** Of one snapshot alone, so that removing one takes nothing of another. */
  #partName(offset: number, hash: string): string {
    return `${this.#log}/part-${digits(offset)}-${hash}`;
  }
}

function encoded({ offset, position, chain, seq, bytes, parts }: StoredSnapshot): Uint8Array {
  const shown = { format: 1, offset, position, chain: bigintToHex(chain, 16), seq, bytes, parts };
  return new TextEncoder().encode(JSON.stringify(shown));
}

function manifestIn(bytes: Uint8Array): StoredSnapshot | undefined {
  try {
    const found = parseAs(new TextDecoder().decode(bytes), manifestShape);
    const chain = bigintFromHex(found.chain, 16);
    if (found.format !== 1 || chain === undefined) return undefined;
    return { ...found, chain };
  } catch {
    return undefined;
  }
}

const manifestShape = object({
  ...{ format: number, offset: number, position: number, chain: string, seq: number },
  bytes: number,
  parts: list(object({ hash: string, bytes: number })),
});

function digits(offset: number): string {
  return String(offset).padStart(16, '0');
}
