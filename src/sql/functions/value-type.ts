import type { AlgebraicType } from '../../values/type.ts';

/** A type of values, and whether a value can be missing: SQL's NULL. */
export interface ValueType {
  readonly type: AlgebraicType;
  readonly isNullable: boolean;
}
