import type { DatabaseSchema, FunctionSchema, TableSchema } from '../../service/schema.ts';
import { declaredType } from './declared-type.ts';

/** What became of one table or function. */
export interface Difference {
  readonly kind: 'added' | 'removed' | 'changed';
  readonly what: 'table' | 'view' | 'system' | FunctionSchema['kind'];
  readonly name: string;
  /** One line for each part; `+`, `-` or `~` in front. */
  readonly lines: readonly string[];
}

/** What a client or a person would notice between two schemas, by names. */
export function differenceOf(before: DatabaseSchema, after: DatabaseSchema): readonly Difference[] {
  return [
    ...between(before.tables, after.tables, ({ kind }) => kind, tableLines),
    ...between(before.functions, after.functions, ({ kind }) => kind, functionLines),
  ];
}

interface Named {
  readonly name: string;
}

/** Parts of a thing by name, each with what there is to say of it. */
type Lines<T> = (thing: T) => ReadonlyMap<string, string>;

function between<T extends Named>(
  before: readonly T[],
  after: readonly T[],
  what: (thing: T) => Difference['what'],
  lines: Lines<T>,
): Difference[] {
  const [old, fresh] = [byName(before), byName(after)];
  const names = [...new Set([...old.keys(), ...fresh.keys()])].sort();
  return names.flatMap((name): Difference[] => {
    const [was, is] = [old.get(name), fresh.get(name)];
    if (was === undefined && is !== undefined) {
      return [{ kind: 'added', what: what(is), name, lines: marked('+', lines(is)) }];
    }
    if (was !== undefined && is === undefined) {
      return [{ kind: 'removed', what: what(was), name, lines: marked('-', lines(was)) }];
    }
    if (was === undefined || is === undefined) return [];
    const changed = changedLines(lines(was), lines(is));
    return changed.length === 0 ? [] : [{ kind: 'changed', what: what(is), name, lines: changed }];
  });
}

function byName<T extends Named>(things: readonly T[]): ReadonlyMap<string, T> {
  return new Map(things.map((thing) => [thing.name, thing]));
}

function marked(mark: string, lines: ReadonlyMap<string, string>): string[] {
  return [...lines].map(([part, text]) => `${mark} ${part}${text}`);
}

function changedLines(was: ReadonlyMap<string, string>, is: ReadonlyMap<string, string>): string[] {
  const parts = [...new Set([...was.keys(), ...is.keys()])];
  return parts.flatMap((part) => {
    const [old, fresh] = [was.get(part), is.get(part)];
    if (old === fresh) return [];
    if (old === undefined) return [`+ ${part}${fresh}`];
    if (fresh === undefined) return [`- ${part}${old}`];
    return [`- ${part}${old}`, `+ ${part}${fresh}`];
  });
}

function tableLines(table: TableSchema): ReadonlyMap<string, string> {
  const lines = new Map<string, string>();
  for (const { name, type } of table.columns) {
    const rules = [
      name === table.primaryKey ? 'primary key' : table.unique.includes(name) ? 'unique' : '',
      table.sequences.includes(name) ? 'auto-increment' : '',
    ].filter((rule) => rule !== '');
    const after = rules.length === 0 ? '' : ` · ${rules.join(' · ')}`;
    lines.set(name, `: ${declaredType(type)}${after}`);
  }
  for (const { kind, columns } of table.indexes) {
    lines.set(`index (${columns.join(', ')})`, `: ${kind}`);
  }
  lines.set('access', `: ${table.isPublic ? 'public' : 'private'}`);
  return lines;
}

function functionLines({ parameters, returns }: FunctionSchema): ReadonlyMap<string, string> {
  const lines = new Map(parameters.map(({ name, type }) => [name, `: ${declaredType(type)}`]));
  if (returns !== null) lines.set('returns', `: ${declaredType(returns)}`);
  return lines;
}
