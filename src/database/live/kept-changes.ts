import { limits } from '../../limits.ts';
import type { RowList, TableChange } from '../../store/change-set.ts';
import type { CommitOffset } from '../../store/commit-offset.ts';

/** What one commit changed. */
export interface KeptCommit {
  readonly offset: CommitOffset;
  readonly tables: readonly TableChange[];
}

/**
 * The changes of the last commits, for clients that come back and have all that was before. They
 * are without gaps up to the last commit, or there are none. Nothing is kept until somebody wants
 * it: `begin`.
 */
export class KeptChanges {
  readonly #bytesMax: number;
  #isOn = false;
  #commits: KeptCommit[] = [];
  /** Index of the first of them that still counts. */
  #first = 0;
  /** The commit that they follow. */
  #start = 0;
  #end = 0;
  #bytes = 0;

  constructor(bytesMax: number = limits.resumeBytesMax) {
    this.#bytesMax = bytesMax;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Keeps what comes after `offset`, the last commit; does nothing if it keeps changes already. */
  begin(offset: number): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.forget(offset);
  }

  /**
   * Adds the commit behind the last one; with a gap between them, or none, it begins again. What
   * was read of a log lies in a buffer with much else, and is copied: `isOfLog`.
   */
  add(offset: CommitOffset, tables: readonly TableChange[], isOfLog = false): void {
    if (!this.#isOn) return;
    if (offset !== this.#end + 1) {
      this.forget(offset);
      return;
    }
    this.#end = offset;
    const commit = { offset, tables: tables.map((change) => keptOf(change, isOfLog)) };
    this.#commits.push(commit);
    this.#bytes += bytesOf(commit);
    while (this.#bytes > this.#bytesMax) this.#drop();
    if (this.#first > 1_024 && this.#first * 2 > this.#commits.length) this.#compact();
  }

  /** Keeps nothing of what was before, as after a change of the schema. */
  forget(offset: number): void {
    this.#commits = [];
    this.#first = 0;
    this.#start = offset;
    this.#end = offset;
    this.#bytes = 0;
  }

  /** The commits behind `offset` up to `end`, the last; `undefined`: not all of them are kept. */
  since(offset: number, end: number): readonly KeptCommit[] | undefined {
    if (!this.#isOn || end !== this.#end || offset < this.#start || offset > end) return undefined;
    return this.#commits.slice(this.#first + offset - this.#start);
  }

  #drop(): void {
    const dropped = this.#commits[this.#first];
    if (dropped === undefined) return;
    this.#bytes -= bytesOf(dropped);
    this.#commits[this.#first] = nothing;
    this.#first += 1;
    this.#start = dropped.offset;
  }

  #compact(): void {
    this.#commits = this.#commits.slice(this.#first);
    this.#first = 0;
  }
}

const nothing: KeptCommit = { offset: 0 as CommitOffset, tables: [] };

function bytesOf({ tables }: KeptCommit): number {
  let byteCount: number = limits.resumeCommitBytes;
  for (const { inserts, deletes } of tables) {
    byteCount += limits.resumeCommitBytes + inserts.bytes.length + deletes.bytes.length;
  }
  return byteCount;
}

function keptOf(change: TableChange, isOfLog: boolean): TableChange {
  const { inserts, deletes } = change;
  const own = (rows: RowList) => (isOfLog ? copyOf(rows) : ownList(rows));
  return { ...change, inserts: own(inserts), deletes: own(deletes) };
}

/**
 * A list that has a buffer of its own is copied into a part of one: updates of live queries give
 * such buffers away, to the thread of the gateway. Lists that share a buffer stay where they are.
 */
function ownList(rows: RowList): RowList {
  const { bytes } = rows;
  if (bytes.length === 0 || bytes.length < bytes.buffer.byteLength) return rows;
  return copyOf(rows);
}

function copyOf({ bytes, count }: RowList): RowList {
  if (bytes.length === 0) return { bytes: noBytes, count };
  const copy = new Uint8Array(bytes.length + 1).subarray(0, bytes.length);
  copy.set(bytes);
  return { bytes: copy, count };
}

const noBytes = new Uint8Array(0);
