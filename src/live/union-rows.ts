import { assert } from '../assert.ts';
import type { TypedRead } from '../sql/check/typed.ts';
import { textOfBytes } from '../sql/functions/canonical.ts';
import { planReads } from '../sql/planning.ts';
import { compileRead, eachRow } from '../sql/run/execution.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { Keep, Stages, WholeRead } from './kept-stages.ts';
import type { RepeatedQuery } from './rerun-operator.ts';
import { RowBag } from './row-bag.ts';
import { type RowSet, RowSetBuilder } from './row-set.ts';
import { eachPicked, type SourceChanges } from './source-changes.ts';

/**
 * The rows of several reads, each row once, however many of the reads have it and however often.
 * That number is kept for each row: so the changes of the reads become the change of the whole.
 */
export class UnionRows implements Stages {
  readonly #query: Omit<RepeatedQuery, 'plans'>;
  readonly #reads: readonly TypedRead[];
  readonly #identity: CallerIdentity;
  /** By their bytes as text. */
  readonly #rows = new Map<string, KeptRow>();
  #bytes = 0;

  constructor(
    query: Omit<RepeatedQuery, 'plans'>,
    reads: readonly TypedRead[],
    identity: CallerIdentity,
  ) {
    this.#query = query;
    this.#reads = reads;
    this.#identity = identity;
  }

  /** Approximate memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Reads the rows as they are; called once. Throws `SqlFailure`. */
  open({ tables, budget }: WholeRead, keep: Keep): void {
    const { schema, rights } = this.#query;
    const scope = { schema: schema.sql, rights, tables };
    for (const plan of planReads(this.#reads, schema.types, scope)) {
      const parameters = this.#query.parametersOf(plan, this.#identity);
      const request = { tables, budget, parameters, nowMicros: 0n };
      eachRow(compileRead(plan, schema.types), request, (bytes, length) => {
        this.#add(bytes, 0, length);
        keep(this.#bytes);
        return true;
      });
    }
  }

  /** Turns the changes of the reads by one commit into that of the whole. */
  apply(changes: readonly SourceChanges[]): SourceChanges {
    const bag = new RowBag();
    for (const { inserts } of changes) {
      eachPicked(inserts, undefined, (start, end) => {
        const { bytes, count } = this.#add(inserts.data, start, end);
        if (count === 1) bag.add(1, bytes, 0, bytes.length);
      });
    }
    for (const { deletes } of changes) {
      eachPicked(deletes, undefined, (start, end) => {
        const { bytes, count } = this.#remove(deletes.data, start, end);
        if (count === 0) bag.add(-1, bytes, 0, bytes.length);
      });
    }
    const { gained, lost } = bag.surplus();
    return { inserts: gained, deletes: lost };
  }

  rows(): RowSet {
    const rows = new RowSetBuilder();
    for (const { bytes } of this.#rows.values()) rows.add(bytes, 0, bytes.length);
    return rows.finish();
  }

  #add(bytes: Uint8Array, start: number, end: number): KeptRow {
    const key = textOfBytes(bytes.subarray(start, end));
    const known = this.#rows.get(key);
    if (known !== undefined) {
      known.count += 1;
      return known;
    }
    const row: KeptRow = { bytes: bytes.slice(start, end), count: 1 };
    this.#rows.set(key, row);
    this.#bytes += memoryOf(row);
    return row;
  }

  #remove(bytes: Uint8Array, start: number, end: number): KeptRow {
    const key = textOfBytes(bytes.subarray(start, end));
    const row = this.#rows.get(key);
    assert(row !== undefined, 'a row that goes was there');
    row.count -= 1;
    if (row.count > 0) return row;
    this.#rows.delete(key);
    this.#bytes -= memoryOf(row);
    return row;
  }
}

interface KeptRow {
  readonly bytes: Uint8Array;
  /** How often the reads have it together. */
  count: number;
}

/** A row is kept twice, as bytes and as text; the rest was measured on Node 20. */
function memoryOf({ bytes }: KeptRow): number {
  return 320 + 2 * bytes.length;
}
