/** Headers with the caller and the cost of a call, which pages of other origins can read. */
const exposed = [
  'spacetime-identity',
  'spacetime-identity-token',
  'spacetime-energy-used',
  'spacetime-execution-duration-micros',
  'reducerdb-error-place',
  'reducerdb-error-hint',
  'reducerdb-position',
  'reducerdb-offset',
  'reducerdb-role',
  'reducerdb-age-ms',
  'reducerdb-host',
  'reducerdb-leader',
].join(', ');

/** Lets any page read the response, because only the token it sends grants rights. */
export const openHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposed,
} as const;

/** The request headers that a response may depend on. */
export const varyHeaders = {
  vary: 'origin, access-control-request-method, access-control-request-headers',
} as const;

/**
 * Response headers that a module's handler cannot set. They act on the whole origin, which the
 * service shares among databases, or belong to the connection; others are for the service to set.
 */
const reservedHeaders: ReadonlySet<string> = new Set([
  'alt-svc',
  'clear-site-data',
  'content-security-policy',
  'nel',
  'report-to',
  'service-worker-allowed',
  'set-cookie',
  'spacetime-identity',
  'spacetime-identity-token',
  'strict-transport-security',
]);

/** Of headers that say something for the service: hosts of a cluster understand some. */
const ownPrefix = 'reducerdb-';

/** Proxies in front take these as orders: to send a file or a page of theirs instead. */
const proxyOrders = /^(?:x-accel-|x-sendfile$|x-lighttpd-send-|x-reproxy-|x-litespeed-)/;

/** True of a header that a proxy in front would obey, in lower case. */
export function isProxyOrder(name: string): boolean {
  return proxyOrders.test(name);
}

/** Left out without a word: requests that a handler passes on have them, too. */
const connectionHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** True of what a handler cannot set for lack of rights. */
export function isForbiddenHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return reservedHeaders.has(lower) || lower.startsWith(ownPrefix) || isProxyOrder(lower);
}

/** True of every header that is left out of a handler's response. */
export function isReservedHeader(name: string): boolean {
  return isForbiddenHeader(name) || connectionHeaders.has(name.toLowerCase());
}

/**
 * Headers of everything that a module answers: a page in it has an origin of its own, since what
 * publishers control must not act as the API or the console.
 */
export const isolatedHeaders = {
  'content-security-policy': 'sandbox allow-scripts allow-forms allow-popups',
  'x-content-type-options': 'nosniff',
} as const;
