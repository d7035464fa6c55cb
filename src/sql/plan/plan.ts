import { assert, present, unreachable } from '../../assert.ts';
import type { IndexSpec, TableSpec } from '../../schema/catalog.ts';
import type { RangeRequest } from '../../store/key-range.ts';
import type { NamedType, Typespace } from '../../values/type.ts';
import type { TypedExpression, TypedSelect, TypedStatement, TypedUpdate } from '../check/typed.ts';
import { invalid } from '../failure.ts';
import { chooseAccess } from './choose-access.ts';
import { type Condition, conjunction, conjunctsOf, toCondition } from './condition.ts';

/** What will be done, as plain data: reading or writing, which table, by which index. */
export type Plan = ReadPlan | WritePlan;
export type WritePlan = InsertPlan | UpdatePlan | DeletePlan;

export interface ReadPlan {
  readonly kind: 'read';
  readonly source: Source;
  readonly output: PlanOutput;
  readonly columns: readonly NamedType[];
  /** At most so many result rows. */
  readonly limit: bigint | undefined;
}

export type PlanOutput =
  | { readonly kind: 'row' }
  | { readonly kind: 'columns'; readonly columns: readonly number[] }
  | { readonly kind: 'count' };

export interface InsertPlan {
  readonly kind: 'insert';
  readonly table: TableSpec;
  readonly rows: readonly Uint8Array[];
}

export interface UpdatePlan {
  readonly kind: 'update';
  readonly source: Source;
  readonly assignments: TypedUpdate['assignments'];
}

export interface DeletePlan {
  readonly kind: 'delete';
  readonly source: Source;
}

/** The rows of one table that satisfy a condition: found by `access`, sifted by `filter`. */
export interface Source {
  readonly table: TableSpec;
  readonly access: Access;
  /** What `access` does not already guarantee. */
  readonly filter: Condition | undefined;
}

export type Access =
  /** No row can satisfy the condition. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'fullScan' }
  /** Every column of the index is fixed; `key` holds their values in index order. */
  | { readonly kind: 'point'; readonly index: IndexSpec; readonly key: Uint8Array }
  | { readonly kind: 'range'; readonly index: IndexSpec; readonly range: RangeRequest };

/** Decides how a checked statement runs. `useIndexes: false` is for tests and comparisons. */
export function plan(
  statement: TypedStatement,
  typespace: Typespace,
  options: { readonly useIndexes: boolean } = { useIndexes: true },
): Plan {
  const sourceOf = (table: TableSpec, where: TypedExpression | undefined): Source => {
    const condition = where === undefined ? conjunction([]) : toCondition(where, typespace);
    if (condition.kind === 'always' && !condition.value) {
      return { table, access: { kind: 'nothing' }, filter: undefined };
    }
    const conjuncts = conjunctsOf(condition);
    const indexes = options.useIndexes ? table.indexes : [];
    const { access, rest } = chooseAccess(conjuncts, indexes, typespace);
    return { table, access, filter: rest.length === 0 ? undefined : conjunction(rest) };
  };
  switch (statement.kind) {
    case 'select':
      return planSelect(statement, sourceOf);
    case 'insert':
      return statement;
    case 'update': {
      const source = sourceOf(statement.table, statement.where);
      return { kind: 'update', source, assignments: statement.assignments };
    }
    case 'delete':
      return { kind: 'delete', source: sourceOf(statement.table, statement.where) };
    default:
      return unreachable(statement);
  }
}

function planSelect(
  select: TypedSelect,
  sourceOf: (table: TableSpec, where: TypedExpression | undefined) => Source,
): ReadPlan {
  // The check has typed the whole join, so that its mistakes are named first.
  if (select.relations.length > 1) throw invalid('Unsupported: joins are not supported yet');
  const { table } = present(select.relations[0], 'the relation of a SELECT');
  const { columns, limit } = select;
  const source = sourceOf(table, select.where);
  return { kind: 'read', source, output: outputOf(select), columns, limit };
}

function outputOf({ output }: TypedSelect): PlanOutput {
  switch (output.kind) {
    case 'row':
      assert(output.relation === 0, 'there is one relation');
      return { kind: 'row' };
    case 'columns':
      return { kind: 'columns', columns: output.columns.map(({ column }) => column) };
    case 'count':
      return { kind: 'count' };
    default:
      return unreachable(output);
  }
}
