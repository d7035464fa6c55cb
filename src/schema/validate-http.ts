import type { HttpRouteDefinition, ModuleDefinition } from './definition.ts';
import { Namespace } from './problems.ts';
import { canonicalFunctionName, type Scope } from './scope.ts';
import { nameFunction } from './validate-functions.ts';

export interface ValidHttp {
  readonly handlers: ModuleDefinition['httpHandlers'];
  readonly routes: readonly HttpRouteDefinition[];
}

export function validateHttp(scope: Scope): ValidHttp {
  const names = new Namespace(scope.problems, (name) => {
    return `HTTP handler name ${name} is used for multiple HTTP handlers`;
  });
  const handlers = scope.raw.httpHandlers.map((sourceName) => {
    return { name: nameFunction(scope, sourceName, names), sourceName };
  });
  return { handlers, routes: validateRoutes(scope) };
}

function validateRoutes(scope: Scope): HttpRouteDefinition[] {
  const { raw, problems } = scope;
  const handlers = new Set(raw.httpHandlers);
  const methodsByPath = new Map<string, Set<string>>();
  return raw.httpRoutes.map(({ handler, method, path }) => {
    if (!routePath.test(path)) {
      const allowed = 'allowed characters are ASCII lowercase letters, digits and `-_~/`';
      problems.report(`HTTP route path \`${path}\` is invalid; ${allowed}`);
    }
    const methods = methodsByPath.get(path) ?? new Set();
    methodsByPath.set(path, methods);
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

/** Empty, or starting with `/`. */
const routePath = /^(\/[a-z0-9\-_~/]*)?$/;

/** Not the name of a method: those are upper case, or an extension that the module chooses. */
const anyMethod = 'Any';

function overlaps(taken: ReadonlySet<string>, method: string | undefined): boolean {
  if (method === undefined) return taken.size > 0;
  return taken.has(method) || taken.has(anyMethod);
}
