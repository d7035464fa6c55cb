import type { Rights } from '../sql/rights.ts';
import type { LiveOperator } from './live-operator.ts';
import type { LiveSchema } from './live-schema.ts';
import type { RowsName } from './prepared-query.ts';
import type { QueryDialect } from './query-dialect.ts';

/** A query that somebody watches, shared by all for whom it has the same rows. */
export interface LiveQuery {
  readonly number: number;
  readonly key: string;
  readonly sql: string;
  readonly rights: Rights;
  /** For whom it was compiled first; who else shares it does not matter to its rows. */
  readonly identity: bigint;
  readonly dialect: QueryDialect;
  /** By what its rows go out. */
  readonly table: RowsName;
  operator: LiveOperator;
  /** Views that it reads; they are held as long as it is watched. */
  views: readonly number[];
  schema: LiveSchema;
  useCount: number;
  /** Memory that it is charged with. */
  bytes: number;
}
