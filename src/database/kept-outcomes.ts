import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { type TableId, tableId } from '../schema/ids.ts';
import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import { noRow, type RowRef } from '../store/row-ref.ts';
import type { Store } from '../store/store.ts';
import type { Table } from '../store/table.ts';
import type { Transaction } from '../store/transaction.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { type CallerIdentity, callerIdentity } from '../values/identity-roles.ts';
import { hashHex } from './program-hash.ts';

/** The table of kept outcomes (`schema/system-tables.ts`). */
const keptTableId: TableId = tableId(26);

/** Whose outcome it is. */
export interface OutcomeKey {
  readonly identity: CallerIdentity;
  readonly functionName: string;
  readonly key: string;
}

export interface KeptOutcome extends OutcomeKey {
  /** When its call was accepted, in microseconds since 1970. */
  readonly micros: bigint;
  readonly offset: CommitOffset;
  /** Digest of the arguments. */
  readonly body: bigint;
  /** Digest of the type of the value; 0n: the reducer declares none. */
  readonly returns: bigint;
  readonly value: Uint8Array | undefined;
}

/**
 * Committed outcomes of calls with an idempotency key, each in a row that its own transaction has
 * added. An outcome counts for `limits.keptOutcomeMillis`; its row is removed later, with others,
 * so that few commits do nothing else.
 *
 * Beside the rows stands in memory in which order they expire, and how many each identity has. It
 * is read from the rows at the first call with a key.
 */
export class KeptOutcomes {
  readonly #store: Store;
  readonly #digest: (bytes: Uint8Array) => Uint8Array;
  /** By the time of their calls, but for differences between clocks. */
  #queue: Pick<KeptOutcome, 'identity' | 'functionName' | 'key' | 'micros'>[] | undefined;
  /** Those before it are gone. */
  #first = 0;
  readonly #counts = new Map<CallerIdentity, number>();

  constructor(store: Store, digest: (bytes: Uint8Array) => Uint8Array) {
    this.#store = store;
    this.#digest = digest;
  }

  /** False for a database whose schema is from before outcomes were kept. */
  get exists(): boolean {
    return this.#store.table(keptTableId) !== undefined;
  }

  digest(bytes: Uint8Array): bigint {
    return BigInt(`0x${hashHex(this.#digest(bytes))}`);
  }

  /** The outcome that counts at this time. */
  find(of: OutcomeKey, nowMicros: bigint): KeptOutcome | undefined {
    const table = this.#table;
    const ref = findRow(table, of);
    if (ref === noRow) return undefined;
    const kept = readKept(table, ref);
    return isExpired(kept, nowMicros) ? undefined : kept;
  }

  /**
   * Whether one more would be too many. The last places are for callers with a role: anybody can
   * have many identities, and must not leave the others without a place for a day.
   */
  isFull(identity: CallerIdentity, hasRole: boolean): boolean {
    this.#load();
    if ((this.#counts.get(identity) ?? 0) >= limits.callerKeptOutcomesMax) return true;
    const most = limits.keptOutcomesMax - (hasRole ? 0 : limits.reservedKeptOutcomes);
    return this.#table.rowCount >= most;
  }

  /** Adds the outcome in its own transaction; one that has expired makes way. `added` follows. */
  put(transaction: Transaction, kept: KeptOutcome): void {
    const table = this.#table;
    const old = findRow(table, kept);
    if (old !== noRow) transaction.deleteRef(table, old);
    writeKept(kept);
    const code = transaction.insert(table, writer.view(), writer.length);
    assert(code >= 0, `a row of ${table.spec.name} was refused: ${code}`);
  }

  /** Called when what `put` has added is committed. */
  added({ identity, functionName, key, micros }: KeptOutcome): void {
    this.#load().push({ identity, functionName, key, micros });
    this.#counts.set(identity, (this.#counts.get(identity) ?? 0) + 1);
  }

  /**
   * How many expired ones a commit should remove now. `isNeeded`: any is worth a commit; otherwise
   * there must be many, or one that has expired a while ago.
   */
  removable(nowMicros: bigint, isNeeded: boolean): number {
    const queue = this.#load();
    const first = queue[this.#first];
    if (first === undefined || !isExpired(first, nowMicros)) return 0;
    const most = Math.min(limits.keptOutcomesRemovedMax, queue.length - this.#first);
    let count = 1;
    while (count < most && isExpiredAt(queue, this.#first + count, nowMicros)) count += 1;
    const late = BigInt(limits.keptOutcomesLateMillis) * 1_000n;
    const isWorth = isNeeded || count === most || isExpired(first, nowMicros - late);
    return isWorth ? count : 0;
  }

  /** Removes the oldest in a transaction that then commits. */
  remove(transaction: Transaction, count: number): void {
    const table = this.#table;
    const queue = this.#load();
    for (const old of queue.slice(this.#first, this.#first + count)) {
      const ref = findRow(table, old);
      // The row may be that of a later call, whose outcome has taken its place.
      const isThere = ref !== noRow && readKept(table, ref).micros === old.micros;
      if (isThere) transaction.deleteRef(table, ref);
      const left = (this.#counts.get(old.identity) ?? 0) - 1;
      if (left > 0) this.#counts.set(old.identity, left);
      else this.#counts.delete(old.identity);
    }
    this.#first += count;
    if (this.#first * 2 <= queue.length) return;
    queue.splice(0, this.#first);
    this.#first = 0;
  }

  /** Only for a database that `exists`. */
  get #table(): Table {
    const table = this.#store.table(keptTableId);
    assert(table !== undefined, 'the table of kept outcomes');
    return table;
  }

  #load() {
    if (this.#queue !== undefined) return this.#queue;
    const table = this.#table;
    const found: KeptOutcome[] = [];
    for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
      found.push(readKept(table, ref));
    }
    found.sort((one, other) => Number(one.micros - other.micros));
    this.#queue = [];
    for (const kept of found) this.added(kept);
    return this.#queue;
  }
}

type Dated = Pick<KeptOutcome, 'micros'>;

function isExpired({ micros }: Dated, nowMicros: bigint): boolean {
  return nowMicros - micros >= BigInt(limits.keptOutcomeMillis) * 1_000n;
}

function isExpiredAt(queue: readonly Dated[], at: number, nowMicros: bigint): boolean {
  const one = queue[at];
  return one !== undefined && isExpired(one, nowMicros);
}

const writer = new BinaryWriter(256);

function writeKey({ identity, functionName, key }: OutcomeKey): void {
  writer.reset();
  writer.u256(identity);
  writer.string(functionName);
  writer.string(key);
}

function findRow(table: Table, of: OutcomeKey): RowRef {
  const [index] = table.indexes;
  assert(index !== undefined, 'the index of kept outcomes');
  writeKey(of);
  const found = table.find(index, writer.view(), writer.length);
  assert(found !== -3, 'the key of a kept outcome is valid');
  return found === -1 ? noRow : found;
}

const some = 0;
const none = 1;

function writeKept(kept: KeptOutcome): void {
  writeKey(kept);
  writer.i64(kept.micros);
  writer.u64(BigInt(kept.offset));
  writer.u256(kept.body);
  writer.u256(kept.returns);
  writer.u8(kept.value === undefined ? none : some);
  if (kept.value !== undefined) writer.bytes(kept.value);
}

function readKept(table: Table, ref: RowRef): KeptOutcome {
  const reader = new BinaryReader(table.pageOf(ref), table.offsetOf(ref));
  return {
    identity: callerIdentity(reader.u256()),
    functionName: reader.string(),
    key: reader.string(),
    micros: reader.i64(),
    offset: commitOffset(Number(reader.u64())),
    body: reader.u256(),
    returns: reader.u256(),
    // A copy: the row can be removed before the answer is sent.
    value: reader.u8() === some ? reader.bytes().slice() : undefined,
  };
}
