import { isLiteralPath, patternFault, restSegment, shapeOf } from '../schema/route-path.ts';
import type { HttpHandlerExport } from './functions.ts';

interface Route {
  /** `undefined` matches every method. */
  readonly method: string | undefined;
  readonly path: string;
  readonly handler: HttpHandlerExport<any, any, any>;
}

let readRoutes: (router: Router) => readonly Route[];

/**
 * Maps paths to handlers. Immutable: every method returns a new router. A segment of a path is
 * literal, or a parameter such as `:id`, which is then `request.params.id`; the last one can be
 * `*`, which stands for any rest, `request.params['*']`. Literal paths are found first, then those
 * with parameters, then those with `*`.
 *
 * @example
 * ```ts
 * const router = new Router().get('/board', board).get('/board/:row', board);
 * export const routes = db.httpRouter(router);
 * ```
 */
export class Router {
  readonly #routes: readonly Route[];

  constructor(routes: readonly Route[] = []) {
    this.#routes = routes;
  }

  get(path: string, handler: HttpHandlerExport<any, any, any>): Router {
    return this.#with('GET', path, handler);
  }

  head(path: string, handler: HttpHandlerExport<any, any, any>): Router {
    return this.#with('HEAD', path, handler);
  }

  options(path: string, handler: HttpHandlerExport<any, any, any>): Router {
    return this.#with('OPTIONS', path, handler);
  }

  put(path: string, handler: HttpHandlerExport<any, any, any>): Router {
    return this.#with('PUT', path, handler);
  }

  delete(path: string, handler: HttpHandlerExport<any, any, any>): Router {
    return this.#with('DELETE', path, handler);
  }

  post(path: string, handler: HttpHandlerExport<any, any, any>): Router {
    return this.#with('POST', path, handler);
  }

  patch(path: string, handler: HttpHandlerExport<any, any, any>): Router {
    return this.#with('PATCH', path, handler);
  }

  /** Adds a route for every method. */
  any(path: string, handler: HttpHandlerExport<any, any, any>): Router {
    return this.#with(undefined, path, handler);
  }

  /** Adds all routes of `router` below `prefix`. */
  nest(prefix: string, router: Router): Router {
    checkPath(prefix);
    if (this.#routes.some(({ path }) => shapeOf(path).startsWith(shapeOf(prefix)))) {
      throw new TypeError(
        `Cannot nest router at \`${prefix}\`; existing routes overlap with nested path`,
      );
    }
    const below = router.#routes.map((route) => ({ ...route, path: join(prefix, route.path) }));
    return this.merge(new Router(below));
  }

  /** A router with the routes of both. */
  merge(router: Router): Router {
    return router.#routes.reduce<Router>(
      (merged, { method, path, handler }) => merged.#with(method, path, handler),
      this,
    );
  }

  #with(
    method: string | undefined,
    path: string,
    handler: HttpHandlerExport<any, any, any>,
  ): Router {
    checkPath(path);
    const shape = shapeOf(path);
    const isTaken = this.#routes.some(
      (route) =>
        shapeOf(route.path) === shape &&
        (route.method === method || route.method === undefined || method === undefined),
    );
    if (isTaken) throw new TypeError(`Route conflict for \`${path}\``);
    return new Router([...this.#routes, { method, path, handler }]);
  }

  static {
    readRoutes = (router) => router.#routes;
  }
}

/** The routes in the order they were added. */
export function routesOf(router: Router): readonly Route[] {
  return readRoutes(router);
}

function checkPath(path: string): void {
  if (path !== '' && !path.startsWith('/')) {
    throw new TypeError(`Route paths must start with \`/\`: ${path}`);
  }
  if (isLiteralPath(path)) return;
  if (!path.includes(':') && !path.includes(restSegment)) {
    throw new TypeError(
      `Route paths may contain only ASCII lowercase letters, digits and \`-_~/\`: ${path}`,
    );
  }
  const fault = patternFault(path);
  if (fault !== undefined) throw new TypeError(`Route path \`${path}\` is invalid: ${fault}`);
}

function join(prefix: string, path: string): string {
  if (path === '') return prefix;
  return `${prefix.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`;
}
