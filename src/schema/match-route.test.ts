import { describe, expect, it } from 'vitest';
import { moduleOf } from '../../test/schema/module-builder.ts';
import { matchRoute } from './match-route.ts';
import { validateModule } from './validate.ts';

/** A definition with these routes, each with a handler of its own: `GET /a` has `h0`. */
function definitionOf(routes: readonly string[]) {
  return validateModule(
    moduleOf([], {
      caseConversion: 'none',
      httpHandlers: routes.map((_, at) => `h${at}`),
      httpRoutes: routes.map((route, at) => {
        const [method = '', path = ''] = route.split(' ');
        return { handler: `h${at}`, method: method === 'ANY' ? undefined : method, path };
      }),
    }),
  );
}

/** The route that is found, with its parameters. */
function found(routes: readonly string[], request: string): string {
  const [method = '', path = ''] = request.split(' ');
  const segments = path.split('/').slice(1).map(decodeURIComponent);
  const whole = segments.map((segment) => `/${segment}`).join('');
  const match = matchRoute(definitionOf(routes), method, { whole, segments });
  if (match === undefined) return 'none';
  const params = match.params.map(([name, value]) => `${name}=${value}`);
  return [routes[Number(match.handler.slice(1))], ...params].join(' ');
}

describe('the route of a request', () => {
  it('[abi 9.3] is the first whose method and path are those of the request', () => {
    const routes = ['GET /a', 'POST /a', 'ANY /b', 'GET ', 'GET /'];
    expect(found(routes, 'GET /a')).toBe('GET /a');
    expect(found(routes, 'POST /a')).toBe('POST /a');
    expect(found(routes, 'PUT /a')).toBe('none');
    expect(found(routes, 'PROPFIND /b')).toBe('ANY /b');
    expect(found(routes, 'GET ')).toBe('GET ');
    expect(found(routes, 'GET /')).toBe('GET /');
    for (const path of ['//', '/a/', '//a', '/A', '/a//']) {
      expect(found(routes, `GET ${path}`), path).toBe('none');
    }
  });

  it('[living 3.1] is literal, else has parameters, else a rest, however they are declared', () => {
    const routes = ['ANY /*', 'GET /u/*', 'GET /u/:id', 'GET /:x/me', 'GET /u/me'];
    expect(found(routes, 'GET /u/me')).toBe('GET /u/me');
    expect(found(routes, 'GET /u/7')).toBe('GET /u/:id id=7');
    expect(found(routes, 'GET /v/me')).toBe('GET /:x/me x=v');
    // The method counts before that.
    expect(found(routes, 'POST /u/me')).toBe('ANY /* *=u/me');
    expect(found(['GET /:a/b', 'GET /a/:b'], 'GET /a/b')).toBe('GET /:a/b a=a');
    expect(found(['GET /a/*', 'GET /a/b/*'], 'GET /a/b/c')).toBe('GET /a/* *=b/c');
  });

  it('[living 3.1] has parameters of one segment that is not empty, decoded', () => {
    const routes = ['GET /u/:id', 'GET /u/:id/:sub'];
    expect(found(routes, 'GET /u/a%2Fb')).toBe('GET /u/:id id=a/b');
    expect(found(routes, 'GET /u/..')).toBe('GET /u/:id id=..');
    expect(found(routes, 'GET /u/%2F/x')).toBe('GET /u/:id/:sub id=/ sub=x');
    for (const path of ['/u', '/u/', '/u//', '/u//x', '/u/x/y/z']) {
      expect(found(routes, `GET ${path}`), path).toBe('none');
    }
  });

  it('[living 3.1] has any rest, an empty one too, behind its slash', () => {
    const routes = ['GET /f/:kind/*'];
    expect(found(routes, 'GET /f/a/')).toBe('GET /f/:kind/* kind=a *=');
    expect(found(routes, 'GET /f/a//b/')).toBe('GET /f/:kind/* kind=a *=/b/');
    expect(found(routes, 'GET /f/a')).toBe('none');
    expect(found(['GET /*'], 'GET ')).toBe('none');
    expect(found(['GET /*'], 'GET /')).toBe('GET /* *=');
  });
});
