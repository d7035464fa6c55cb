import { noSuchTable } from '../failure.ts';
import type { DerivedRelation, From, Join, NamedRelation, Relation } from '../syntax/ast.ts';
import { checkQuery } from './check-query.ts';
import { checkUnnest } from './check-unnest.ts';
import { requireSettled } from './coerce-query.ts';
import { type CommonTableUse, detailOf, type Environment, refuse } from './context.ts';
import { informationRows, informationTables } from './information-schema.ts';
import { namesFault } from './output-names.ts';
import { secured } from './row-security.ts';
import {
  columnsOfQuery,
  columnsOfTable,
  requireDistinct,
  type Scope,
  type ScopeColumn,
  type ScopeRelation,
} from './scope.ts';
import { typeCondition } from './type-expression.ts';
import type {
  RelationSource,
  TypedExpression,
  TypedJoin,
  TypedQuery,
  TypedRelation,
} from './typed.ts';
import { isUnreadable, nameHint, visibleTable, visibleTableNames } from './visibility.ts';

export interface CheckedFrom {
  readonly relations: readonly TypedRelation[];
  readonly joins: readonly TypedJoin[];
  readonly scope: Scope;
}

/** Looks up all relations before any condition is typed. */
export function checkFrom(from: From | undefined, environment: Environment): CheckedFrom {
  const { scope: outer } = environment;
  if (from === undefined) return { relations: [], joins: [], scope: { relations: [], outer } };
  const joined: readonly { readonly relation: Relation; readonly join: Join | undefined }[] = [
    { relation: from.first, join: undefined },
    ...from.joins.map((join) => ({ relation: join.relation, join })),
  ];
  const checked: CheckedRelation[] = [];
  for (const { relation, join } of joined) {
    const before = checked.map(({ inScope }) => inScope);
    const place = { before, isNullable: join?.kind === 'left' };
    checked.push(checkRelation(relation, place, environment));
  }
  const named = joined.filter((_, at) => checked[at]?.inScope.name !== '');
  requireDistinct(
    checked.flatMap(({ inScope }) => (inScope.name === '' ? [] : [inScope.name])),
    (message, at) => {
      const relation = named[at]?.relation ?? from.first;
      return refuse(message, relation.span, environment);
    },
  );
  const relations = checked.map(({ inScope }) => inScope);
  const joins = from.joins.map(({ kind, on }, at): TypedJoin => {
    // Relations that are joined later are not in scope yet.
    const scope: Scope = { relations: relations.slice(0, at + 2), outer };
    const place: Environment = { ...environment, scope, aliases: undefined, aggregates: 'ON' };
    const condition = on === undefined ? undefined : typeCondition(on, place);
    return { kind: kind === 'left' ? 'left' : 'inner', condition };
  });
  return { relations: checked.map(({ typed }) => typed), joins, scope: { relations, outer } };
}

interface CheckedRelation {
  readonly typed: TypedRelation;
  readonly inScope: ScopeRelation;
}

interface PlaceInFrom {
  /** The relations to its left. */
  readonly before: readonly ScopeRelation[];
  readonly isNullable: boolean;
}

function checkRelation(
  relation: Relation,
  { before, isNullable }: PlaceInFrom,
  environment: Environment,
): CheckedRelation {
  switch (relation.kind) {
    case 'named':
      return checkNamed(relation, isNullable, environment);
    case 'derived':
      return checkDerived(relation, isNullable, environment);
    case 'unnest':
      return derived({ ...checkUnnest(relation, before, environment), isNullable }, environment);
    default:
      throw refuse(relation.message, relation.span, environment);
  }
}

function checkNamed(
  relation: NamedRelation,
  isNullable: boolean,
  environment: Environment,
): CheckedRelation {
  const common = findCommonTable(relation.name, environment);
  const name = relation.alias ?? relation.name;
  if (common !== undefined) {
    const { query, columns, commonTable } = common;
    const source = { kind: 'query', query, isBarrier: false, commonTable } as const;
    const columnsInScope = columnsOfQuery(query.columns, columns);
    return derived({ name, source, columns: columnsInScope, isNullable }, environment);
  }
  const information = informationOf(relation.name, environment);
  if (information !== undefined) {
    const source = {
      kind: 'query',
      query: information,
      isBarrier: false,
      commonTable: undefined,
    } as const;
    const columns = columnsOfQuery(information.columns);
    return derived({ name, source, columns, isNullable }, environment);
  }
  const table = tableNamed(relation, environment);
  const slot = environment.statement.newSlot();
  environment.statement.tableSlots.add(slot);
  const { primaryKey } = table;
  const { source, security } = secured({ table, slot, name }, relation.span, environment);
  return {
    typed: { slot, name, source, security, isNullable },
    inScope: { slot, name, columns: columnsOfTable(table), isNullable, primaryKey, table },
  };
}

/** Unless the module has a table of this name. */
function informationOf(name: string, { statement }: Environment): TypedQuery | undefined {
  const { schema, rights } = statement;
  if (visibleTable(schema, rights, name) !== undefined) return undefined;
  return informationRows(name, statement);
}

/** The table or view that a name in FROM, or in a write, means to the caller. */
export function tableNamed(
  { name, span }: Pick<NamedRelation, 'name' | 'span'>,
  environment: Environment,
) {
  const { schema, rights } = environment.statement;
  const table = visibleTable(schema, rights, name);
  if (table === undefined) {
    if (isUnreadable(schema, rights, name)) {
      const message = `view \`${name}\` has parameters: such views cannot be read yet`;
      throw refuse(message, span, environment);
    }
    const names = [
      ...visibleTableNames(schema, rights),
      ...commonTableNames(environment),
      ...informationTables,
    ];
    throw noSuchTable(name, detailOf(span, environment, nameHint(name, names)));
  }
  const view = schema.views.get(table.id);
  if (view !== undefined) environment.statement.noteView(view.id);
  return table;
}

function checkDerived(
  { query, alias, columns, span }: DerivedRelation,
  isNullable: boolean,
  environment: Environment,
): CheckedRelation {
  const inside: Environment = { ...environment, aliases: undefined };
  const typed = requireSettled(checkQuery(query, inside), environment);
  if (columns !== undefined && columns.length > typed.columns.length) {
    const message = namesFault(columns.length, typed.columns.length);
    throw refuse(message, span, environment);
  }
  const source = { kind: 'query', query: typed, isBarrier: false, commonTable: undefined } as const;
  const columnsInScope = columnsOfQuery(typed.columns, columns);
  return derived({ name: alias ?? '', source, columns: columnsInScope, isNullable }, environment);
}

interface Derived {
  readonly name: string;
  readonly source: RelationSource;
  readonly columns: readonly ScopeColumn[];
  readonly isNullable: boolean;
}

function derived(
  { name, source, columns, isNullable }: Derived,
  { statement }: Environment,
): CheckedRelation {
  const slot = statement.newSlot();
  const security: TypedExpression | undefined = undefined;
  return {
    typed: { slot, name, source, security, isNullable },
    inScope: { slot, name, columns, isNullable },
  };
}

function findCommonTable(name: string, environment: Environment): CommonTableUse | undefined {
  for (let list = environment.commonTables; list !== undefined; list = list.outer) {
    if (list.name === name) return list.table();
  }
  return undefined;
}

function commonTableNames(environment: Environment): readonly string[] {
  const names: string[] = [];
  for (let list = environment.commonTables; list !== undefined; list = list.outer) {
    names.push(list.name);
  }
  return names;
}
