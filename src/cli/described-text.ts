import { definitionFromSchema } from '../codegen/schema-document.ts';
import type {
  ModuleDefinition,
  ProcedureDefinition,
  ReducerDefinition,
  TableDefinition,
  ViewDefinition,
} from '../schema/definition.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { type ShownType, shownParams, TypeWords, wordedTypes } from '../schema/type-words.ts';
import { nearestNames } from '../values/nearest-names.ts';
import type { NamedType } from '../values/type.ts';
import { CliError } from './io.ts';

/**
 * The answer of the schema endpoint for people: all of it, or one table or function by either of
 * its names. Throws `CliError` where there is none.
 */
export function describedDocument(
  document: string,
  kind: string | undefined,
  name: string | undefined,
): string {
  const whole = flatDefinition(definitionFromSchema(document));
  if (kind === undefined || name === undefined) return describedText(whole);
  const named = onlyNamed(whole, kind, name);
  if (named !== undefined) return describedText(named);
  const { tables, views, reducers, procedures } = whole;
  const others = kind === 'table' ? [...tables, ...views] : [...reducers, ...procedures];
  const near = nearestNames(
    name,
    others.map((one) => one.name),
  );
  const hint = near.length === 0 ? '' : `\nDid you mean: ${near.join(', ')}?`;
  throw new CliError(`No such ${kind}: ${name}${hint}`);
}

/**
 * A schema for people: tables and views with a line for each column, functions with their
 * parameters, and the named types that these use. `definition` is flat (`flatDefinition`).
 */
function describedText(definition: ModuleDefinition): string {
  const words = new TypeWords(wordedTypes(definition));
  const { tables, views, reducers, procedures } = definition;
  const parts = [
    section(
      'Tables',
      tables.flatMap((table) => tableLines(table, words)),
    ),
    section(
      'Views',
      views.flatMap((view) => viewLines(view, words)),
    ),
    section(
      'Reducers',
      reducers.map((reducer) => reducerLine(reducer, words)),
    ),
    section(
      'Procedures',
      procedures.map((procedure) => procedureLine(procedure, words)),
    ),
    section('Types', words.definitions().map(typeLine)),
  ];
  const shown = parts.filter((part) => part !== undefined);
  return shown.length === 0 ? 'The database has no tables and no functions.' : shown.join('\n\n');
}

/** The definition with nothing but what has this name, in either spelling; `undefined`: nothing. */
function onlyNamed(
  definition: ModuleDefinition,
  kind: string,
  name: string,
): ModuleDefinition | undefined {
  const named = <Part extends { readonly name: string; readonly sourceName: string }>(
    parts: readonly Part[],
  ): readonly Part[] => {
    const exact = parts.filter((part) => part.name === name);
    return exact.length > 0 ? exact : parts.filter((part) => part.sourceName === name);
  };
  const isTable = kind === 'table';
  const tables = isTable ? named(definition.tables) : [];
  const views = isTable ? named(definition.views) : [];
  const reducers = isTable ? [] : named(definition.reducers);
  const procedures = isTable ? [] : named(definition.procedures);
  const found = [...tables, ...views, ...reducers, ...procedures];
  if (found.length === 0) return undefined;
  return { ...definition, tables, views, reducers, procedures };
}

function section(title: string, lines: readonly string[]): string | undefined {
  if (lines.length === 0) return undefined;
  return [title, ...lines.map((line) => `  ${line}`)].join('\n');
}

function tableLines(table: TableDefinition, words: TypeWords): string[] {
  const { name, access, isEvent, columns, schedule } = table;
  const notes = [
    access,
    ...(isEvent ? ['event'] : []),
    ...(schedule === undefined ? [] : [`schedules ${schedule.functionName}`]),
  ];
  const marks = columns.map((_, at) => columnMarks(table, at));
  return [`${name} (${notes.join(', ')})`, ...columnLines(columns, marks, words), ...wide(table)];
}

/** Keys and indexes of a single column, and what it gets when it is left out. */
function columnMarks(table: TableDefinition, at: number): string {
  const isAlone = ({ columns }: { readonly columns: readonly number[] }) =>
    columns.length === 1 && columns[0] === at;
  const isKey = table.primaryKey === at;
  const isUnique = !isKey && table.constraints.some(isAlone);
  const length = table.columns[at]?.vectorLength;
  const isIndexed = table.indexes.some((index) => !index.isUnique && isAlone(index));
  return [
    ...(isKey ? ['primary key'] : []),
    ...(isUnique ? ['unique'] : []),
    ...(isIndexed ? ['index'] : []),
    ...(table.sequences.some(({ column }) => column === at) ? ['auto-increment'] : []),
    ...(table.columns[at]?.defaultBytes === undefined ? [] : ['default']),
    ...(length === undefined ? [] : [`vector of ${length}`]),
    ...table.derivedIndexes.filter(({ column }) => column === at).map(derivedMark),
  ].join(', ');
}

function derivedMark({ kind, options }: TableDefinition['derivedIndexes'][number]): string {
  const told = options.map(({ name, value }) => ` ${name} ${value}`).join(',');
  return `${kind} index${told === '' ? '' : ` (${told.trim()})`}`;
}

/** Keys and indexes over several columns, a line each. */
function wide({ columns, constraints, indexes }: TableDefinition): string[] {
  const line = (word: string, positions: readonly number[]) =>
    `  ${word} (${positions.map((at) => columns[at]?.name ?? at).join(', ')})`;
  const isWide = (one: { readonly columns: readonly number[] }) => one.columns.length > 1;
  return [
    ...constraints.filter(isWide).map((one) => line('unique', one.columns)),
    ...indexes
      .filter((one) => !one.isUnique && isWide(one))
      .map((one) => line('index', one.columns)),
  ];
}

function viewLines(view: ViewDefinition, words: TypeWords): string[] {
  const { name, params, isPublic, columns, primaryKey } = view;
  const marks = columns.map((column) => (column.name === primaryKey ? 'primary key' : ''));
  const access = isPublic ? 'public' : 'private';
  const given = params.elements.length === 0 ? '' : parameters(params.elements, words);
  return [`${name}${given} (${access})`, ...columnLines(columns, marks, words)];
}

function columnLines(
  columns: readonly NamedType[],
  marks: readonly string[],
  words: TypeWords,
): string[] {
  const cells = columns.map(({ name, type }, at) => ({
    name: name ?? String(at),
    type: words.of(type),
    mark: marks[at] ?? '',
  }));
  const nameWidth = Math.max(0, ...cells.map(({ name }) => name.length));
  const typeWidth = Math.max(0, ...cells.map(({ type }) => type.length));
  return cells.map(({ name, type, mark }) =>
    `  ${name.padEnd(nameWidth)}  ${type.padEnd(typeWidth)}  ${mark}`.trimEnd(),
  );
}

function reducerLine(reducer: ReducerDefinition, words: TypeWords): string {
  const { name, returns, throws, lifecycle, visibility } = reducer;
  const notes = [
    ...(lifecycle === undefined ? [] : [runsWhen[lifecycle]]),
    ...(lifecycle === undefined && visibility === 'private' ? ['for owner and developers'] : []),
    ...(throws === undefined ? [] : [`refuses with ${words.of(throws)}`]),
  ];
  const result = returns === undefined ? '' : `: ${words.of(returns)}`;
  return `${name}${parameters(shownParams(reducer), words)}${result}${noted(notes)}`;
}

const runsWhen = {
  init: 'runs when the database is created',
  onConnect: 'runs when a client connects',
  onDisconnect: 'runs when a client disconnects',
} as const;

function procedureLine(procedure: ProcedureDefinition, words: TypeWords): string {
  const { name, returnType, visibility } = procedure;
  const notes = visibility === 'private' ? ['for owner and developers'] : [];
  const result = words.of(returnType);
  const shown = result === '()' ? '' : `: ${result}`;
  return `${name}${parameters(shownParams(procedure), words)}${shown}${noted(notes)}`;
}

function parameters(elements: readonly NamedType[], words: TypeWords): string {
  return `(${elements.map(({ name, type }, at) => `${name ?? at}: ${words.of(type)}`).join(', ')})`;
}

function noted(notes: readonly string[]): string {
  return notes.length === 0 ? '' : ` (${notes.join(', ')})`;
}

function typeLine({ name, variants, fields, is }: ShownType): string {
  if (is !== undefined) return `${name} = ${is}`;
  if (fields !== undefined) return `${name} = {${fieldTexts(fields).join(', ')}}`;
  if (Array.isArray(variants)) return `${name} = ${variants.join(' | ')}`;
  const cases = Object.entries((variants ?? {}) as Readonly<Record<string, string>>);
  const texts = cases.map(([variant, type]) => (type === '()' ? variant : `${variant}(${type})`));
  return `${name} = ${texts.join(' | ')}`;
}

function fieldTexts(fields: Readonly<Record<string, string>> | readonly string[]): string[] {
  if (Array.isArray(fields)) return [...fields];
  return Object.entries(fields).map(([name, type]) => `${name}: ${type}`);
}
