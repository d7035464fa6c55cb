import type { PageRules } from '../auth/page-rules.ts';
import { openHeaders } from '../protocol/response-headers.ts';
import { type Exchange, empty, json, type Reply, text } from './exchange.ts';
import { checkPage, verdictOn } from './origin.ts';
import type { CorsAnswer, Route, TokenFault } from './route.ts';

/** How MCP clients learn where their users log in. */
export interface LoginRules {
  /** Whose tokens the operator accepts beside the service's own; none: there is nowhere to go. */
  readonly issuers: readonly string[];
  /** Where clients reach the service, as `https://db.example.com`; absent: as their `Host` says. */
  readonly publicUrl: string | undefined;
  /** Of the service itself: a proxy may speak another one with its clients. */
  readonly scheme: 'http' | 'https';
  /** True: MCP is only for callers with a token. */
  readonly isRequired: boolean;
}

/** The MCP endpoints, which are resources in the words of OAuth. */
export const mcpPaths = ['/v1/mcp', '/v1/database/:db/mcp'] as const;

const wellKnown = '/.well-known/oauth-protected-resource';

/**
 * Metadata of the protected resources (RFC 9728): one document for the service as a whole, and one
 * for each MCP endpoint, whose path stands behind the well-known one. Whether a database exists is
 * not told. Without issuers there are no such documents.
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

/** Any page may read them, and clients name their revision of MCP with each request. */
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
 * The `WWW-Authenticate` header of a 401 from the MCP endpoint at this path: what is wrong with the
 * token that was sent, if one was, and where a client reads on.
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

/** The path of this request's endpoint, with its database as a URL has it. */
function filled({ params }: Exchange, path: string): string {
  return path.replace(':db', encodeURIComponent(params.db ?? ''));
}

/** `undefined` for a `Host` that is no name, nor an address. */
function baseOf(exchange: Exchange, { publicUrl, scheme }: LoginRules): string | undefined {
  if (publicUrl !== undefined) return publicUrl;
  const host = exchange.header('host') ?? '';
  return /^[\w.:[\]-]+$/.test(host) ? `${scheme}://${host}` : undefined;
}
