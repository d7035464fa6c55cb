import type { EntityDocs } from '../../doors/module-docs.ts';
import type {
  ModuleDefinition,
  ProcedureDefinition,
  ReducerDefinition,
  TableDefinition,
} from '../../schema/definition.ts';
import { shownParams } from '../../schema/type-words.ts';
import { specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType, NamedType, Typespace } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { shortTypeText } from '../json-schema.ts';
import type { SchemaNotes } from '../schema-notes.ts';

/** Yields tables, views and functions, a column per line: what an agent needs before a query. */
export function* schemaLines(
  { typespace, tables, views, reducers, procedures, rowLevelSecurity }: ModuleDefinition,
  notes: SchemaNotes,
): Generator<string> {
  for (const table of tables) yield* tableLines(table, typespace, notes);
  for (const { name, isPublic, columns } of views) {
    const docs = notes.docs.tables.get(name);
    yield withDoc(`view ${name} (${isPublic ? 'public' : 'private'})`, docs?.text);
    for (const column of columns) yield columnLine(column, typespace, docs);
  }
  for (const reducer of reducers) yield reducerWords(reducer, typespace, notes);
  for (const procedure of procedures) {
    const doc = notes.docs.functions.get(procedure.name)?.text;
    yield withDoc(procedureWords(procedure, typespace), doc);
  }
  for (const filter of rowLevelSecurity) yield `row filter: ${filter}`;
}

function tableLines(table: TableDefinition, types: Typespace, notes: SchemaNotes): string[] {
  const { name, access, isEvent, columns, primaryKey, indexes } = table;
  const docs = notes.docs.tables.get(name);
  const count = notes.rowCounts.get(name);
  const marks = [
    access,
    ...(isEvent ? ['its rows are events and not kept'] : []),
    ...(count === undefined || isEvent ? [] : [count === 1 ? '1 row' : `${count} rows`]),
  ];
  const lines = columns.map((column, at) => {
    if (at === primaryKey) return columnLine(column, types, docs, ', primary key');
    const isIndexed = indexes.some((index) => index.columns[0] === at);
    return columnLine(column, types, docs, isIndexed ? ', indexed' : '');
  });
  return [withDoc(`table ${name} (${marks.join(', ')})`, docs?.text), ...lines];
}

function columnLine(
  { name, type }: NamedType & { readonly name: string },
  types: Typespace,
  docs: EntityDocs | undefined,
  mark = '',
): string {
  return withDoc(`  ${name}: ${typeWords(type, types)}${mark}`, docs?.parts.get(name));
}

/** Returns a reducer's signature and its author's comment. */
export function reducerWords(
  reducer: ReducerDefinition,
  types: Typespace,
  { docs }: Pick<SchemaNotes, 'docs'>,
): string {
  return withDoc(signatureWords(reducer, types), docs.functions.get(reducer.name)?.text);
}

/** Returns `reducer add(id: U64, title: String)`, its return type, and whether it is private. */
export function signatureWords(reducer: ReducerDefinition, types: Typespace): string {
  const { name, returns, throws, lifecycle, visibility } = reducer;
  const called = lifecycle === undefined ? 'called by its owner alone' : `runs ${when[lifecycle]}`;
  return [
    `reducer ${name}(${parameterWords(reducer, types)})`,
    ...(returns === undefined ? [] : [`returns ${typeWords(returns, types)}`]),
    ...(throws === undefined ? [] : [`refuses with ${typeWords(throws, types)}`]),
    ...(visibility === 'private' ? [called] : []),
  ].join(', ');
}

/** Returns `procedure ask(what: String), returns U64`, and whether it is private. */
export function procedureWords(procedure: ProcedureDefinition, types: Typespace): string {
  const { name, returnType, visibility } = procedure;
  return [
    `procedure ${name}(${parameterWords(procedure, types)})`,
    `returns ${typeWords(returnType, types)}`,
    ...(visibility === 'private' ? ['called by its owner alone'] : []),
  ].join(', ');
}

function parameterWords(
  declared: Pick<ReducerDefinition, 'params' | 'paramDefaults'>,
  types: Typespace,
): string {
  const params = shownParams(declared).map(({ name, type }, at) => {
    return `${name ?? at}: ${typeWords(type, types)}`;
  });
  return params.join(', ');
}

function withDoc(words: string, doc = ''): string {
  return doc === '' ? words : `${words} // ${doc.replace(/\s+/g, ' ')}`;
}

const when = {
  init: 'when the database is made',
  onConnect: 'when a client connects',
  onDisconnect: 'when a client disconnects',
} as const;

/** Returns the name of a special type, with `?` for an option, such as `Identity?`. */
function typeWords(type: AlgebraicType, types: Typespace): string {
  const resolved = resolveType(type, types);
  const kind = specialKindOf(resolved);
  if (kind === 'option' && resolved.kind === 'sum') {
    const some = resolved.variants[0]?.type;
    if (some !== undefined) return `${typeWords(some, types)}?`;
  }
  if (kind === undefined || kind === 'option' || kind === 'result' || kind === 'unit') {
    return shortTypeText(type, types);
  }
  return kind.charAt(0).toUpperCase() + kind.slice(1);
}
