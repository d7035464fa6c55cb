import { extensionOf, mediaTypeOf } from '../host/sites/media-types.ts';
import type { ConsoleFolder } from './console-folder.ts';
import { type Exchange, empty, HttpError, type Reply, text } from './exchange.ts';
import { carriesHash, decodedPath } from './file-choice.ts';
import { acceptedEncodings, matchesTag, wantsPage } from './negotiation.ts';
import { checkPage } from './origin.ts';
import type { Route } from './route.ts';

/** To whom the console is served: everyone, clients on this machine, or nobody. */
export type ConsoleAudience = (typeof consoleAudiences)[number];

export const consoleAudiences = ['on', 'loopback', 'off'] as const;

/** What serving the console needs. */
export interface ConsoleContext {
  readonly console: ConsoleAudience;
  readonly consoleFolder: ConsoleFolder;
}

/** The pages of the console, and the way there from the root of the service. */
export function consoleRoutes(context: ConsoleContext): Route[] {
  const page = (exchange: Exchange) => consoleFile(exchange, context);
  const get = (run: (exchange: Exchange) => Promise<Reply> | Reply): Route['methods'] => ({
    GET: { token: 'none', run },
  });
  return [
    {
      path: '/',
      methods: {},
      // No page of another origin has anything to read here.
      cors: ({ method }, verdict) => {
        if (verdict.kind === 'refused') return checkPage(verdict);
        if (method === 'OPTIONS') return { kind: 'refused', reply: empty(404) };
        return { kind: 'allowed', headers: {} };
      },
      everyMethod: { token: 'none', run: (exchange) => fromRoot(exchange, context) },
    },
    { path: '/console', isBare: true, methods: get((exchange) => moved(exchange, context)) },
    { path: '/console/*', isBare: true, methods: get(page) },
  ];
}

/** Throws the response for a client to whom the console is not served. */
export function requireConsole(exchange: Exchange, { console }: ConsoleContext): void {
  if (isServedTo(exchange, console)) return;
  throw new HttpError(
    console === 'off' ? text(404, offText, safety) : text(403, elsewhereText, safety),
  );
}

const offText = 'The console of this service is off. Its operator can set console = "loopback".';

const elsewhereText =
  'The console is served on the machine of the service only, at a loopback address. For others, ' +
  'its operator can set console = "on".';

/** Clients on this machine are those of a loopback address that asked for a loopback host. */
function isServedTo({ isOnMachine }: Exchange, audience: ConsoleAudience): boolean {
  return audience === 'on' || (audience === 'loopback' && isOnMachine);
}

/** `/`: there is nothing but the way to the console, for those who show pages. */
async function fromRoot(
  exchange: Exchange,
  { console, consoleFolder }: ConsoleContext,
): Promise<Reply> {
  const reads = exchange.method === 'GET' || exchange.method === 'HEAD';
  const isVisit = reads && wantsPage(exchange.header('accept'));
  if (!isVisit || !isServedTo(exchange, console) || !(await consoleFolder.exists())) {
    return empty(404);
  }
  return empty(302, { location: '/console/', 'cache-control': 'no-cache', vary: 'accept' });
}

function moved(exchange: Exchange, context: ConsoleContext): Reply {
  requireConsole(exchange, context);
  return empty(302, { location: '/console/', 'cache-control': 'no-cache', ...safety });
}

/** Every page of the console is the same file; what it shows is up to the path. */
const pageFile = '/index.html';

async function consoleFile(exchange: Exchange, context: ConsoleContext): Promise<Reply> {
  requireConsole(exchange, context);
  const { consoleFolder } = context;
  if (!(await consoleFolder.exists())) return text(404, notBuiltText, safety);
  const path = decodedPath(exchange.path.slice('/console'.length));
  const isFile = path !== undefined && (await consoleFolder.has(path));
  const isPage = !isFile && path !== undefined && extensionOf(path) === '';
  const file = isFile ? path : isPage ? pageFile : undefined;
  const encodings = acceptedEncodings(exchange.header('accept-encoding'));
  const content = file === undefined ? undefined : await consoleFolder.read(file, encodings);
  if (file === undefined || content === undefined) {
    return text(404, 'There is no such file of the console', safety);
  }
  const headers: Record<string, string> = {
    ...safety,
    'content-type': mediaTypeOf(file),
    'cache-control': carriesHash(file) ? immutable : 'no-cache',
    vary: 'accept-encoding',
    etag: content.tag,
  };
  if (matchesTag(exchange.header('if-none-match'), content.tag)) return { status: 304, headers };
  if (content.encoding !== undefined) headers['content-encoding'] = content.encoding;
  headers['content-length'] = String(content.bytes.length);
  return { status: 200, headers, body: content.bytes };
}

const notBuiltText =
  'This package has no console: it was not built. Run `npm run build` in the source of ' +
  'reducerdb, or install a released package.';

const immutable = 'public, max-age=31536000, immutable';

const safety: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
