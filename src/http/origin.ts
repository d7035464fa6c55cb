import {
  isLoopbackAddress,
  judgePage,
  type PageRules,
  type PageVerdict,
} from '../auth/page-rules.ts';
import { rpcCode } from '../mcp-protocol/rpc-error.ts';
import { openHeaders, varyHeaders } from '../protocol/response-headers.ts';
import { type Exchange, text } from './exchange.ts';
import type { CorsAnswer } from './route.ts';

/** What is known of the origin of a request. */
export type Asking = Pick<Exchange, 'method' | 'header' | 'localAddress'>;

export function verdictOn(request: Asking, rules: PageRules): PageVerdict {
  const { localAddress } = request;
  const host = request.header('host');
  return judgePage({ localAddress, host, origin: request.header('origin') }, rules);
}

/** Guards every path. Any page can read an allowed response, because only a token grants rights. */
export function checkPage(verdict: PageVerdict): CorsAnswer {
  if (verdict.kind === 'allowed') return { kind: 'allowed', headers: openHeaders };
  return { kind: 'refused', reply: text(403, verdict.text, varyHeaders) };
}

/**
 * Guards the MCP endpoints: even off loopback, a page must be known or of the service's own host.
 * The error texts and their form are those of the protocol.
 */
export function checkOrigin(request: Asking, rules: PageRules): CorsAnswer {
  const isNameless = request.header('host') === undefined;
  if (isNameless && isLoopbackAddress(request.localAddress)) return refused(messages.host);
  const verdict = verdictOn(request, rules);
  if (verdict.kind === 'refused') return refused(messages[verdict.fault]);
  if (verdict.sender === 'stranger') return refused(messages.origin);
  const origin = request.header('origin');
  if (origin === undefined) return { kind: 'allowed', headers: {} };
  return { kind: 'allowed', headers: corsHeaders(request, origin) };
}

const messages = { host: 'Host not allowed', origin: 'Origin not allowed' };
/** The longest time that Chrome caches a preflight. */
const preflightSeconds = 7_200;

const allowedHeaders = [
  'authorization',
  'accept',
  'content-type',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
  'last-event-id',
];

const exposedHeaders = [
  'mcp-session-id',
  'mcp-protocol-version',
  'www-authenticate',
  'spacetime-identity',
  'spacetime-identity-token',
].join(', ');

function corsHeaders(request: Asking, origin: string): Record<string, string> {
  const headers = {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposedHeaders,
  };
  if (request.method !== 'OPTIONS') return headers;
  return {
    ...headers,
    'access-control-allow-headers': [...allowedHeaders, ...parameterHeaders(request)].join(', '),
    'access-control-max-age': String(preflightSeconds),
  };
}

/** Allows all argument headers that are asked for: their names depend on the tools. */
function parameterHeaders(request: Asking): string[] {
  const asked = request.header('access-control-request-headers')?.split(',') ?? [];
  return asked.map((name) => name.trim()).filter((name) => /^mcp-param-[\w-]+$/i.test(name));
}

function refused(message: string): CorsAnswer {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code: rpcCode.invalidRequest, message } });
  const headers = { 'content-type': 'application/json', ...varyHeaders };
  return { kind: 'refused', reply: { status: 403, headers, body } };
}
