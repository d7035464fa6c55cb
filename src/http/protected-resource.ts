import type { PageRules } from '../auth/page-rules.ts';
import { openHeaders } from '../protocol/response-headers.ts';
import { type Exchange, empty, json, type Reply, text } from './exchange.ts';
import { checkPage, verdictOn } from './origin.ts';
import type { CorsAnswer, Route, TokenFault } from './route.ts';

/** Where users of MCP clients log in. */
export interface LoginRules {
  /** Issuers accepted by the operator beside the service itself; none: users cannot log in. */
  readonly issuers: readonly string[];
  /** Public address, such as `https://db.example.com`; absent: taken from the `Host` header. */
  readonly publicUrl: string | undefined;
  /** Scheme of the service itself; a proxy in front of it can use another. */
  readonly scheme: 'http' | 'https';
  /** Whether MCP requires a token. */
  readonly isRequired: boolean;
}

/** The MCP endpoints, which OAuth calls resources. */
export const mcpPaths = ['/v1/mcp', '/v1/database/:db/mcp'] as const;

const wellKnown = '/.well-known/oauth-protected-resource';

/**
 * Serves the metadata of the protected resources (RFC 9728): one document for the whole service,
 * and one for each MCP endpoint, whose path follows the well-known one. The documents do not reveal
 * whether a database exists. Without issuers they do not exist.
 */
export function protectedResourceRoutes(rules: LoginRules, pages: PageRules): Route[] {
  return ['', ...mcpPaths].map((path) => ({
    path: wellKnown + path,
    cors: (exchange) => {
      const answer = checkPage(verdictOn(exchange, pages));
      return answer.kind === 'allowed' ? openToClients : answer;
    },
    methods: { GET: { token: 'none', run: (exchange) => metadata(exchange, path, rules) } },
  }));
}

/** Any page can read them, and clients send their MCP revision with each request. */
const openToClients: CorsAnswer = {
  kind: 'allowed',
  headers: {
    ...openHeaders,
    'access-control-allow-headers': 'authorization, accept, content-type, mcp-protocol-version',
  },
};

function metadata(exchange: Exchange, path: string, rules: LoginRules): Reply {
  if (rules.issuers.length === 0) return empty(404);
  const base = baseOf(exchange, rules);
  if (base === undefined) return text(400, 'Invalid Host header');
  const document = {
    resource: base + filled(exchange, path),
    authorization_servers: rules.issuers,
    bearer_methods_supported: ['header'],
    resource_name: 'reducerdb',
  };
  return json(200, JSON.stringify(document));
}

/**
 * Returns the `WWW-Authenticate` header of a 401 from the MCP endpoint at this path: the fault of
 * the token, if one was sent, and the address of the metadata.
 */
export function challenge(
  exchange: Exchange,
  path: string,
  { rules, fault }: { readonly rules: LoginRules; readonly fault: TokenFault },
): string {
  const base = rules.issuers.length === 0 ? undefined : baseOf(exchange, rules);
  const parameters = [
    ...(fault === 'invalid' ? ['error="invalid_token"'] : []),
    ...(base === undefined
      ? []
      : [`resource_metadata="${base}${wellKnown}${filled(exchange, path)}"`]),
  ];
  return `Bearer ${parameters.join(', ')}`.trim();
}

/** Returns the path of this request's endpoint, with its database as written in a URL. */
function filled({ params }: Exchange, path: string): string {
  return path.replace(':db', encodeURIComponent(params.db ?? ''));
}

/** Returns `undefined` for a `Host` that is neither a name nor an address. */
function baseOf(exchange: Exchange, { publicUrl, scheme }: LoginRules): string | undefined {
  if (publicUrl !== undefined) return publicUrl;
  const host = exchange.header('host') ?? '';
  return /^[\w.:[\]-]+$/.test(host) ? `${scheme}://${host}` : undefined;
}
