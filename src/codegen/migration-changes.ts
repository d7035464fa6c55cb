import { compareTypes } from '../schema/compare-types.ts';
import type { ColumnDefinition, ModuleDefinition, TableDefinition } from '../schema/definition.ts';
import { prefixTable, scopesOf } from '../schema/flatten.ts';
import type { Typespace } from '../values/type.ts';

/** A table under its full names, with the types of its columns in both spellings. */
export interface DraftTable {
  readonly table: TableDefinition;
  readonly typespace: Typespace;
  readonly sourceTypespace: Typespace;
}

/** Something that is gone, beside what may be the same thing under another name. */
export interface RenameQuestion {
  readonly kind: 'table' | 'column';
  /** Of a column: its table, by the canonical name that it has afterwards. */
  readonly table: string;
  /** Canonical. */
  readonly from: string;
  /** Canonical, the likeliest first. */
  readonly candidates: readonly string[];
  /** The first candidate, if it is likely to be the same thing. */
  readonly likely: string | undefined;
}

/** For each question, by `questionKey`, the new name; `undefined`: it is gone. */
export type RenameAnswers = ReadonlyMap<string, string | undefined>;

export function questionKey({ kind, table, from }: RenameQuestion): string {
  return kind === 'table' ? from : `${table}\n${from}`;
}

/** A table before and after. */
export interface TablePair {
  readonly old: DraftTable;
  readonly next: DraftTable;
}

/** The tables of a definition by full canonical name. */
export function draftTables(definition: ModuleDefinition): ReadonlyMap<string, DraftTable> {
  const tables = scopesOf(definition).flatMap(({ prefix, module }) => {
    const { typespace, sourceTypespace } = module;
    return module.tables.map((table) => {
      return { table: prefixTable(table, prefix), typespace, sourceTypespace };
    });
  });
  return new Map(tables.map((each) => [each.table.name, each]));
}

/** The next question whose answer decides how `old` becomes `next`; tables come before columns. */
export function openQuestion(
  old: ModuleDefinition,
  next: ModuleDefinition,
  answers: RenameAnswers,
): RenameQuestion | undefined {
  const [oldTables, nextTables] = [draftTables(old), draftTables(next)];
  const added = [...nextTables.values()].filter(({ table }) => !oldTables.has(table.name));
  for (const gone of oldTables.values()) {
    if (nextTables.has(gone.table.name) || gone.table.isEvent) continue;
    const question = tableQuestion(gone, unclaimed(added, answers), answers);
    if (question !== undefined) return question;
  }
  for (const pair of tablePairs(old, next, answers)) {
    const question = columnQuestionOf(pair, answers);
    if (question !== undefined) return question;
  }
  return undefined;
}

/** The tables that stay, under whatever name; those whose rows nobody keeps are left out. */
export function tablePairs(
  old: ModuleDefinition,
  next: ModuleDefinition,
  answers: RenameAnswers,
): TablePair[] {
  const nextTables = draftTables(next);
  return [...draftTables(old).values()].flatMap((before) => {
    const { name, isEvent } = before.table;
    const to = nextTables.has(name) ? name : answers.get(name);
    const after = to === undefined ? undefined : nextTables.get(to);
    const isKept = after !== undefined && !isEvent && !after.table.isEvent;
    return isKept ? [{ old: before, next: after }] : [];
  });
}

/** What became of the columns of a table. */
export interface ColumnChanges {
  readonly renamed: readonly (readonly [from: ColumnDefinition, to: ColumnDefinition])[];
  readonly dropped: readonly ColumnDefinition[];
  readonly added: readonly ColumnDefinition[];
  /** Columns that stay, under whatever name, in their old order. */
  readonly kept: readonly (readonly [from: ColumnDefinition, to: ColumnDefinition])[];
}

export function columnChanges(pair: TablePair, answers: RenameAnswers): ColumnChanges {
  const next = new Map(pair.next.table.columns.map((column) => [column.name, column]));
  const kept = pair.old.table.columns.flatMap((column) => {
    const same = next.get(column.name);
    const name = same === undefined ? answers.get(columnKey(pair, column)) : column.name;
    const to = name === undefined ? undefined : next.get(name);
    return to === undefined ? [] : [[column, to] as const];
  });
  const [before, after] = [new Set(kept.map(([from]) => from)), new Set(kept.map(([, to]) => to))];
  return {
    kept,
    renamed: kept.filter(([from, to]) => from.name !== to.name),
    dropped: pair.old.table.columns.filter((column) => !before.has(column)),
    added: pair.next.table.columns.filter((column) => !after.has(column)),
  };
}

function columnKey({ next }: TablePair, column: ColumnDefinition): string {
  return `${next.table.name}\n${column.name}`;
}

function tableQuestion(
  gone: DraftTable,
  added: readonly DraftTable[],
  answers: RenameAnswers,
): RenameQuestion | undefined {
  const { name } = gone.table;
  if (answers.has(name)) return undefined;
  const alike = added
    .map((table) => ({ to: table.table.name, score: sharedColumns(gone, table) }))
    .filter(({ score }) => score >= alikeTables)
    .sort((a, b) => b.score - a.score || likeness(name, b.to) - likeness(name, a.to));
  const candidates = alike.map(({ to }) => to);
  if (candidates.length === 0) return undefined;
  return { kind: 'table', table: name, from: name, candidates, likely: candidates[0] };
}

/** From this part of columns in common on, a table can be another one renamed. */
const alikeTables = 0.5;

function unclaimed(added: readonly DraftTable[], answers: RenameAnswers): DraftTable[] {
  const claimed = new Set(answers.values());
  return added.filter(({ table }) => !claimed.has(table.name) && !table.isEvent);
}

/** The part of the columns of two tables that have the same name and type, 0 to 1. */
function sharedColumns(one: DraftTable, other: DraftTable): number {
  const next = new Map(other.table.columns.map((column) => [column.name, column]));
  const shared = one.table.columns.filter((column) => {
    const match = next.get(column.name);
    return match !== undefined && isSameType(column, match, { old: one, next: other });
  });
  const most = Math.max(one.table.columns.length, other.table.columns.length);
  return most === 0 ? 1 : shared.length / most;
}

function columnQuestionOf(pair: TablePair, answers: RenameAnswers): RenameQuestion | undefined {
  const table = pair.next.table.name;
  const { dropped, added } = columnChanges(pair, answers);
  for (const from of dropped) {
    if (answers.has(columnKey(pair, from))) continue;
    const alike = added.filter((to) => isSameType(from, to, pair));
    if (alike.length === 0) continue;
    const isInPlace = (to: ColumnDefinition) =>
      pair.old.table.columns.indexOf(from) === pair.next.table.columns.indexOf(to);
    const scored = alike
      .map((to) => ({ to: to.name, score: likeness(from.name, to.name), isInPlace: isInPlace(to) }))
      .sort((a, b) => b.score - a.score || Number(b.isInPlace) - Number(a.isInPlace));
    const [best] = scored;
    const isLikely = best !== undefined && (best.score >= alikeNames || best.isInPlace);
    return {
      kind: 'column',
      table,
      from: from.name,
      candidates: scored.map(({ to }) => to),
      likely: isLikely ? best.to : undefined,
    };
  }
  return undefined;
}

/** From this likeness on, names are likely to mean the same. */
const alikeNames = 0.4;

/** True where the bytes of one column's values are values of the other. */
export function isSameType(
  from: ColumnDefinition,
  to: ColumnDefinition,
  { old, next }: TablePair,
): boolean {
  const { conflicts } = compareTypes({
    old: from.type,
    next: to.type,
    oldTypespace: old.typespace,
    nextTypespace: next.typespace,
  });
  const isLength = to.vectorLength === undefined || to.vectorLength === from.vectorLength;
  return conflicts.length === 0 && isLength;
}

/** How much two names have in common, 0 to 1: the longest common part over the longer name. */
function likeness(one: string, other: string): number {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  let longest = 0;
  let above: number[] = new Array(b.length + 1).fill(0);
  for (const letter of a) {
    const row = [0];
    for (let at = 1; at <= b.length; at += 1) {
      const length = letter === b[at - 1] ? (above[at - 1] ?? 0) + 1 : 0;
      row.push(length);
      longest = Math.max(longest, length);
    }
    above = row;
  }
  return longest / Math.max(a.length, b.length, 1);
}
