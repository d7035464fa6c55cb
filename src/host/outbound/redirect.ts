import type { Hop } from './send-request.ts';

/** Headers that are for one origin alone. */
const secretHeaders = ['authorization', 'cookie', 'cookie2', 'proxy-authorization'];

/** Headers that describe a body. */
const bodyHeaders = ['content-encoding', 'content-language', 'content-location', 'content-type'];

/**
 * Returns the request that follows from a redirect, as browsers do it: after 303, and after 301 or
 * 302 to a POST, it is a GET without a body. `undefined`: the response is not a redirect.
 */
export function redirected(
  hop: Hop,
  status: number,
  location: string | undefined,
): Hop | undefined {
  const isRedirect = [301, 302, 303, 307, 308].includes(status);
  if (!isRedirect || location === undefined) return undefined;
  // The platform reads each byte of a header as one character; servers write UTF-8.
  const place = Buffer.from(location, 'latin1').toString('utf8');
  if (!URL.canParse(place, hop.url.href)) return undefined;
  const url = new URL(place, hop.url);
  // What follows the hash is for the client alone.
  url.hash = '';
  const becomesGet =
    (status === 303 && hop.method !== 'HEAD') || (status < 303 && hop.method === 'POST');
  const dropped = [
    ...(url.origin === hop.url.origin ? [] : secretHeaders),
    ...(becomesGet ? bodyHeaders : []),
  ];
  return {
    url,
    method: becomesGet ? 'GET' : hop.method,
    headers: hop.headers.filter(({ name }) => !dropped.includes(name.toLowerCase())),
    body: becomesGet ? new Uint8Array() : hop.body,
  };
}
