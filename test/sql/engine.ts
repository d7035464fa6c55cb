import { unlimitedBudget } from '../../src/sql/budget.ts';
import { SqlFailure } from '../../src/sql/failure.ts';
import { executeRead, executeWrite, prepare } from '../../src/sql/statement.ts';
import { Store } from '../../src/store/store.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import type { NamedType, ProductType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';
import { owner } from './sample-database.ts';
import { type SampleTable, sampleCatalog } from './sample-tables.ts';

/** How statements are planned and run. */
export interface EngineMode {
  readonly useIndexes: boolean;
  readonly optimise: boolean;
  /** Reads stop wherever they can, and go on. */
  readonly pauses: boolean;
}

export type EngineAnswer =
  | {
      readonly kind: 'rows';
      readonly columns: readonly NamedType[];
      readonly rows: readonly (readonly Value[])[];
      /** Of a write: how many rows it wrote. */
      readonly written: number | undefined;
    }
  | { readonly kind: 'refused'; readonly message: string };

/** The engine with tables of its own, asked by the owner: one statement, one transaction. */
export class Engine {
  readonly #store: Store;
  readonly #mode: EngineMode;

  constructor(tables: readonly SampleTable[], mode: EngineMode) {
    this.#store = new Store(sampleCatalog(...tables));
    this.#mode = mode;
  }

  load(name: string, rows: readonly (readonly Value[])[]): void {
    const table = this.#store.tableByName(name);
    if (table === undefined) throw new Error(`no table ${name}`);
    const elements = table.spec.columns;
    const transaction = this.#store.begin();
    for (const row of rows) {
      const bytes = encodeValue({ kind: 'product', elements }, row);
      transaction.insert(table, bytes, bytes.length);
    }
    transaction.commit();
  }

  run(sql: string): EngineAnswer {
    try {
      return this.#run(sql);
    } catch (error) {
      if (error instanceof SqlFailure) return { kind: 'refused', message: error.message };
      throw error;
    }
  }

  #run(sql: string): EngineAnswer {
    const { useIndexes } = this.#mode;
    const store = this.#store;
    const prepared = prepare(sql, { store, caller: owner, useIndexes });
    if (prepared.kind === 'read') {
      const { columns, rows, rowCount } = executeRead(prepared, store, unlimitedBudget);
      return {
        kind: 'rows',
        columns,
        rows: this.#decoded(columns, rows, rowCount),
        written: undefined,
      };
    }
    const transaction = store.begin();
    try {
      const { inserted, updated, deleted } = executeWrite(prepared, transaction, unlimitedBudget);
      transaction.commit();
      return { kind: 'rows', columns: [], rows: [], written: inserted + updated + deleted };
    } catch (error) {
      transaction.rollback();
      throw error;
    }
  }

  #decoded(columns: readonly NamedType[], bytes: Uint8Array, count: number): Value[][] {
    const type: ProductType = { kind: 'product', elements: columns };
    const decode = decoderOf(type, { types: this.#store.catalog.types });
    const reader = new BinaryReader(bytes);
    const rows = Array.from({ length: count }, () => decode(reader) as Value[]);
    if (reader.remaining > 0) throw new Error('bytes left over after the rows');
    return rows;
  }
}
