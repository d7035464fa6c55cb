import type { ModuleDefinition } from '../schema/definition.ts';
import {
  allPlans,
  type BindingPlan,
  type PlannedFunction,
  type PlannedTable,
  planSteps,
} from './binding-plan.ts';
import { builderText, columnsText, definitionText, fieldsText } from './builder-text.ts';
import { importReducer } from './import-reducer.ts';
import { indexSteps } from './index-file.ts';
import { checkDistinct, propertyName } from './names.ts';
import { type ImportStyle, SourceFile } from './source-file.ts';
import { valueTypeText } from './value-type-text.ts';

export interface BindingOptions {
  readonly includePrivate: boolean;
  readonly style: ImportStyle;
  /** Version of the program that writes the bindings, for a comment. */
  readonly version: string;
}

export interface GeneratedFile {
  /** Path within the folder of the bindings, separated by `/`. */
  readonly path: string;
  readonly text: string;
}

export interface Bindings {
  /** By path, ascending. */
  readonly files: readonly GeneratedFile[];
  /** Canonical names of private tables and views that were left out. */
  readonly skippedTables: readonly string[];
}

/**
 * TypeScript bindings for the clients of a module. The same definition gives the same texts. Throws
 * `CodegenError` if two things of the module would get the same name.
 */
export function typescriptBindings(
  definition: ModuleDefinition,
  options: BindingOptions,
): Bindings {
  const steps = bindingSteps(definition, options);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Yields every now and then, for callers that have other work. */
export function* bindingSteps(
  definition: ModuleDefinition,
  options: BindingOptions,
): Generator<undefined, Bindings> {
  const plan = yield* planSteps(definition, options);
  const plans = allPlans(plan);
  const index = yield* indexSteps(plan, options);
  yield;
  const files = [{ path: 'index.ts', text: index.toString() }];
  for (const each of plans) {
    for (const file of filesOf(each, options)) {
      if (file !== undefined) {
        files.push({ path: each.scope.folder + file.path, text: file.toString() });
      }
      yield;
    }
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  checkDistinct(
    'files',
    files.map(({ path }) => ({ of: path, name: path.toLowerCase() })),
  );
  return { files, skippedTables: plans.flatMap(({ skippedTables }) => skippedTables) };
}

/**
 * The files of a module or a submodule, with pauses in large ones; those of one folder refer to
 * each other alone.
 */
function* filesOf(plan: BindingPlan, { style }: BindingOptions): Generator<SourceFile | undefined> {
  yield yield* typesSteps(plan, style);
  yield callTypesFile('reducers', plan, style);
  yield callTypesFile('procedures', plan, style);
  for (const table of plan.tables) yield tableFile(table, plan, style);
  for (const reducer of plan.reducers) yield reducerFile(reducer, plan, style);
  for (const procedure of plan.procedures) yield procedureFile(procedure, plan, style);
}

function* typesSteps(plan: BindingPlan, style: ImportStyle): Generator<undefined, SourceFile> {
  const file = new SourceFile('types.ts', style);
  const place = { file, plan, typesPath: undefined };
  for (const { name, ref, type } of plan.types) {
    const values = plan.circles.has(ref)
      ? valueTypeText(type, place)
      : `${file.libraryType('Infer')}<typeof ${name}>`;
    file.add(
      `export const ${name} = ${definitionText(name, type, place)};`,
      `export type ${name} = ${values};`,
    );
    yield;
  }
  return file;
}

function tableFile(table: PlannedTable, plan: BindingPlan, style: ImportStyle): SourceFile {
  const file = new SourceFile(`${table.file}.ts`, style);
  const place = { file, plan, typesPath: './types' };
  const columns = columnsText(table.columns, table.primaryKey, place);
  file.add(`export default ${file.library('t')}.row(${columns});`);
  return file;
}

function reducerFile(reducer: PlannedFunction, plan: BindingPlan, style: ImportStyle): SourceFile {
  const file = new SourceFile(`${reducer.file}.ts`, style);
  const place = { file, plan, typesPath: './types' };
  file.add(...leftOutNote(reducer), `export default ${fieldsText(reducer.params, place)};`);
  const { returnType, errorType } = reducer;
  if (returnType) file.add(`export const returnType = ${builderText(returnType, place)};`);
  if (errorType) file.add(`export const errorType = ${builderText(errorType, place)};`);
  return file;
}

function procedureFile(
  procedure: PlannedFunction,
  plan: BindingPlan,
  style: ImportStyle,
): SourceFile {
  const file = new SourceFile(`${procedure.file}.ts`, style);
  const place = { file, plan, typesPath: './types' };
  const returnType = procedure.returnType ?? { kind: 'product', elements: [] };
  const params = `export const params = ${fieldsText(procedure.params, place)};`;
  file.add(...leftOutNote(procedure), params);
  file.add(`export const returnType = ${builderText(returnType, place)};`);
  return file;
}

/** This client sends every argument: nothing is filled in for it. */
function leftOutNote({ leftOut }: PlannedFunction): string[] {
  if (leftOut.length === 0) return [];
  const names = leftOut.map(({ name = '' }) => propertyName(name)).join(', ');
  return [`/** Over HTTP, on the command line and for agents, these have defaults: ${names}. */`];
}

/** Types of the arguments and results of calls. */
function callTypesFile(
  kind: 'reducers' | 'procedures',
  plan: BindingPlan,
  style: ImportStyle,
): SourceFile {
  const file = new SourceFile(`types/${kind}.ts`, style);
  for (const called of plan[kind]) {
    if (kind === 'reducers') addReducerTypes(file, called);
    else addProcedureTypes(file, called);
  }
  return file;
}

function addReducerTypes(file: SourceFile, reducer: PlannedFunction): void {
  const { params, returnType, errorType } = importReducer(file, reducer, '../');
  const infer = file.libraryType('Infer');
  const { stem } = reducer;
  file.add(`export type ${stem}Params = ${infer}<typeof ${params}>;`);
  if (returnType) file.add(`export type ${stem}Result = ${infer}<typeof ${returnType}>;`);
  if (errorType) file.add(`export type ${stem}Error = ${infer}<typeof ${errorType}>;`);
}

function addProcedureTypes(file: SourceFile, { stem, file: source }: PlannedFunction): void {
  const infer = file.libraryType('Infer');
  const procedure = file.local(`${stem}Procedure`, `../${source}`, 'namespace');
  file.add(
    `export type ${stem}Args = ${infer}<typeof ${procedure}.params>;`,
    `export type ${stem}Result = ${infer}<typeof ${procedure}.returnType>;`,
  );
}
