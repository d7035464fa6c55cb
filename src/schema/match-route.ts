import type { HttpRouteDefinition, ModuleDefinition } from './definition.ts';
import { isLiteralPath, parameterOf, restSegment } from './route-path.ts';

type PathParameter = readonly [name: string, value: string];

export interface RouteMatch {
  /** Canonical name of the handler. */
  readonly handler: string;
  /** In the order of the path; the rest that `*` stands for is named `*`. */
  readonly params: readonly PathParameter[];
}

/** The path of a request behind `/route`, percent-decoded: as a whole, and segment by segment. */
export interface RequestPath {
  readonly whole: string;
  /** Of a path that begins with `/`, what stands between its slashes; of an empty one, nothing. */
  readonly segments: readonly string[];
}

/**
 * Finds the route of a request: a literal one, else one with parameters, else one with a rest, and
 * of several the first in declared order.
 */
export function matchRoute(
  definition: ModuleDefinition,
  method: string,
  path: RequestPath,
): RouteMatch | undefined {
  const { literal, patterns } = sortedRoutes(definition);
  const isMethod = (route: HttpRouteDefinition) =>
    route.method === undefined || route.method === method;
  const exact = literal.get(path.whole)?.find(isMethod);
  if (exact !== undefined) return { handler: exact.handler, params: [] };
  for (const { route, parts } of patterns) {
    const params = isMethod(route) ? paramsOf(parts, path.segments) : undefined;
    if (params !== undefined) return { handler: route.handler, params };
  }
  return undefined;
}

interface Pattern {
  readonly route: HttpRouteDefinition;
  readonly parts: readonly Part[];
}

type Part =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'parameter'; readonly name: string }
  | { readonly kind: 'rest' };

interface SortedRoutes {
  readonly literal: ReadonlyMap<string, readonly HttpRouteDefinition[]>;
  /** Those with parameters alone come first. */
  readonly patterns: readonly Pattern[];
}

const known = new WeakMap<ModuleDefinition, SortedRoutes>();

function sortedRoutes(definition: ModuleDefinition): SortedRoutes {
  const found = known.get(definition) ?? sort(definition.httpRoutes);
  known.set(definition, found);
  return found;
}

function sort(routes: readonly HttpRouteDefinition[]): SortedRoutes {
  const literal = new Map<string, HttpRouteDefinition[]>();
  const withParameters: Pattern[] = [];
  const withRest: Pattern[] = [];
  for (const route of routes) {
    if (isLiteralPath(route.path)) {
      const same = literal.get(route.path) ?? [];
      literal.set(route.path, same);
      same.push(route);
      continue;
    }
    const parts = route.path.slice(1).split('/').map(partOf);
    const hasRest = parts.at(-1)?.kind === 'rest';
    (hasRest ? withRest : withParameters).push({ route, parts });
  }
  return { literal, patterns: [...withParameters, ...withRest] };
}

function partOf(segment: string): Part {
  if (segment === restSegment) return { kind: 'rest' };
  const name = parameterOf(segment);
  return name === undefined ? { kind: 'literal', text: segment } : { kind: 'parameter', name };
}

/** A parameter stands for one segment that is not empty. */
function paramsOf(
  parts: readonly Part[],
  segments: readonly string[],
): readonly PathParameter[] | undefined {
  const hasRest = parts.at(-1)?.kind === 'rest';
  if (hasRest ? segments.length < parts.length : segments.length !== parts.length) return undefined;
  const params: PathParameter[] = [];
  for (const [at, part] of parts.entries()) {
    const segment = segments[at] ?? '';
    switch (part.kind) {
      case 'literal':
        if (segment !== part.text) return undefined;
        break;
      case 'parameter':
        if (segment === '') return undefined;
        params.push([part.name, segment]);
        break;
      case 'rest':
        params.push([restSegment, segments.slice(at).join('/')]);
    }
  }
  return params;
}
