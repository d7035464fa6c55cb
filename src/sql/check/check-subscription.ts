import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import { invalid } from '../failure.ts';
import type { Select } from '../syntax/ast.ts';
import type { Parsed } from '../syntax/parse.ts';
import type { SourceText } from '../syntax/source-text.ts';
import { Choices } from './choices.ts';
import { type CheckScope, type Environment, StatementContext } from './context.ts';
import { FragmentBuilder } from './fragment.ts';
import { requireJoinRules } from './join-rules.ts';
import { queryOf, rowColumns } from './row-security.ts';
import { emptyScope } from './scope.ts';
import { columnTypesOf, requireSubscriptionDialect } from './subscription-dialect.ts';
import type { TypedRead } from './typed.ts';

/**
 * A query of the subscription dialect: whole rows of one table. Its rows are those of all
 * fragments, one after the other; each is a block over plain tables with inner joins, in which the
 * filters of row-level security are ordinary conditions and relations.
 */
export interface TypedSubscription {
  /** The table whose rows it returns. */
  readonly table: TableSpec;
  /** At least one: more only if tables have several filters. */
  readonly fragments: readonly TypedRead[];
  /**
   * Whether fragments can share rows, of which the query has each once: one of several filters of a
   * table joins.
   */
  readonly isOverlapping: boolean;
}

export interface SubscriptionRules {
  /** At most two relations in a fragment, joined by an index; otherwise any join is allowed. */
  readonly joinRules: boolean;
}

/** Needs no `parameterNames`: the dialect has no parameters but `:sender`. */
export function checkSubscription(
  { statement, source }: Parsed,
  scope: Omit<CheckScope, 'parameterNames' | 'identity'>,
  { joinRules }: SubscriptionRules,
): TypedSubscription {
  const types = columnTypesOf(scope.schema, scope.rights);
  const select = requireSubscriptionDialect(statement, { source, showsPlaces: true }, types);
  return checkRowSelect(select, source, scope, joinRules);
}

export function checkRowSelect(
  select: Select,
  source: SourceText,
  { schema, rights }: Omit<CheckScope, 'parameterNames' | 'identity'>,
  joinRules: boolean,
): TypedSubscription {
  const fragments: TypedRead[] = [];
  const choices = new Choices();
  let table: TableSpec | undefined;
  let isOverlapping = false;
  do {
    if (fragments.length >= limits.sqlRelationsMax) {
      throw invalid(`Row filters make more than ${limits.sqlRelationsMax} queries of this one`);
    }
    const statement = new StatementContext(schema, rights);
    const environment: Environment = {
      statement,
      source,
      showsPlaces: true,
      scope: emptyScope,
      commonTables: undefined,
      aggregates: 'a subscription',
      aliases: undefined,
      takesFields: false,
      expanding: [],
    };
    const builder = new FragmentBuilder(statement, choices);
    const returned = builder.addQuery(select, environment);
    table ??= returned;
    isOverlapping ||= builder.isOverlapping;
    assert(returned === table, 'all fragments return rows of one table');
    const query = queryOf(builder.block(), rowColumns(returned));
    fragments.push({ kind: 'read', query, ...statement.finish() });
  } while (choices.next());
  if (joinRules) for (const { query } of fragments) requireJoinRules(query.body, schema);
  return { table: present(table, 'the table that is returned'), fragments, isOverlapping };
}
