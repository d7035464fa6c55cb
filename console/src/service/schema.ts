import { databasePath, ServiceError, send } from './http.ts';
import { isObject, type Json, listOf, objectOf, parseJson, textOf } from './json.ts';
import { runSql } from './sql.ts';
import {
  type Field,
  fieldsOfProduct,
  type Typespace,
  typeOfJson,
  type ValueType,
} from './types.ts';

export interface IndexSchema {
  readonly name: string;
  readonly kind: string;
  readonly columns: readonly string[];
}

export interface TableSchema {
  readonly name: string;
  readonly kind: 'table' | 'view' | 'system';
  readonly isPublic: boolean;
  readonly columns: readonly Field[];
  readonly primaryKey: string | null;
  /** Columns that are unique by themselves, the primary key among them. */
  readonly unique: readonly string[];
  /** Columns that the service counts up when a row is inserted with 0. */
  readonly sequences: readonly string[];
  readonly indexes: readonly IndexSchema[];
}

export interface FunctionSchema {
  readonly name: string;
  readonly kind: 'reducer' | 'procedure' | 'lifecycle';
  readonly parameters: readonly Field[];
  readonly returns: ValueType | null;
}

/** What a database has, by the names that SQL knows, as far as the caller may see it. */
export interface DatabaseSchema {
  readonly tables: readonly TableSchema[];
  readonly functions: readonly FunctionSchema[];
}

/** `GET /v1/database/:db/schema`. */
export function readSchema(database: string, signal?: AbortSignal): Promise<DatabaseSchema> {
  return schemaAt(databasePath(database, 'schema'), signal);
}

/** `GET /v1/database/:db/deploys/:number/schema`: as an earlier program declared it. */
export function readDeploySchema(
  database: string,
  number: number,
  signal?: AbortSignal,
): Promise<DatabaseSchema> {
  return schemaAt(databasePath(database, 'deploys', String(number), 'schema'), signal);
}

async function schemaAt(place: string, signal?: AbortSignal): Promise<DatabaseSchema> {
  const answer = await send(`${place}?version=9`, signal === undefined ? {} : { signal });
  const text = await answer.text();
  const before = lastRead.get(place);
  if (before?.text === text) return before.schema;
  const schema = schemaOf(objectOf(parseJson(text)));
  lastRead.delete(place);
  lastRead.set(place, { text, schema });
  const [oldest = ''] = lastRead.keys();
  if (lastRead.size > lastReadMax) lastRead.delete(oldest);
  return schema;
}

/**
 * A schema is read again and again, and seldom another one: the same object is the same schema, so
 * that what is shown of it stays as it is.
 */
const lastRead = new Map<string, { readonly text: string; readonly schema: DatabaseSchema }>();
const lastReadMax = 8;

function schemaOf(body: Raw): DatabaseSchema {
  const typespace = listOf(objectOf(body.typespace).types);
  const exported = listOf(body.misc_exports).map(objectOf);
  const tables = listOf(body.tables).map((each) => tableOf(objectOf(each), typespace));
  const views = exported.flatMap(({ View }) => (isObject(View) ? [viewOf(View, typespace)] : []));
  const procedures = exported.flatMap(({ Procedure }) => {
    return isObject(Procedure) ? [procedureOf(Procedure, typespace)] : [];
  });
  const reducers = listOf(body.reducers).map((each) => reducerOf(objectOf(each), typespace));
  return {
    tables: [...tables, ...views.filter((view) => view !== null)].sort(byName),
    functions: [...reducers, ...procedures],
  };
}

/** Names of the system tables that the caller may read. */
export async function readSystemTables(
  database: string,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const sql = "SELECT table_name FROM st_table WHERE starts_with(table_name, 'st_')";
  const options = { isConfirmed: false, ...(signal === undefined ? {} : { signal }) };
  try {
    const { rows } = await runSql(database, sql, options);
    return rows.map(([name]) => textOf(name)).sort();
  } catch (error) {
    // Without the right to read the list, no system tables are shown.
    if (error instanceof ServiceError && error.status === 400) return [];
    throw error;
  }
}

type Raw = { readonly [name: string]: Json };

function tableOf(table: Raw, typespace: Typespace): TableSchema {
  const columns = columnsAt(table.product_type_ref, typespace);
  const named = (column: Json | undefined) => columns[Number(column)]?.name ?? '';
  const primary = listOf(table.primary_key)[0];
  const constraints = listOf(table.constraints).map((each) => objectOf(objectOf(each).data));
  return {
    name: textOf(table.name),
    kind: objectOf(table.table_type).System === undefined ? 'table' : 'system',
    isPublic: objectOf(table.table_access).Public !== undefined,
    columns,
    primaryKey: primary === undefined ? null : named(primary),
    unique: constraints
      .map((data) => listOf(objectOf(data.Unique).columns))
      .flatMap((unique) => (unique.length === 1 ? [named(unique[0])] : [])),
    sequences: listOf(table.sequences).map((each) => named(objectOf(each).column)),
    indexes: listOf(table.indexes).map((each) => indexOf(objectOf(each), named)),
  };
}

function indexOf(index: Raw, named: (column: Json | undefined) => string): IndexSchema {
  const [[kind, columns] = ['', []]] = Object.entries(objectOf(index.algorithm));
  const list = Array.isArray(columns) ? columns : [columns];
  return { name: textOf(optional(index.name)), kind, columns: list.map(named) };
}

function viewOf(view: Raw, typespace: Typespace): TableSchema | null {
  // A view with arguments is no table.
  if (listOf(objectOf(view.params).elements).length > 0) return null;
  const returned = typeOfJson(view.return_type, typespace);
  const row = returned.kind === 'array' ? returned.item() : rowOfOption(returned);
  if (row.kind !== 'product') return null;
  return {
    name: textOf(view.name),
    kind: 'view',
    isPublic: view.is_public === true,
    columns: row.fields(),
    primaryKey: null,
    unique: [],
    sequences: [],
    indexes: [],
  };
}

function rowOfOption(type: ValueType): ValueType {
  return type.kind === 'option' ? type.some() : type;
}

function reducerOf(reducer: Raw, typespace: Typespace): FunctionSchema {
  return {
    name: textOf(reducer.name),
    kind: optional(reducer.lifecycle) === null ? 'reducer' : 'lifecycle',
    parameters: fieldsOfProduct(reducer.params, typespace),
    returns: null,
  };
}

function procedureOf(procedure: Raw, typespace: Typespace): FunctionSchema {
  return {
    name: textOf(procedure.name),
    kind: 'procedure',
    parameters: fieldsOfProduct(procedure.params, typespace),
    returns: typeOfJson(procedure.return_type, typespace),
  };
}

function columnsAt(reference: Json | undefined, typespace: Typespace): readonly Field[] {
  return fieldsOfProduct(typespace[Number(reference)], typespace);
}

/** What an option holds; `null` for none. */
function optional(value: Json | undefined): Json {
  return isObject(value) && value.some !== undefined ? value.some : null;
}

function byName(one: TableSchema, other: TableSchema): number {
  return one.name < other.name ? -1 : 1;
}
