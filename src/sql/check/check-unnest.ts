import { scalarTypes } from '../functions/value-kind.ts';
import type { UnnestRelation } from '../syntax/ast.ts';
import { type Environment, refuse } from './context.ts';
import { namesFault } from './output-names.ts';
import { columnsOfQuery, type ScopeColumn, type ScopeRelation } from './scope.ts';
import { typeArrayAlone } from './type-array.ts';
import type { OutputColumn, RelationSource } from './typed.ts';
import { queryOf } from './typed-expression.ts';

interface Unnested {
  readonly name: string;
  readonly source: RelationSource;
  readonly columns: readonly ScopeColumn[];
}

/**
 * The elements of an array as a relation, whose column has the name of the relation unless the
 * statement names it. The array may be one of a relation to its left.
 */
export function checkUnnest(
  { array, alias, columns: names = [], hasOrdinality, span }: UnnestRelation,
  before: readonly ScopeRelation[],
  environment: Environment,
): Unnested {
  const name = alias ?? 'unnest';
  const scope = { relations: before, outer: environment.scope };
  const place: Environment = { ...environment, scope, aliases: undefined, aggregates: 'FROM' };
  const { typed, element } = typeArrayAlone(array, place);
  const columns: OutputColumn[] = [{ name, type: element, isNullable: false }];
  if (hasOrdinality) columns.push({ name: 'ordinality', type: scalarTypes.u64, isNullable: false });
  if (names.length > columns.length) {
    throw refuse(namesFault(names.length, columns.length), span, environment);
  }
  const query = queryOf({ kind: 'elements', array: typed, hasOrdinality }, columns);
  const source = { kind: 'query', query, isBarrier: false, commonTable: undefined } as const;
  return { name, source, columns: columnsOfQuery(columns, names) };
}
