import { timeBudget } from '../../sql/budget.ts';
import { SqlFailure } from '../../sql/failure.ts';
import { executeRead, prepare } from '../../sql/statement.ts';
import type { Store } from '../../store/store.ts';
import type { AlgebraicType, NamedType, Typespace } from '../../values/type.ts';
import { typesEqual, typeText } from '../../values/typespace.ts';
import type { ServedView } from './served-views.ts';

/** Runs the query that a view returned instead of rows. */
export type ViewQueryRunner = (text: string, view: ServedView) => ViewQueryResult;

export type ViewQueryResult =
  | {
      readonly kind: 'rows';
      readonly rows: Uint8Array;
      readonly count: number;
      /** Ids of the tables it read. */
      readonly tables: readonly number[];
    }
  /** `message` is for whoever wrote the view, and for whoever asked for it. */
  | { readonly kind: 'invalid'; readonly message: string };

export interface ViewQuerySurroundings {
  readonly store: Store;
  readonly owner: bigint;
  readonly clock: { monotonicMillis(): number };
  /** Wall-clock time of one query, in milliseconds. */
  readonly statementMillisMax: number;
}

/**
 * Runs queries of views as the database itself, over the rows as they are now: private tables are
 * visible, and no filter of row-level security is applied. A query gives whole rows of one table,
 * which has the columns of the view.
 */
export function viewQueryRunner(around: ViewQuerySurroundings): ViewQueryRunner {
  const { store, owner, clock, statementMillisMax } = around;
  return (text, view) => {
    if (text.trim() === '') return noRows;
    try {
      const statement = prepare(text, { store, caller: { identity: owner, isOwner: true } });
      if (statement.kind !== 'read') return invalid('the query of a view reads, it cannot write');
      const { source, columns } = statement.plan;
      const { table } = source;
      if (table.isEvent) return invalid(`views cannot read the event table \`${table.name}\``);
      const fault = typeFault(columns, view, store.catalog);
      if (fault !== undefined) return invalid(fault);
      const budget = timeBudget(() => clock.monotonicMillis(), statementMillisMax);
      const { rows, rowCount } = executeRead(statement, store, budget);
      return { kind: 'rows', rows, count: rowCount, tables: [table.id] };
    } catch (error) {
      if (error instanceof SqlFailure) return invalid(error.message);
      throw error;
    }
  };
}

function typeFault(
  columns: readonly NamedType[],
  { table, schema: types }: ServedView,
  queried: Typespace,
): string | undefined {
  const returned: AlgebraicType = { kind: 'product', elements: columns };
  const expected: AlgebraicType = { kind: 'product', elements: table.columns };
  if (typesEqual(returned, expected, queried, types)) return undefined;
  const texts = [typeText(returned, queried), typeText(expected, types)];
  return `query returns \`${texts[0]}\` but view expects \`${texts[1]}\``;
}

const noRows: ViewQueryResult = { kind: 'rows', rows: new Uint8Array(0), count: 0, tables: [] };

function invalid(message: string): ViewQueryResult {
  return { kind: 'invalid', message };
}
