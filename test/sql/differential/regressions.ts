import { type Answer, difference } from './answer.ts';
import type { Kind, Plain } from './kinds.ts';
import { modes, Ours } from './ours.ts';
import type { Postgres } from './postgres.ts';
import type { RandomTable } from './random-schema.ts';

/** A statement over which the engines once disagreed, cut down to what shows it. */
export interface Regression {
  readonly name: string;
  /** `t0(id u32, c0 string?) [unique:btree:id]`: a `?` marks what may be null. */
  readonly tables: Readonly<Record<string, readonly (readonly Plain[])[]>>;
  readonly ours: string;
  /** Where it is not the same text. */
  readonly postgres?: string;
  /** What PostgreSQL runs before it. */
  readonly before?: string;
  /** Of the columns of the answer. */
  readonly kinds: readonly Kind[];
  readonly orderedBy?: readonly number[];
}

/** What the engines disagree about, if anything. */
export async function disagreement(
  postgres: Postgres,
  { tables, ours, postgres: theirs = ours, before, kinds, orderedBy = [] }: Regression,
): Promise<string | undefined> {
  const schema = Object.entries(tables).map(([text, rows]) => tableOf(text, rows));
  await postgres.load(schema);
  if (before !== undefined) await postgres.run(before, []);
  const expected: Answer = await postgres.run(theirs, kinds);
  for (const mode of modes) {
    const found = difference(Ours.of(schema, mode).run(ours, kinds), expected, { orderedBy });
    if (found !== undefined) return `${mode.name}: ${found}`;
  }
  return undefined;
}

/** A table by its text, as in `Regression`. */
export function tableOf(text: string, rows: readonly (readonly Plain[])[]): RandomTable {
  const [, name = '', list = '', indexes = ''] = /^(\w+)\((.*)\) \[(.*)\]$/.exec(text) ?? [];
  const columns = list.split(', ').map((column) => {
    const [columnName = '', type = ''] = column.split(' ');
    const isOption = type.endsWith('?');
    const kind = (isOption ? type.slice(0, -1) : type) as Kind;
    return { name: columnName, kind, isOption, range: undefined, isAscii: true, values: [] };
  });
  const isKeyed = indexes.includes('unique');
  return { name, columns, rows, isKeyed, indexes: indexes.split(' ').filter((one) => one !== '') };
}
