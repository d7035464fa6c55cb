/** Queries of connections, from text to typed reads. They have no parameters but the caller. */

import { assert } from '../assert.ts';
import { type CallerIdentity, callerIdentity } from '../values/identity-roles.ts';
import type { Typespace } from '../values/type.ts';
import { bindParameters, type ParameterValue } from './check/bind.ts';
import { check } from './check/check.ts';
import { checkSubscription } from './check/check-subscription.ts';
import type { TypedRead } from './check/typed.ts';
import { invalid } from './failure.ts';
import type { Rights } from './rights.ts';
import type { SqlSchema } from './schema.ts';
import { type Parsed, parse } from './syntax/parse.ts';

/** What a query is checked with. */
export interface QueryScope {
  readonly schema: SqlSchema;
  readonly rights: Rights;
}

export interface SubscriptionReads {
  /** The rows of the query are those of all its reads. */
  readonly reads: readonly TypedRead[];
  /** Two of the reads can return the same row, which counts once. */
  readonly isOverlapping: boolean;
  /** Where the rows of the only read are also those of several, each once: these. */
  readonly parts?: readonly TypedRead[];
}

/**
 * The reads of a query in the dialect of subscriptions; `joinRules` is true for a query to be
 * watched. Throws `SqlFailure`.
 */
export function subscriptionReads(
  sql: string,
  scope: QueryScope,
  joinRules: boolean,
): SubscriptionReads {
  const parsed = parse(sql);
  const { fragments, isOverlapping, table } = checkSubscription(parsed, scope, { joinRules });
  if (!isOverlapping) return { reads: fragments, isOverlapping };
  // Events exist only with their commit: they cannot be read again.
  if (table.isEvent) return { reads: fragments, isOverlapping };
  const read = wholeRead(parsed, scope);
  const whole = { reads: [read], isOverlapping: false };
  const { body } = read.query;
  // A query that joins can have a row more than once.
  const isOfOneTable = body.kind === 'block' && body.relations.length === 1;
  return isOfOneTable ? { ...whole, parts: fragments } : whole;
}

/** The query as one statement, in which a row that several filters let through appears once. */
function wholeRead(parsed: Parsed, scope: QueryScope): TypedRead {
  const typed = check(parsed, { ...scope, identity: nobody, parameterNames: noNames });
  assert(typed.kind === 'read', 'a subscription reads');
  return typed;
}

/** A SELECT in the full dialect. Throws `SqlFailure`. */
export function fullRead(sql: string, scope: QueryScope): TypedRead {
  const parsed = parse(sql);
  const checkScope = { ...scope, identity: nobody, parameterNames: noNames };
  const typed = parsed.statement.kind === 'query' ? check(parsed, checkScope) : undefined;
  if (typed?.kind !== 'read') throw invalid('Only a SELECT can be run over a connection');
  return typed;
}

/** Encoded values of the parameters of such a read, or of its plan, for a caller. */
export function callerParameters(
  { parameters }: Pick<TypedRead, 'parameters'>,
  identity: CallerIdentity,
  types: Typespace,
): readonly (Uint8Array | undefined)[] {
  return bindParameters(parameters, noValues, identity, types);
}

const noValues: ReadonlyMap<string, ParameterValue> = new Map();
const noNames: ReadonlySet<string> = new Set();

/** Stands for the caller: only refusals of writes name one, and these queries only read. */
const nobody = callerIdentity(0n);
