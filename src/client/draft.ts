import type { outType } from '../declare/builder.ts';
import type { Columns, RowInput, RowOf, TraitsOf } from '../declare/infer.ts';
import type { TableOptions, TableSchema } from '../declare/table.ts';
import type { Submodules, TablesOf } from './module-types.ts';
import type { TableIndexes } from './table-handle.ts';

/**
 * What the `optimistic` function of a call writes to: the tables as they are shown.
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
   * For a column that the server will fill: negative, or the largest values of unsigned types;
   * no other pending call has it. What it becomes depends on the column, and only the column
   * knows: that is why its type is `any`.
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
 * const raise = (heroes: DraftTable<{ level: U8Builder }, { name: 'hero' }>) => heroes.count() + 1n;
 * ```
 */
export type DraftTable<C extends Columns, Options extends TableOptions> = TableIndexes<
  C,
  Options
> & {
  /** Gives the row as it is shown, with its temporary key. */
  insert(row: RowInput<C>): RowOf<C>;
  /** Replaces the row with the same primary key, if this client knows one. */
  update(row: RowInput<C>): RowOf<C>;
  /** By primary key, or else the row that is equal; false if this client does not know it. */
  delete(row: RowInput<C>): boolean;
  /** By primary key. */
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
