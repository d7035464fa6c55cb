import type { AlgebraicType } from '../../values/type.ts';

/** A type of values, and whether there may be none: SQL's NULL. */
export interface ValueType {
  readonly type: AlgebraicType;
  readonly isNullable: boolean;
}
