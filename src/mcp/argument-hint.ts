import { jsonText } from '../mcp-protocol/json-text.ts';
import { JsonNumber, JsonObject, type JsonValue, parseJson } from '../values/json.ts';
import { listedDatabases } from './listed-databases.ts';
import type { McpSession } from './session.ts';
import type { ToolSource } from './tool.ts';

/** Names under which agents send an argument that has another one. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  database: ['db', 'database_name', 'name'],
  sql: ['query', 'statement', 'q'],
  reducer: ['name', 'function', 'procedure', 'reducer_name'],
  preview: ['id', 'preview_id'],
  args: ['arguments', 'params', 'parameters'],
};

/** Values that would work where nothing was sent that could be meant. */
const examples: Readonly<Record<string, string>> = {
  sql: 'SELECT table_name FROM st_table',
  reducer: 'name_of_a_reducer',
  preview: 'id_of_a_preview',
  repository: 'name_of_a_repository',
};

/** Arguments longer than this are not repeated. */
const shownCharactersMax = 1_000;

/**
 * Shows how a call of the wrong shape is made: with what was sent under the right names and in the
 * right form, and with examples for the rest.
 */
export function argumentHint(source: ToolSource, args: JsonObject, session: McpSession): string {
  const { name, properties, moreProperties = {}, required, takesDatabase } = source;
  const isNamed = takesDatabase === true && session.database === undefined;
  const names = [...(isNamed ? ['database'] : []), ...required];
  const meant = new Map<string, JsonValue>();
  for (const one of names) {
    meant.set(one, stringUnder(one, args) ?? exampleFor(one, session));
  }
  for (const [one, value] of args.entries) {
    if (meant.has(one) || !(one in properties || one in moreProperties)) continue;
    if (one === 'args') meant.set(one, argumentList(value));
    else if (fits(value, { ...properties, ...moreProperties }[one]?.type)) meant.set(one, value);
  }
  const shown = jsonText(new JsonObject([...meant]));
  if (shown.length > shownCharactersMax) return `${name} takes ${names.join(', ')}`;
  return `call ${name} with ${shown}`;
}

function stringUnder(name: string, args: JsonObject): string | undefined {
  return [name, ...(aliases[name] ?? [])]
    .map((one) => args.get(one))
    .find((value): value is string => typeof value === 'string');
}

function exampleFor(name: string, { host, caller }: McpSession): string {
  if (name !== 'database') return examples[name] ?? 'text';
  const [own] = listedDatabases(host, caller);
  return (own && host.namesOf(own.identity)[0]) ?? 'name_of_a_database';
}

/** Lists are often sent as their JSON text, and single arguments without a list. */
function argumentList(value: JsonValue): JsonValue {
  if (Array.isArray(value) || value instanceof JsonObject) return value;
  if (typeof value !== 'string') return [value];
  try {
    const parsed = parseJson(value);
    return Array.isArray(parsed) || parsed instanceof JsonObject ? parsed : [value];
  } catch {
    return [value];
  }
}

/** Whether a value can stand for an argument of a schema's type. */
function fits(value: JsonValue, type: unknown): boolean {
  const kinds = [type].flat();
  if (value instanceof JsonNumber) return kinds.includes('integer');
  if (Array.isArray(value)) return kinds.includes('array');
  if (value instanceof JsonObject) return kinds.includes('object');
  return kinds.includes(typeof value);
}
