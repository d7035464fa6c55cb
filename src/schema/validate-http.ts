import { limits } from '../limits.ts';
import type { HandlerAuth, HttpHandlerDefinition, HttpRouteDefinition } from './definition.ts';
import { Namespace } from './problems.ts';
import { isLiteralPath, patternFault, restSegment, shapeOf } from './route-path.ts';
import { canonicalFunctionName, type Scope } from './scope.ts';
import { nameFunction } from './validate-functions.ts';

export interface ValidHttp {
  readonly handlers: readonly HttpHandlerDefinition[];
  readonly routes: readonly HttpRouteDefinition[];
}

export function validateHttp(scope: Scope): ValidHttp {
  const names = new Namespace(scope.problems, (name) => {
    return `HTTP handler name ${name} is used for multiple HTTP handlers`;
  });
  const auth = validateAuth(scope);
  const handlers = scope.raw.httpHandlers.map((sourceName) => {
    const name = nameFunction(scope, sourceName, names);
    return { name, sourceName, auth: auth.get(sourceName) ?? 'none' };
  });
  return { handlers, routes: validateRoutes(scope) };
}

/** By the source name of a handler. */
function validateAuth({ raw, problems }: Scope): ReadonlyMap<string, HandlerAuth> {
  const declared = new Map<string, HandlerAuth>();
  for (const { handler, auth } of raw.handlerAuth) {
    if (!raw.httpHandlers.includes(handler)) {
      problems.report(`authentication is declared for the unknown HTTP handler \`${handler}\``);
    }
    if (declared.has(handler)) {
      problems.report(`authentication of HTTP handler \`${handler}\` is declared more than once`);
    }
    declared.set(handler, auth);
  }
  return declared;
}

function validateRoutes(scope: Scope): HttpRouteDefinition[] {
  const { raw, problems } = scope;
  const { httpRoutesMax } = limits;
  if (raw.httpRoutes.length > httpRoutesMax) {
    problems.report(
      `the module has ${raw.httpRoutes.length} HTTP routes, more than ${httpRoutesMax}`,
    );
  }
  const handlers = new Set(raw.httpHandlers);
  const methodsByShape = new Map<string, Set<string>>();
  return raw.httpRoutes.map(({ handler, method, path }) => {
    const fault = pathFault(path);
    if (fault !== undefined) problems.report(`HTTP route path \`${path}\` is invalid; ${fault}`);
    const shape = shapeOf(path);
    const methods = methodsByShape.get(shape) ?? new Set();
    methodsByShape.set(shape, methods);
    if (overlaps(methods, method)) {
      problems.report(`HTTP route duplicates method ${method ?? anyMethod} for path ${path}`);
    }
    methods.add(method ?? anyMethod);
    if (!handlers.has(handler)) {
      problems.report(`HTTP route refers to unknown HTTP handler \`${handler}\``);
    }
    return { handler: canonicalFunctionName(scope, handler), method, path };
  });
}

function pathFault(path: string): string | undefined {
  if (path.length > limits.httpRoutePathLengthMax) {
    return `it is longer than ${limits.httpRoutePathLengthMax} characters`;
  }
  if (isLiteralPath(path)) return undefined;
  if (path.includes(':') || path.includes(restSegment)) return patternFault(path);
  return 'allowed characters are ASCII lowercase letters, digits and `-_~/`';
}

/** Not the name of a method: those are upper case, or an extension that the module chooses. */
const anyMethod = 'Any';

function overlaps(taken: ReadonlySet<string>, method: string | undefined): boolean {
  if (method === undefined) return taken.size > 0;
  return taken.has(method) || taken.has(anyMethod);
}
