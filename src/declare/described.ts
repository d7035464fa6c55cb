import type { AnyType } from './builder.ts';
import type { Columns } from './infer.ts';

/**
 * What an export of a module is, for the compiler alone: the client types its calls and its tables
 * by it without running the module.
 */
export type Description =
  /** `returns` and `throws`: `never` where it declares none. */
  | {
      readonly kind: 'reducer';
      readonly params: Columns;
      readonly returns: AnyType;
      readonly throws: AnyType;
    }
  /** Run by the host or by a schedule: nothing that a client calls. */
  | { readonly kind: 'internal' }
  | { readonly kind: 'procedure'; readonly params: Columns; readonly returns: AnyType }
  | { readonly kind: 'view'; readonly returns: AnyType }
  /** Several exports, each under its key. */
  | { readonly kind: 'group'; readonly members: Readonly<Record<string, unknown>> };

export declare const described: unique symbol;

declare const verbatimNames: unique symbol;

/** A schema whose names are in the database as the module spells them; in its type alone. */
export interface VerbatimNames {
  readonly [verbatimNames]: true;
}

/** Carries a description in its type; there is nothing at run time. */
export interface Described<D extends Description> {
  readonly [described]: D;
}
