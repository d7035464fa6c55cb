import type { TableSpec } from '../../schema/catalog.ts';
import { identityFromHex, identityToHex } from '../../values/identity.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { invalid, notAuthorized } from '../failure.ts';
import { type Rights, type StatementCaller, strangerRights } from '../rights.ts';
import type { Statement } from '../syntax/ast.ts';
import type { Parsed } from '../syntax/parse.ts';
import { checkShowList } from './catalog-rows.ts';
import { checkQuery } from './check-query.ts';
import { checkSetVariable, checkShowVariable, variableTableName } from './check-variable.ts';
import { checkDelete, checkInsert, checkUpdate } from './check-write.ts';
import { requireSettled } from './coerce-query.ts';
import { type CheckScope, type Environment, StatementContext } from './context.ts';
import { requireFullDialect } from './full-dialect.ts';
import { emptyScope } from './scope.ts';
import type { StatementParts, TypedRead, TypedStatement, TypedWrite } from './typed.ts';

export type { CheckScope } from './context.ts';

/**
 * Gives every name and literal of a statement its meaning. The result depends on the schema, on the
 * rights and on which parameters have values, not on the caller: `:sender` is a parameter.
 *
 * The order is part of the contract: first what is not supported at all; then tables, where
 * one that the caller may not read does not exist, whatever else is wrong; then names and types;
 * last, whether the caller may write. Throws `SqlFailure`.
 */
export function check({ statement, source }: Parsed, scope: CheckScope): TypedStatement {
  requireFullDialect(statement, source, scope.parameterNames);
  const as = sampleCaller(statement, scope.rights);
  const context = new StatementContext(scope.schema, as?.rights ?? scope.rights);
  const environment: Environment = {
    statement: context,
    source,
    showsPlaces: true,
    scope: emptyScope,
    commonTables: undefined,
    aggregates: 'this place',
    aliases: undefined,
    takesFields: true,
    expanding: [],
  };
  const checked = checkStatement(statement, environment, scope);
  return as !== undefined && checked.kind === 'explain' ? { ...checked, as } : checked;
}

/**
 * The caller named by `EXPLAIN AS`. A caller who sees the program knows its filters, and one who
 * bypasses them sees every row: the plan of another caller reveals nothing. Throws `SqlFailure`.
 */
function sampleCaller(statement: Statement, rights: Rights): StatementCaller | undefined {
  if (statement.kind !== 'explain' || statement.as === undefined) return undefined;
  if (!rights.readsProgram || !rights.bypassesFilters) {
    throw invalid('EXPLAIN AS needs the rights of a developer of the database');
  }
  if (statement.statement.kind !== 'query') {
    throw invalid('EXPLAIN AS supports only SELECT: other callers cannot write with SQL');
  }
  const identity = identityFromHex(statement.as);
  if (identity !== undefined) return { identity: callerIdentity(identity), rights: strangerRights };
  throw invalid('EXPLAIN AS takes an identity: 64 hexadecimal digits in single quotes');
}

/** The query behind `EXPLAIN LIVE`. Throws `SqlFailure`. */
function liveText(
  { isLive, statement }: Extract<Statement, { readonly kind: 'explain' }>,
  { source }: Environment,
): string | undefined {
  if (!isLive) return undefined;
  if (statement.kind === 'query') return source.written(statement.span);
  throw invalid('EXPLAIN LIVE supports only SELECT: nothing else can be watched');
}

/** Checks a read or a write; `parts` belong to the statement around it. */
function checkStatement(
  statement: Statement,
  environment: Environment,
  scope: CheckScope,
): TypedStatement {
  if (statement.kind === 'explain') {
    const { isAnalyze } = statement;
    const live = liveText(statement, environment);
    const inner = checkPlain(statement.statement, environment, scope);
    const { slotCount, valueCount, parameters, views } = inner;
    const parts: StatementParts = { slotCount, valueCount, parameters, views };
    return { ...parts, kind: 'explain', isAnalyze, as: undefined, live, statement: inner };
  }
  return checkPlain(statement, environment, scope);
}

function checkPlain(
  statement: Exclude<Statement, { readonly kind: 'explain' }>,
  environment: Environment,
  scope: CheckScope,
): TypedRead | TypedWrite {
  const context = environment.statement;
  switch (statement.kind) {
    case 'query': {
      const query = requireSettled(checkQuery(statement.query, environment), environment);
      return { kind: 'read', query, ...context.finish() };
    }
    case 'show':
      return {
        kind: 'read',
        query: checkShowVariable(statement, environment),
        ...context.finish(),
      };
    case 'showList':
      return {
        kind: 'read',
        query: checkShowList(statement, environment),
        ...context.finish(),
      };
    case 'insert':
      return authorized({ ...checkInsert(statement, environment), ...context.finish() }, scope);
    case 'update':
      return authorized({ ...checkUpdate(statement, environment), ...context.finish() }, scope);
    case 'delete':
      return authorized({ ...checkDelete(statement, environment), ...context.finish() }, scope);
    case 'set':
      return authorized(
        { ...checkSetVariable(statement, environment), ...context.finish() },
        scope,
      );
    default:
      throw invalid(statement.message);
  }
}

function authorized<Write extends TypedWrite>(write: Write, scope: CheckScope): Write {
  requireWritable(write.table, scope);
  return write;
}

function requireWritable(table: TableSpec, { rights, identity }: CheckScope): void {
  if (!rights.writes) throw notAuthorized(identityToHex(identity));
  if (table.kind === 'system' && table.name !== variableTableName) {
    throw invalid(`Unsupported: SQL cannot change the system table \`${table.name}\``);
  }
}
