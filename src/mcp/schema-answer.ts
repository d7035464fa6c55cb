import type { EntityDocs } from '../doors/module-docs.ts';
import type {
  CronDefinition,
  ModuleDefinition,
  ProcedureDefinition,
  ReducerDefinition,
  TableDefinition,
  ViewDefinition,
} from '../schema/definition.ts';
import { type ShownColumn, type ShownType, TypeWords, wordedTypes } from '../schema/type-words.ts';
import { shortText } from './json-schema.ts';
import type { SchemaNotes } from './schema-notes.ts';

/** A schema for agents: what is empty or follows from nothing being said is left out. */
export interface SchemaAnswer {
  readonly types: readonly ShownType[];
  readonly tables: readonly object[];
  readonly views?: readonly object[];
  readonly reducers: readonly object[];
  readonly procedures?: readonly object[];
  readonly schedules?: readonly object[];
  readonly row_filters?: readonly string[];
}

/** Writes all of a definition, with the types that it uses. */
export function schemaAnswer(shown: ModuleDefinition, notes: SchemaNotes): SchemaAnswer {
  const words = new TypeWords(wordedTypes(shown));
  const tables = shown.tables.map((table) => shownTable(table, words, notes));
  const views = shown.views.map((view) => shownView(view, words, notes));
  const reducers = shown.reducers.map((reducer) => shownReducer(reducer, words, notes));
  const procedures = shown.procedures.map((one) => shownProcedure(one, words, notes));
  return {
    types: words.definitions(),
    tables,
    ...unlessEmpty('views', views),
    reducers,
    ...unlessEmpty('procedures', procedures),
    ...unlessEmpty('schedules', [
      ...shown.tables.flatMap(schedulesOf),
      ...shown.crons.map(shownCron),
    ]),
    ...unlessEmpty('row_filters', shown.rowLevelSecurity),
  };
}

/** Writes the names in a definition, with counts, for one that is too long to be shown whole. */
export function schemaOverview(shown: ModuleDefinition, { rowCounts }: SchemaNotes) {
  const views = shown.views.map(({ name, columns }) => ({ name, columns: columns.length }));
  const procedures = shown.procedures.map(({ name, params }) => {
    return { name, params: params.elements.length };
  });
  return {
    overview: true,
    types: [],
    tables: shown.tables.map(({ name, access, columns }) => {
      const rows = rowCounts.get(name);
      return { name, access, ...(rows === undefined ? {} : { rows }), columns: columns.length };
    }),
    ...unlessEmpty('views', views),
    reducers: shown.reducers.map(({ name, params }) => {
      return { name, params: params.elements.length };
    }),
    ...unlessEmpty('procedures', procedures),
  };
}

function unlessEmpty<Name extends string, Item>(name: Name, items: readonly Item[]) {
  return (items.length === 0 ? {} : { [name]: items }) as Partial<Record<Name, readonly Item[]>>;
}

function shownTable(table: TableDefinition, words: TypeWords, notes: SchemaNotes): object {
  const { name, access, isEvent, columns, primaryKey, indexes, constraints, sequences } = table;
  const rows = notes.rowCounts.get(name);
  const nameOf = (column: number) => columns[column]?.name ?? '';
  const key = primaryKey === undefined ? undefined : nameOf(primaryKey);
  const unique = constraints
    .filter((one) => one.columns.length !== 1 || one.columns[0] !== primaryKey)
    .map((one) => one.columns.map(nameOf));
  return {
    name,
    access,
    ...(isEvent ? { event: true } : {}),
    ...(rows === undefined || isEvent ? {} : { rows }),
    ...columnsOf(columns, words, notes.docs.tables.get(name)),
    ...(key === undefined ? {} : { primary_key: key }),
    ...unlessEmpty(
      'auto_increment',
      sequences.map(({ column }) => nameOf(column)),
    ),
    ...unlessEmpty('defaults', defaultsOf(table)),
    ...unlessEmpty('unique', unique),
    ...unlessEmpty(
      'indexes',
      indexes.filter(({ isUnique }) => !isUnique).map((index) => index.columns.map(nameOf)),
    ),
    ...unlessEmpty('derived_indexes', table.derivedIndexes.map(shownIndexOf(nameOf))),
  };
}

function defaultsOf({ columns }: TableDefinition): readonly string[] {
  return columns.flatMap(({ name, defaultBytes }) => (defaultBytes === undefined ? [] : [name]));
}

function shownIndexOf(nameOf: (column: number) => string) {
  return ({ kind, column, options }: TableDefinition['derivedIndexes'][number]): object => ({
    kind,
    column: nameOf(column),
    ...Object.fromEntries(options.map(({ name, value }) => [name, value])),
  });
}

function shownView(view: ViewDefinition, words: TypeWords, { docs }: SchemaNotes): object {
  const { name, isPublic, params, columns, primaryKey } = view;
  return {
    name,
    access: isPublic ? 'public' : 'private',
    ...(params.elements.length === 0 ? {} : { params: words.ofParts(params.elements) }),
    ...columnsOf(columns, words, docs.tables.get(name)),
    ...(primaryKey === undefined ? {} : { primary_key: primaryKey }),
  };
}

function columnsOf(columns: readonly ShownColumn[], words: TypeWords, said?: EntityDocs): object {
  const docs = partDocs(said);
  return {
    ...docOf(said),
    columns: words.ofColumns(columns),
    ...(docs === undefined ? {} : { column_docs: docs }),
  };
}

function shownReducer(reducer: ReducerDefinition, words: TypeWords, notes: SchemaNotes): object {
  const { returns, throws, lifecycle } = reducer;
  return {
    ...shownFunction(reducer, words, notes),
    ...(lifecycle === undefined ? {} : { callers: runsWhen[lifecycle] }),
    ...(returns === undefined ? {} : { returns: words.of(returns) }),
    ...(throws === undefined ? {} : { throws: words.of(throws) }),
  };
}

const runsWhen = {
  init: 'nobody: runs when the database is created',
  onConnect: 'nobody: runs when a client connects',
  onDisconnect: 'nobody: runs when a client disconnects',
} as const;

function shownProcedure(one: ProcedureDefinition, words: TypeWords, notes: SchemaNotes): object {
  return { ...shownFunction(one, words, notes), returns: words.of(one.returnType) };
}

type Callable = Pick<ProcedureDefinition, 'name' | 'params' | 'paramDefaults' | 'visibility'>;

function shownFunction(callable: Callable, words: TypeWords, { docs }: SchemaNotes) {
  const { name, visibility } = callable;
  const said = docs.functions.get(name);
  const paramDocs = partDocs(said);
  return {
    name,
    callers: visibility === 'private' ? 'the owner and developers' : 'anyone',
    ...docOf(said),
    params: words.ofParams(callable),
    ...(paramDocs === undefined ? {} : { param_docs: paramDocs }),
  };
}

function schedulesOf({ name, schedule, columns }: TableDefinition): object[] {
  if (schedule === undefined) return [];
  const { functionName, atColumn } = schedule;
  return [{ runs: functionName, table: name, at: columns[atColumn]?.name }];
}

function shownCron({ name, expression, timeZone = 'UTC' }: CronDefinition): object {
  return { runs: name, cron: expression, zone: timeZone };
}

function docOf(said: EntityDocs | undefined) {
  return said === undefined || said.text === '' ? {} : { doc: inLine(said.text) };
}

function partDocs(said: EntityDocs | undefined): Readonly<Record<string, string>> | undefined {
  if (said === undefined || said.parts.size === 0) return undefined;
  return Object.fromEntries([...said.parts].map(([name, text]) => [name, inLine(text)]));
}

function inLine(text: string): string {
  return shortText(text.replace(/\s+/g, ' '));
}
