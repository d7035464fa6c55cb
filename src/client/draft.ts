import type { outType } from '../declare/builder.ts';
import type { Columns, RowInput, RowOf, TraitsOf } from '../declare/infer.ts';
import type { TableOptions, TableSchema } from '../declare/table.ts';
import type { Submodules, TablesOf } from './module-types.ts';
import type { TableIndexes } from './table-handle.ts';

/**
 * The tables that the `optimistic` function of a call writes to, as they are shown.
 *
 * @example
 * ```ts
 * const predict = (draft: Draft<typeof tavern>, { nick }: { nick: string }) => {
 *   for (const mine of draft.hero.filter((hero) => hero.level > 3)) {
 *     draft.hero.update({ ...mine, nick });
 *   }
 * };
 * ```
 */
export type Draft<M> = DraftTables<M> & {
  /**
   * A value for a column that the server will fill: negative, or near the largest value of an
   * unsigned type, and unique among pending calls. It takes the type of the column that it is
   * written to: that is why its type is `any`.
   */
  tempId(): any;
};

type DraftTables<M> = {
  readonly [Key in keyof TablesOf<M>]: TablesOf<M>[Key] extends TableSchema<infer C, infer Options>
    ? DraftTable<C, Options>
    : never;
} & { readonly [Key in keyof Submodules<M>]: DraftTables<Submodules<M>[Key]> };

/**
 * A table of a draft, with its indexes as in `client.db`.
 *
 * @example
 * ```ts
 * const options: CallOptions<Draft<typeof tavern>> = {
 *   optimistic: ({ hero }) => {
 *     for (const weak of hero.filter(({ level }) => level < 3)) hero.delete(weak);
 *   },
 * };
 * ```
 */
export type DraftTable<C extends Columns, Options extends TableOptions> = TableIndexes<
  C,
  Options
> & {
  /** Returns the row as it is shown, with its temporary key. */
  insert(row: RowInput<C>): RowOf<C>;
  /** Replaces the row with the same primary key, if this client knows one. */
  update(row: RowInput<C>): RowOf<C>;
  /**
   * Deletes a row, found by primary key or else by equality; false if this client does not know it.
   */
  delete(row: RowInput<C>): boolean;
  /** Finds a row by primary key. */
  find(key: KeyOf<C>): RowOf<C> | null;
  filter(holds: (row: RowOf<C>) => boolean): RowOf<C>[];
  iter(): IterableIterator<RowOf<C>>;
  count(): bigint;
};

type KeyOf<C extends Columns> = {
  [Key in keyof C]: TraitsOf<C[Key]> extends { readonly primaryKey: true }
    ? C[Key][typeof outType]
    : never;
}[keyof C];
