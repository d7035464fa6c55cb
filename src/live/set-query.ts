import type { TypedRead } from '../sql/check/typed.ts';
import { callerParameters } from '../sql/watched-query.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import { callerJoinOf } from './caller-join.ts';
import { LiveFragment } from './fragment.ts';
import type { LiveSchema } from './live-schema.ts';

/**
 * A query for whole rows of one table, alone or joined with another, whose rows are a set: a row is
 * there once, with however many others it is joined. It may depend on its caller.
 */
export class SetQuery {
  readonly read: TypedRead;
  readonly schema: LiveSchema;
  /** What the fragments of all callers have in common. */
  readonly callers: ReturnType<typeof callerJoinOf>;

  constructor(read: TypedRead, schema: LiveSchema) {
    this.read = read;
    this.schema = schema;
    this.callers = callerJoinOf(read, schema);
  }

  get isOfCaller(): boolean {
    return this.read.parameters.length > 0;
  }

  fragmentFor(identity: CallerIdentity): LiveFragment {
    const { read, schema } = this;
    const parameters = callerParameters(read, identity, schema.types);
    const callerJoin = this.callers.join;
    return new LiveFragment(read, { schema, identity, parameters, callerJoin });
  }
}

/** How the rows of a query are kept up to date. */
export type SetForm =
  /** From the changed rows of its tables. Callers whose queries differ in the caller share it. */
  | { readonly kind: 'followed'; readonly query: SetQuery }
  | { readonly kind: 'rerun'; readonly reason: string };

/**
 * Why the changed rows of its tables do not lead to those of the query; `undefined`: they do.
 * Whether a row that lost one of its matches has another is looked up for each, by an index.
 */
export function unfollowedReason({ join, output }: LiveFragment): string | undefined {
  if (join === undefined || output.kind !== 'row') return undefined;
  const other = output.slot === 0 ? 1 : 0;
  if (join.probes[other].access !== undefined) return undefined;
  return 'no index finds the rows that are joined with its rows';
}
