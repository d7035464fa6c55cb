import { type JsonValue, member, parseJson } from '../values/json.ts';
import { type Api, databasePath } from './api.ts';
import { elementsOf } from './json-parts.ts';

/** The HTTP routes of a database, each as a method and an address; none if it has none. */
export async function routeLines(api: Api, database: string): Promise<string[]> {
  const answer = await api.send('GET', databasePath(database, '/schema?version=10'));
  // The database was published; its routes are only shown.
  if (!answer.ok) return [];
  const sections = elementsOf(member(parseJson(await answer.text()), 'sections'));
  const routes = sections.flatMap((section) => elementsOf(member(section, 'HttpRoutes')));
  const listed = routes.map((route) => [methodOf(route), String(member(route, 'path'))] as const);
  const width = Math.max(0, ...listed.map(([method]) => method.length));
  const base = `${api.server.url}${databasePath(database, '/route')}`;
  return listed.map(([method, path]) => `  ${method.padEnd(width)} ${base}${path}`);
}

function methodOf(route: JsonValue): string {
  const verb = member(member(route, 'method'), 'Method');
  if (verb === undefined) return 'ANY';
  const extension = member(verb, 'Extension');
  if (extension !== undefined) return String(extension);
  return standardMethods.find((name) => member(verb, name) !== undefined)?.toUpperCase() ?? 'ANY';
}

const standardMethods = [
  'Get',
  'Head',
  'Post',
  'Put',
  'Delete',
  'Connect',
  'Options',
  'Trace',
  'Patch',
];
