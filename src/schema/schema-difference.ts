import type { ModuleDefinition } from './definition.ts';
import { type FullTable, fullTablesOf } from './flatten.ts';
import { wholeTypeWords } from './type-words.ts';

/** In words, the first few differences between the tables of two definitions. */
export function schemaDifference(has: ModuleDefinition, wanted: ModuleDefinition): string {
  const there = byName(has);
  const other = byName(wanted);
  const found = [
    ...missing(there, other).map((name) => `it has no table ${name}`),
    ...missing(other, there).map((name) => `it has a table ${name}`),
    ...[...there].flatMap(([name, table]) => {
      const match = other.get(name);
      return match === undefined ? [] : columnDifferences(table, match);
    }),
  ];
  if (found.length === 0) return 'keys, indexes, sequences or the spelling of names differ';
  const shown = found.slice(0, shownMax).join('; ');
  return found.length > shownMax ? `${shown}; and ${found.length - shownMax} more` : shown;
}

const shownMax = 5;

/** Names that `all` has and `some` lacks. */
function missing(some: ReadonlyMap<string, unknown>, all: ReadonlyMap<string, unknown>): string[] {
  return [...all.keys()].filter((name) => !some.has(name));
}

function columnDifferences(has: FullTable, wanted: FullTable): string[] {
  const there = columnsOf(has);
  const other = columnsOf(wanted);
  const { name: table } = has.table;
  const retyped = [...there].flatMap(([name, type]) => {
    const wantedType = other.get(name);
    if (wantedType === undefined || wantedType === type) return [];
    return [`column ${name} of table ${table} is ${type}, not ${wantedType}`];
  });
  const differences = [
    ...missing(there, other).map((name) => `table ${table} has no column ${name}`),
    ...missing(other, there).map((name) => `table ${table} has a column ${name}`),
    ...retyped,
  ];
  const isReordered = [...there.keys()].join('\n') !== [...other.keys()].join('\n');
  if (differences.length > 0 || !isReordered) return differences;
  return [`the columns of table ${table} have another order`];
}

function columnsOf({ table, typespace }: FullTable): Map<string, string> {
  const words = table.columns.map(({ name, type, vectorLength }) => {
    const text = wholeTypeWords(type, typespace);
    return [name, vectorLength === undefined ? text : `${text} of length ${vectorLength}`] as const;
  });
  return new Map(words);
}

function byName(definition: ModuleDefinition): Map<string, FullTable> {
  return new Map(fullTablesOf(definition).map((full) => [full.table.name, full]));
}
