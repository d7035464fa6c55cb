import type { AnyBuilder, inType, optionalType } from '../declare/builder.ts';
import type { columnsType, elementType, fieldsType } from '../declare/composite.ts';
import type { Columns, FilledKeys, Flat, OptionKeys } from '../declare/infer.ts';

/**
 * The arguments of a call: options can be left out, and parameters and columns of rows of tables
 * with `.autoInc()` or `.default(…)`. `Rows`: the columns of the tables. Rows that are payloads of
 * sums have to be whole for the compiler.
 */
export type CallInput<P extends Columns, Rows> = Input<P, OptionKeys<P> | FilledKeys<P>, Rows>;

type Input<C extends Columns, Optional extends keyof C, Rows> = Flat<
  { [Key in Exclude<keyof C, Optional>]: ValueIn<C[Key], Rows> } & {
    [Key in Optional]?: ValueIn<C[Key], Rows> | undefined;
  }
>;

/** What is `any`, as in types that name themselves, stays so. */
type ValueIn<B extends AnyBuilder, Rows> = 0 extends 1 & B
  ? B
  : B extends { readonly [columnsType]: infer C extends Columns }
    ? Input<C, OptionKeys<C> | ([C] extends [Rows] ? FilledKeys<C> : never), Rows>
    : B extends { readonly [fieldsType]: infer F extends Columns }
      ? Input<F, OptionKeys<F>, Rows>
      : B extends { readonly [elementType]: infer Element extends AnyBuilder }
        ? readonly ValueIn<Element, Rows>[] | B[typeof inType]
        : B extends { readonly [optionalType]: infer Inner extends AnyBuilder }
          ? ValueIn<Inner, Rows> | undefined
          : B[typeof inType];
