import { present } from '../assert.ts';
import type { Host } from '../host/host.ts';
import { parseTarget } from '../host/registry/names.ts';
import type { SiteEncoding } from '../host/sites/compress-file.ts';
import { mediaTypeOf, shrinks } from '../host/sites/media-types.ts';
import { databasePath, type SiteFile } from '../host/sites/site-set.ts';
import type { SiteContent } from '../host/sites/sites.ts';
import { limits } from '../limits.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { type AppPlaces, appOrigin } from './app-places.ts';
import { type Exchange, json, type Reply, text } from './exchange.ts';
import { carriesHash, chooseFile, decodedPath } from './file-choice.ts';
import { acceptedEncodings, matchesTag, rangeOf, wantsPage } from './negotiation.ts';
import type { Route } from './route.ts';

export interface AppContext {
  readonly host: Host;
  readonly places: AppPlaces;
  readonly nowMillis: () => number;
}

/** The path of the route for hosts of apps. No request has it: it is not one that HTTP can send. */
export const appPath = '/\u0000app';

/** Answers requests at the host of an app that are not for the API. */
export function appRoute(context: AppContext): Route {
  return {
    path: appPath,
    label: 'app',
    isBare: true,
    cors: () => ({ kind: 'allowed', headers: {} }),
    methods: { GET: { token: 'none', run: (exchange) => atOwnHost(exchange, context) } },
  };
}

/** `/app/:db/…` of the service's own hosts. */
export function appPathRoutes(context: AppContext): Route[] {
  const run = (exchange: Exchange) => belowService(exchange, context);
  return ['/app/:db', '/app/:db/*'].map((path) => ({
    path,
    isBare: true,
    methods: { GET: { token: 'none', run } },
  }));
}

function atOwnHost(exchange: Exchange, context: AppContext): Promise<Reply> | Reply {
  const target = present(exchange.app, 'the database of the host');
  if (parseTarget(target).kind === 'invalid') return text(404, 'There is no such app', noSniff);
  return answer({ exchange, context, target, path: exchange.path, base: '', hasRules: true });
}

/**
 * Sends visitors to the app's own host. Without one the files are served here, in a sandbox: a page
 * that a publisher controls must not have the origin of the service.
 */
async function belowService(exchange: Exchange, context: AppContext): Promise<Reply> {
  const target = exchange.params.db ?? '';
  const base = exchange.path.split('/', 3).join('/');
  const path = exchange.path.slice(base.length);
  const { name } = context.host.appOf(target);
  const host = exchange.header('host');
  const origin = name === undefined ? undefined : appOrigin(context.places, name, host);
  if (origin !== undefined && path !== databasePath) {
    return moved(`${origin}${path === '' ? '/' : path}`, exchange);
  }
  if (path === '') return moved(`${base}/`, exchange);
  const reply = await answer({ exchange, context, target, path, base, hasRules: false });
  return { ...reply, headers: { ...reply.headers, 'content-security-policy': sandbox } };
}

const sandbox = 'sandbox allow-scripts allow-forms allow-popups';

/** The target is as it was sent: percent-encoded, but for bytes that no header can have. */
function moved(where: string, { search }: Exchange): Reply {
  const location = `${where}${search}`.replace(/[^!-~]/g, (char) => {
    return `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return text(307, '', { location, 'cache-control': 'no-cache', ...noSniff });
}

const noSniff = { 'x-content-type-options': 'nosniff' };

interface Asked {
  readonly exchange: Exchange;
  readonly context: AppContext;
  readonly target: string;
  /** As it was sent, below `base`. */
  readonly path: string;
  readonly base: string;
  /** Whether the rules of `_headers` hold: at the app's own host alone. */
  readonly hasRules: boolean;
}

async function answer({ exchange, context, target, path, base, hasRules }: Asked): Promise<Reply> {
  const { host, nowMillis } = context;
  const { identity } = host.appOf(target);
  if (path === databasePath) return databaseReply(target, identity);
  host.sites.count(identity, { requests: 1 });
  const site = await host.sites.served(identity);
  if (site.setId === undefined) return text(404, noFilesText(target), noSniff);
  const asked = { wantsPage: wantsPage(exchange.header('accept')), nowMillis: nowMillis() };
  const choice = chooseFile(site, path, asked);
  if (choice.kind === 'folder') return moved(`${base}${path}/`, exchange);
  if (choice.kind === 'none') return text(404, 'There is no such file', noSniff);
  const rules = hasRules ? site.rules.headersFor(decodedPath(path) ?? '') : new Map();
  const served: Served = { host, identity, file: choice.file, status: choice.status };
  return (await fileReply(exchange, served, rules)) ?? text(404, 'The file is gone', noSniff);
}

function noFilesText(target: string): string {
  return (
    `The database ${target} has no static files. Publish some: ` +
    `reducerdb publish ${target} --static <folder>`
  );
}

/** `GET /.reducerdb.json`: where a page finds its database. The address is relative to this one. */
function databaseReply(target: string, identity: DatabaseIdentity): Reply {
  const isName = parseTarget(target).kind === 'name';
  const hex = identityToHex(identity);
  const found = { database: isName ? target : hex, identity: hex, url: '/' };
  return json(200, JSON.stringify(found), { 'cache-control': 'no-cache', ...noSniff });
}

interface Served {
  readonly host: Host;
  readonly identity: DatabaseIdentity;
  readonly file: SiteFile;
  readonly status: 200 | 404;
}

/** `undefined`: the content went away in this moment. */
async function fileReply(
  exchange: Exchange,
  served: Served,
  rules: ReadonlyMap<string, string>,
): Promise<Reply | undefined> {
  const { file, status } = served;
  const range = status === 200 ? exchange.header('range') : undefined;
  // Parts are of the file as it is: a part of a compressed form would be of no use.
  const encodings =
    range === undefined ? acceptedEncodings(exchange.header('accept-encoding')) : [];
  const form = await bestForm(served, encodings);
  if (form === undefined) return undefined;
  const { content, encoding } = form;
  const tag = `"${file.hash.slice(0, 32)}${encoding === undefined ? '' : `-${encoding}`}"`;
  const headers: Record<string, string> = {
    'content-type': mediaTypeOf(file.path),
    'cache-control': status === 200 && carriesHash(file.path) ? immutable : 'no-cache',
    ...Object.fromEntries(rules),
    ...(shrinks(file.path) && { vary: 'accept-encoding' }),
    etag: tag,
    'accept-ranges': 'bytes',
    ...noSniff,
  };
  if (status === 200 && matchesTag(exchange.header('if-none-match'), tag)) {
    return { status: 304, headers };
  }
  if (encoding !== undefined) headers['content-encoding'] = encoding;
  const condition = exchange.header('if-range');
  const isSame = condition === undefined || condition.trim() === tag;
  const part = rangeOf(isSame ? range : undefined, content.bytes);
  switch (part.kind) {
    case 'unsatisfiable':
      return { status: 416, headers: { ...headers, 'content-range': `bytes */${content.bytes}` } };
    case 'part':
      headers['content-range'] = `bytes ${part.from}-${part.to}/${content.bytes}`;
      return bodyReply(served, { status: 206, headers, content, ...part });
    case 'whole':
      return bodyReply(served, { status, headers, content, from: 0, to: content.bytes - 1 });
  }
}

const immutable = 'public, max-age=31536000, immutable';

async function bestForm({ host, identity, file }: Served, encodings: readonly SiteEncoding[]) {
  for (const encoding of [...(shrinks(file.path) ? encodings : []), undefined]) {
    const content = await host.sites.content(identity, file.hash, encoding);
    if (content !== undefined) return { content, encoding };
  }
  return undefined;
}

interface Part {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly content: SiteContent;
  readonly from: number;
  readonly to: number;
}

/** Sends a small file at once, and a large one in pieces, as fast as the client takes them. */
async function bodyReply(
  { host, identity }: Served,
  { status, headers, content, from, to }: Part,
): Promise<Reply> {
  const length = to - from + 1;
  headers['content-length'] = String(length);
  const read = async (at: number) => {
    const piece = await content.slice(at, Math.min(limits.sitePieceBytes, to + 1 - at));
    host.sites.count(identity, { bytes: piece.length });
    return piece;
  };
  if (length <= limits.sitePieceBytes) return { status, headers, body: await read(from) };
  let at = from;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await read(at);
        if (piece.length === 0) throw new Error('a static file has become shorter');
        at += piece.length;
        controller.enqueue(piece);
        if (at > to) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { status, headers, body, heldBytes: Math.min(length, limits.siteAnswerHeldBytesMax) };
}
