import {
  allPlans,
  type BindingPlan,
  type BindingScope,
  type PlannedFunction,
  type PlannedTable,
} from './binding-plan.ts';
import { importReducer } from './import-reducer.ts';
import { checkDistinct, quoted } from './names.ts';
import {
  entryText,
  type ImportStyle,
  indent,
  listText,
  objectText,
  SourceFile,
} from './source-file.ts';

/** Clients check this before they accept bindings: the version line that these are made for. */
const compatibleVersion = '2.10.1';

/** The file that applications import. */
export function* indexSteps(
  plan: BindingPlan,
  { style, version }: { readonly style: ImportStyle; readonly version: string },
): Generator<undefined, SourceFile> {
  const file = new SourceFile('index.ts', style, ['', `// Written by reducerdb ${version}.`]);
  yield* addDescriptions(file, plan);
  const contexts = [
    ['EventContext', 'EventContextInterface'],
    ['ReducerEventContext', 'ReducerEventContextInterface'],
    ['SubscriptionEventContext', 'SubscriptionEventContextInterface'],
    ['ErrorContext', 'ErrorContextInterface'],
    ['SubscriptionHandle', 'SubscriptionHandleImpl'],
  ] as const;
  const types = contexts.map(([name, from]) => {
    return `export type ${name} = ${file.libraryType(from)}<typeof REMOTE_MODULE>;`;
  });
  file.add(
    ...types,
    'export type Tables = typeof REMOTE_MODULE.tables;',
    "export type DbView = DbConnection['db'];",
  );
  addClasses(file);
  return file;
}

function* addDescriptions(file: SourceFile, plan: BindingPlan): Generator<undefined, void> {
  const plans = allPlans(plan);
  checkConstants(plans);
  const entries: string[] = [];
  for (const { scope, tables } of plans) {
    for (const table of tables) {
      entries.push(entryText(scope.path + table.accessor, tableText(file, table, scope)));
      yield;
    }
  }
  file.add(`const tablesSchema = ${file.library('schema')}(${objectText(entries)});`);
  yield;
  const reducers = plans.flatMap((each) =>
    each.reducers.map((reducer) => reducerText(file, reducer, each.scope)),
  );
  file.add(`const reducersSchema = ${file.library('reducers')}(${argumentsText(reducers)});`);
  const procedures = plans.flatMap(({ procedures: all, scope }) =>
    all.map(({ name, stem, file: source }) => {
      const module = `./${scope.folder}${source}`;
      const from = file.local(`${scope.stem}${stem}Procedure`, module, 'namespace');
      const args = `${quoted(scope.prefix + name)}, ${from}.params, ${from}.returnType`;
      return `${file.library('procedureSchema')}(${args})`;
    }),
  );
  file.add(`const proceduresSchema = ${file.library('procedures')}(${argumentsText(procedures)});`);
  file.add(
    'const REMOTE_MODULE = {',
    `  versionInfo: { cliVersion: ${quoted(compatibleVersion)} as const },`,
    '  tables: tablesSchema.schemaType.tables,',
    '  reducers: reducersSchema.reducersType.reducers,',
    '  ...proceduresSchema,',
    `} satisfies ${file.libraryType('RemoteModule')}<`,
    '  typeof tablesSchema.schemaType,',
    '  typeof reducersSchema.reducersType,',
    '  typeof proceduresSchema',
    '>;',
  );
  const roots = `${file.libraryType('QueryBuilder')}<typeof tablesSchema.schemaType>`;
  const toMap = file.library('convertToAccessorMap');
  file.add(
    '/** Starting points of queries, one for each table and view. */',
    `export const tables: ${roots} =`,
    `  ${file.library('makeQueryBuilder')}(tablesSchema.schemaType);`,
    '/** Descriptions of the reducers, by the names that programs call them by. */',
    `export const reducers = ${toMap}(reducersSchema.reducersType.reducers);`,
    '/** Descriptions of the procedures, likewise. */',
    `export const procedures = ${toMap}(proceduresSchema.procedures);`,
  );
}

/** What is imported of several folders must not meet under one name. */
function checkConstants(plans: readonly BindingPlan[]): void {
  const constants = plans.flatMap(({ scope, tables, reducers, procedures }) => {
    const of = ({ name }: { readonly name: string }) => scope.prefix + name;
    const calls = (called: readonly PlannedFunction[], kind: string) =>
      called.map((one) => ({ of: of(one), name: `${scope.stem}${one.stem}${kind}` }));
    return [
      ...tables.map((table) => ({ of: of(table), name: scope.stem + table.constant })),
      ...calls(reducers, 'Reducer'),
      ...calls(procedures, 'Procedure'),
    ];
  });
  checkDistinct('imports', constants);
}

/** A reducer, with the types of its value and its error, if it has any. */
function reducerText(
  file: SourceFile,
  reducer: PlannedFunction,
  { folder, prefix, stem }: BindingScope,
): string {
  const { params, returnType, errorType } = importReducer(file, reducer, `./${folder}`, stem);
  const results = [
    ...(returnType === undefined ? [] : [`returns: ${returnType}`]),
    ...(errorType === undefined ? [] : [`throws: ${errorType}`]),
  ];
  const args = [
    quoted(prefix + reducer.name),
    params,
    ...(results.length > 0 ? [shortObject(results)] : []),
  ];
  return `${file.library('reducerSchema')}(${args.join(', ')})`;
}

function tableText(
  file: SourceFile,
  table: PlannedTable,
  { folder, prefix, stem }: BindingScope,
): string {
  const indexes = table.indexes.map(({ accessor, name, columns }) =>
    shortObject([
      `accessor: ${quoted(accessor)}`,
      `name: ${quoted(prefix + name)}`,
      "algorithm: 'btree'",
      `columns: ${listText(columns.map(quoted))}`,
    ]),
  );
  const constraints = table.constraints.map(({ name, columns }) =>
    shortObject([
      `name: ${quoted(prefix + name)}`,
      "constraint: 'unique'",
      `columns: ${listText(columns.map(quoted))}`,
    ]),
  );
  const options = objectText([
    entryText('name', quoted(prefix + table.name)),
    entryText('indexes', brokenList(indexes)),
    entryText('constraints', brokenList(constraints)),
    ...(table.isEvent ? [entryText('event', 'true')] : []),
  ]);
  const row = file.local(stem + table.constant, `./${folder}${table.file}`, 'default');
  return `${file.library('table')}(${options}, ${row})`;
}

function addClasses(file: SourceFile): void {
  const [builder, config] = [
    file.library('DbConnectionBuilder'),
    file.libraryType('DbConnectionConfig'),
  ];
  file.add(
    '/** Collects callbacks, then subscribes. */',
    `export class SubscriptionBuilder extends ${file.library('SubscriptionBuilderImpl')}<`,
    '  typeof REMOTE_MODULE',
    '> {}',
  );
  file.add(
    '/** Collects what a connection needs, then connects. */',
    `export class DbConnectionBuilder extends ${builder}<DbConnection> {}`,
  );
  file.add(
    '/** A connection: `db` has the rows, `reducers` and `procedures` make calls. */',
    `export class DbConnection extends ${file.library('DbConnectionImpl')}<typeof REMOTE_MODULE> {`,
    '  static builder = (): DbConnectionBuilder => {',
    '    return new DbConnectionBuilder(',
    '      REMOTE_MODULE,',
    `      (config: ${config}<typeof REMOTE_MODULE>) => new DbConnection(config),`,
    '    );',
    '  };',
    '',
    '  override subscriptionBuilder = (): SubscriptionBuilder => new SubscriptionBuilder(this);',
    '}',
  );
}

/** On one line if it fits, with room for the indent. */
function shortObject(entries: readonly string[]): string {
  const line = `{ ${entries.join(', ')} }`;
  return line.length <= 90 ? line : objectText(entries.map((entry) => `${entry},`));
}

/** Each item on its own line. */
function brokenList(items: readonly string[]): string {
  if (items.length === 0) return '[]';
  return `[\n${indent(items.map((item) => `${item},`).join('\n'))}\n]`;
}

function argumentsText(items: readonly string[]): string {
  if (items.length === 0) return '';
  return `\n${items.map((item) => `  ${item},`).join('\n')}\n`;
}
