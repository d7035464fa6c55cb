import { rpcCode } from '../mcp-protocol/rpc-error.ts';
import { varyHeaders } from '../protocol/response-headers.ts';
import type { Exchange } from './exchange.ts';
import type { CorsAnswer } from './route.ts';

/** Hosts and origins that the operator accepts besides the loopback ones. */
export interface OriginRules {
  /** Host names as a `Host` header names them, without a port. */
  readonly hosts: readonly string[];
  /** Origins as a browser sends them, such as `https://app.example.com`. */
  readonly origins: readonly string[];
}

/** What there is to know of where a request comes from. */
export type Provenance = Pick<Exchange, 'method' | 'header' | 'localAddress'>;

/**
 * Guards the MCP endpoints against pages that a browser on this machine shows: a rebinding attack
 * sends the attacker's name as `Host` and `Origin`, so on a loopback connection only loopback names
 * pass. A request without an `Origin` comes from a program, not from a page.
 */
export function checkOrigin(request: Provenance, rules: OriginRules): CorsAnswer {
  const isLocal = isLoopbackAddress(request.localAddress);
  const host = request.header('host')?.toLowerCase() ?? '';
  if (isLocal && !isLoopbackName(hostName(host)) && !rules.hosts.includes(hostName(host))) {
    return refused('Host not allowed');
  }
  const origin = request.header('origin');
  if (origin === undefined) return { kind: 'allowed', headers: {} };
  if (!isAcceptedOrigin(origin, host, isLocal, rules)) return refused('Origin not allowed');
  return { kind: 'allowed', headers: corsHeaders(request, origin) };
}

function isAcceptedOrigin(
  origin: string,
  host: string,
  isLocal: boolean,
  rules: OriginRules,
): boolean {
  if (rules.origins.includes(origin)) return true;
  const [, scheme = '', authority] = /^([a-z][a-z\d+.-]*):\/\/([^/]+)$/.exec(origin) ?? [];
  if (authority === undefined) return false;
  // Windows of programs that are written like pages have schemes of their own.
  if (isLocal && isLoopbackName(hostName(authority))) return true;
  return /^https?$/.test(scheme) && authority === host;
}

/** The most that Chrome heeds: for so long it does not ask again. */
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

function corsHeaders(request: Provenance, origin: string): Record<string, string> {
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

/** Which headers carry arguments is up to the tools: those that are asked for are allowed. */
function parameterHeaders(request: Provenance): string[] {
  const asked = request.header('access-control-request-headers')?.split(',') ?? [];
  return asked.map((name) => name.trim()).filter((name) => /^mcp-param-[\w-]+$/i.test(name));
}

function refused(message: string): CorsAnswer {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code: rpcCode.invalidRequest, message } });
  const headers = { 'content-type': 'application/json', ...varyHeaders };
  return { kind: 'refused', reply: { status: 403, headers, body } };
}

function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address);
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '127.0.0.1' || name === '[::1]';
}

/** The name or address of an authority, without its port. */
function hostName(authority: string): string {
  return authority.replace(/:\d+$/, '');
}
