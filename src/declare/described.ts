import type { AnyType } from './builder.ts';
import type { Columns } from './infer.ts';

/**
 * Describes an export of a module to the compiler only: the client's calls and tables are typed by
 * it without running the module.
 */
export type Description =
  /** `returns` and `throws` are `never` if it declares none. */
  | {
      readonly kind: 'reducer';
      readonly params: Columns;
      readonly returns: AnyType;
      readonly throws: AnyType;
    }
  /** Run by the host or by a schedule: clients cannot call it. */
  | { readonly kind: 'internal' }
  | { readonly kind: 'procedure'; readonly params: Columns; readonly returns: AnyType }
  | { readonly kind: 'view'; readonly returns: AnyType }
  /** Several exports, each under its key. */
  | { readonly kind: 'group'; readonly members: Readonly<Record<string, unknown>> };

export declare const described: unique symbol;

declare const verbatimNames: unique symbol;

/** A schema whose database names are those of the module; exists only as a type. */
export interface VerbatimNames {
  readonly [verbatimNames]: true;
}

/** Carries a description in its type only; nothing exists at run time. */
export interface Described<D extends Description> {
  readonly [described]: D;
}
