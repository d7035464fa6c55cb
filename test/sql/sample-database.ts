import { type Budget, unlimitedBudget } from '../../src/sql/budget.ts';
import type { StatementCaller } from '../../src/sql/check/visibility.ts';
import { SqlFailure } from '../../src/sql/failure.ts';
import type { ReadResult } from '../../src/sql/run/execute-read.ts';
import type { WriteResult } from '../../src/sql/run/execute-write.ts';
import { executeRead, executeWrite, explainPrepared, prepare } from '../../src/sql/statement.ts';
import { Store } from '../../src/store/store.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { decoderOf } from '../../src/values/decode.ts';
import type { ProductType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';
import { type SampleTable, sampleCatalog, sampleTables } from './sample-tables.ts';

export const ownerIdentity =
  0xc200_0000_0000_0000_0000_0000_0000_0000_0000_0000_0000_0000_0000_0000_0000_00abn;
export const owner: StatementCaller = { identity: ownerIdentity, isOwner: true };
export const stranger: StatementCaller = { identity: ownerIdentity + 1n, isOwner: false };

/** A store with sample tables, asked in SQL, one transaction for each statement. */
export class SampleDatabase {
  readonly store: Store;
  useIndexes = true;
  budget: Budget = unlimitedBudget;

  constructor(tables: readonly SampleTable[] = sampleTables) {
    this.store = new Store(sampleCatalog(...tables));
  }

  read(sql: string, caller: StatementCaller = owner): ReadResult {
    const { store, useIndexes } = this;
    const prepared = prepare(sql, { store, caller, useIndexes });
    if (prepared.kind !== 'read') throw new Error(`not a read: ${sql}`);
    return executeRead(prepared, store, this.budget);
  }

  write(sql: string, caller: StatementCaller = owner): WriteResult {
    const { store, useIndexes } = this;
    const prepared = prepare(sql, { store, caller, useIndexes });
    if (prepared.kind !== 'write') throw new Error(`not a write: ${sql}`);
    const transaction = store.begin();
    try {
      const result = executeWrite(prepared, transaction, this.budget);
      transaction.commit();
      return result;
    } catch (error) {
      transaction.rollback();
      throw error;
    }
  }

  /** The rows of a SELECT, decoded. */
  rows(sql: string, caller: StatementCaller = owner): Value[] {
    const { columns, rows, rowCount } = this.read(sql, caller);
    const rowType: ProductType = { kind: 'product', elements: columns };
    const decode = decoderOf(rowType, { types: this.store.catalog.types });
    const reader = new BinaryReader(rows);
    const values = Array.from({ length: rowCount }, () => decode(reader));
    if (reader.remaining > 0) throw new Error('bytes left over after the rows');
    return values;
  }

  /** The message of a refusal, or `ok`. */
  refusal(sql: string, caller: StatementCaller = owner): string {
    try {
      const prepared = prepare(sql, { store: this.store, caller });
      if (prepared.kind === 'read') this.read(sql, caller);
      else this.write(sql, caller);
      return 'ok';
    } catch (error) {
      if (error instanceof SqlFailure) return error.message;
      throw error;
    }
  }

  explain(sql: string): string {
    const { store, useIndexes } = this;
    return explainPrepared(prepare(sql, { store, caller: owner, useIndexes }));
  }
}
