import type { TableId, ViewId } from '../schema/ids.ts';
import type { Rights } from '../sql/rights.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { LiveOperator } from './live-operator.ts';
import type { LiveSchema } from './live-schema.ts';
import type { RowsName } from './prepared-query.ts';
import type { QueryDialect } from './query-dialect.ts';

/** A watched query, shared by all callers for whom it has the same rows. */
export interface LiveQuery {
  readonly number: number;
  readonly key: string;
  readonly sql: string;
  readonly rights: Rights;
  /** The caller it was first compiled for; its rows are the same for all who share it. */
  readonly identity: CallerIdentity;
  readonly dialect: QueryDialect;
  /** The name under which its rows are sent. */
  readonly table: RowsName;
  operator: LiveOperator;
  /** Why it is run again for each commit that may concern it; `undefined`: it is not. */
  rerunReason: string | undefined;
  /** The tables and views that it reads. */
  tables: readonly TableId[];
  /** Views that it reads; they are held while it is watched. */
  views: readonly ViewId[];
  schema: LiveSchema;
  useCount: number;
  /** Memory that it is charged for. */
  bytes: number;
  /** How often it was evaluated for a commit; how many of these were timed, and their time. */
  evaluations: number;
  timed: number;
  millis: number;
}
