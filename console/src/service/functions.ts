import { databasePath, requestJson } from './http.ts';
import { type Json, type JsonObject, listOf, objectOf, parseJson, textOf } from './json.ts';
import type { DatabaseSchema } from './schema.ts';
import { type Field, fieldsOfProduct, type ValueType } from './types.ts';

export type FunctionKind = 'reducer' | 'procedure' | 'view' | 'handler' | 'lifecycle';

/** A route by which a handler is reached. */
export interface HandlerRoute {
  /** Such as `GET`; `ANY` for every one. */
  readonly method: string;
  readonly path: string;
}

/** A function of the module, with what its author wrote about it. */
export interface ModuleFunction {
  readonly name: string;
  readonly kind: FunctionKind;
  readonly parameters: readonly Field[];
  readonly returns: ValueType | null;
  readonly about: string;
  /** By the name of the parameter. */
  readonly parameterAbouts: Readonly<Record<string, string>>;
  /** Who may call it, in words; empty: it is not known. */
  readonly callers: string;
  /** Those of a handler. */
  readonly routes: readonly HandlerRoute[];
}

/** What the schema that all pages share does not say. */
export interface FunctionFacts {
  readonly views: readonly { readonly name: string; readonly parameters: readonly Field[] }[];
  readonly handlers: readonly { readonly name: string; readonly routes: readonly HandlerRoute[] }[];
  readonly notes: ReadonlyMap<string, FunctionNote>;
}

interface FunctionNote {
  readonly about: string;
  readonly parameterAbouts: Readonly<Record<string, string>>;
  readonly callers: string;
}

/** Views and handlers by `GET …/schema?version=10`, comments by the tool `get_schema`. */
export async function readFunctionFacts(
  database: string,
  signal?: AbortSignal,
): Promise<FunctionFacts> {
  const [parts, notes] = await Promise.all([
    readParts(database, signal),
    readNotes(database, signal),
  ]);
  return { ...parts, notes };
}

async function readParts(database: string, signal?: AbortSignal) {
  const path = `${databasePath(database, 'schema')}?version=10`;
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  const sections = new Map(
    listOf(body.sections).flatMap((section) => Object.entries(objectOf(section))),
  );
  const typespace = listOf(objectOf(sections.get('Typespace')).types);
  const names = canonicalNames(sections.get('ExplicitNames'));
  const views = listOf(sections.get('Views')).map((each) => {
    const { source_name: given, params } = objectOf(each);
    const name = textOf(given);
    return { name: names.get(name) ?? name, parameters: fieldsOfProduct(params, typespace) };
  });
  return { views, handlers: handlersOf(listOf(sections.get('HttpRoutes')).map(objectOf)) };
}

function canonicalNames(section: Json | undefined): ReadonlyMap<string, string> {
  const entries = listOf(objectOf(section).entries).flatMap((entry) => {
    const { source_name: source, canonical_name: canonical } = objectOf(objectOf(entry).Function);
    return source === undefined ? [] : [[textOf(source), textOf(canonical)] as const];
  });
  return new Map(entries);
}

function handlersOf(routes: readonly JsonObject[]): FunctionFacts['handlers'] {
  const byName = new Map<string, HandlerRoute[]>();
  for (const { handler_function: handler, method, path } of routes) {
    const name = textOf(handler);
    const [word = 'Any'] = Object.keys(objectOf(objectOf(method).Method));
    const known = byName.get(name) ?? [];
    byName.set(name, [...known, { method: word.toUpperCase(), path: textOf(path) }]);
  }
  return [...byName].map(([name, found]) => ({ name, routes: found }));
}

async function readNotes(
  database: string,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, FunctionNote>> {
  const answer = await requestJson(databasePath(database, 'mcp'), {
    method: 'POST',
    body: {
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'get_schema', arguments: {} },
    },
    ...(signal === undefined ? {} : { signal }),
  });
  const [first] = listOf(objectOf(objectOf(answer).result).content);
  const schema = parsed(textOf(objectOf(first).text));
  const all = ['reducers', 'procedures', 'views'].flatMap((kind) => listOf(schema[kind]));
  return new Map(all.map((each) => noteOf(objectOf(each))));
}

/** An answer that is cut at its end is no JSON; then nothing is known. */
function parsed(text: string): JsonObject {
  try {
    return objectOf(parseJson(text));
  } catch {
    return {};
  }
}

function noteOf({ name, doc, param_docs: docs, callers }: JsonObject): [string, FunctionNote] {
  const abouts = Object.entries(objectOf(docs)).map(([of, text]) => [of, textOf(text)]);
  const note = {
    about: textOf(doc),
    parameterAbouts: Object.fromEntries(abouts),
    callers: textOf(callers),
  };
  return [textOf(name), note];
}

/** All functions, in the order of their names; those that run by themselves last. */
export function functionsOf(
  schema: DatabaseSchema,
  facts: FunctionFacts | undefined,
): readonly ModuleFunction[] {
  const noteFor = (name: string) => facts?.notes.get(name) ?? noNote;
  const plain = schema.functions.map((each) => ({ ...each, ...noteFor(each.name), routes: [] }));
  const views = (facts?.views ?? []).map(({ name, parameters }): ModuleFunction => {
    return { name, kind: 'view', parameters, returns: null, ...noteFor(name), routes: [] };
  });
  const handlers = (facts?.handlers ?? []).map(({ name, routes }): ModuleFunction => {
    return { name, kind: 'handler', parameters: [], returns: null, ...noNote, routes };
  });
  return [...plain, ...views, ...handlers].sort((one, other) => (one.name < other.name ? -1 : 1));
}

const noNote: FunctionNote = { about: '', parameterAbouts: {}, callers: '' };

/** The path of a route of the module, below the host of the service. */
export function routeAddress(database: string, path: string): string {
  return `${databasePath(database, 'route')}${path}`;
}

/** Names of the parts of a path that stand for anything, such as `id` of `/users/:id`. */
export function pathParameters(path: string): readonly string[] {
  return [...path.matchAll(/:([a-z][a-z0-9_]*)|(\*)$/g)].map(([, name]) => name ?? '*');
}

/** A path with values for its parameters. */
export function filledPath(path: string, values: Readonly<Record<string, string>>): string {
  return path.replace(/:([a-z][a-z0-9_]*)|(\*)$/g, (_whole, name: string | undefined) => {
    const value = values[name ?? '*'] ?? '';
    return name === undefined ? encodeURI(value) : encodeURIComponent(value);
  });
}
