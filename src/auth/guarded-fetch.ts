import { type LookupAddress, lookup } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { limits } from '../limits.ts';
import { type AddressKind, addressKind } from './address-rules.ts';
import { hasUser } from './issuer-name.ts';

/** Which addresses may be asked beside public ones. */
export interface FetchRules {
  readonly allowsLoopback: boolean;
  readonly allowsPrivate: boolean;
}

export interface Fetched {
  readonly document: unknown;
  /** Which addresses what the document names may have: see `narrowed`. */
  readonly following: FetchRules;
}

/**
 * Gets a JSON document from an address that somebody else chose. Asked are only `https:`, and
 * `http:` on loopback; a host name counts by each address that it resolves to, in the very look-up
 * that the connection uses. Redirects stay within the scheme and are checked alike. Bounded in time
 * (`limits.issuerMillisMax` for all of it) and size (`limits.issuerDocumentBytesMax`, of which
 * nothing is ever unpacked). Throws an `Error` that says what was wrong.
 */
export async function fetchJson(address: string, rules: FetchRules): Promise<Fetched> {
  const signal = AbortSignal.timeout(limits.issuerMillisMax);
  let url = new URL(address);
  let following = rules;
  for (let redirects = 0; redirects <= limits.issuerRedirectsMax; redirects += 1) {
    const response = await get(url, following, signal);
    following = narrowed(following, response.socket.remoteAddress);
    const { statusCode = 0, headers } = response;
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
      response.destroy();
      url = redirected(url, headers.location);
      continue;
    }
    if (statusCode !== 200) {
      response.destroy();
      throw new Error(`${url.href} answered ${statusCode}`);
    }
    return { document: JSON.parse(await bodyOf(response, url)), following };
  }
  throw new Error(`${address} redirects more than ${limits.issuerRedirectsMax} times`);
}

/**
 * Only what is on loopback itself may send this process to loopback: an issuer elsewhere would have
 * the service ask programs of its own machine. Where private addresses are allowed, the operator
 * has named the issuer or trusts them all.
 */
export function narrowed(rules: FetchRules, from: string | undefined): FetchRules {
  if (rules.allowsPrivate || addressKind(from ?? '') === 'loopback') return rules;
  return { ...rules, allowsLoopback: false };
}

function redirected(from: URL, location: string): URL {
  const to = new URL(location, from);
  if (to.protocol !== from.protocol) {
    throw new Error(`${from.href} redirects to another scheme`);
  }
  return to;
}

function get(url: URL, rules: FetchRules, signal: AbortSignal): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:';
  if (!isSecure && url.protocol !== 'http:') {
    throw new Error(`${url.href} is neither an https nor an http address`);
  }
  if (hasUser(url)) throw new Error(`${url.host} was to be asked with a user or a password`);
  const isAllowed = (kind: AddressKind) =>
    kind === 'loopback'
      ? rules.allowsLoopback
      : (isSecure || rules.allowsPrivate) && (kind === 'public' || rules.allowsPrivate);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // A literal address is never looked up, so it is judged here.
  if (isIP(host) !== 0 && !isAllowed(addressKind(host))) throw refusedAddress(url, host);
  const request = isSecure ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const headers = { accept: 'application/json', 'accept-encoding': 'identity' };
    const asked = request(url, {
      headers,
      signal,
      agent: false,
      lookup: guardedLookup(url, isAllowed),
    });
    asked.once('response', resolve);
    // Each time: what nobody listens to would end the process.
    asked.on('error', reject);
    // Without an answer, as after 101, there is no error either.
    asked.once('close', () => reject(new Error(`${url.href} closed without an answer`)));
    asked.end();
  });
}

/**
 * Look-ups in flight. The system gives up on a name server of a stranger long after the request
 * that asked for it, so they are bounded by themselves.
 */
let lookupCount = 0;

function guardedLookup(url: URL, isAllowed: (kind: AddressKind) => boolean): LookupFunction {
  return (host, options, done) => {
    if (lookupCount >= limits.issuerLookupsMax) {
      return done(new Error('too many names of issuers are being looked up'), []);
    }
    lookupCount += 1;
    lookup(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      lookupCount -= 1;
      if (error !== null) return done(error, []);
      const refused = addresses.find(({ address }) => !isAllowed(addressKind(address)));
      if (refused !== undefined) return done(refusedAddress(url, refused.address), []);
      const [first] = addresses;
      if (options.all === true || first === undefined) return done(null, addresses);
      done(null, first.address, first.family);
    });
  };
}

function refusedAddress(url: URL, address: string): Error {
  return new Error(`${url.host} is at ${address}, which may not be asked`);
}

async function bodyOf(response: IncomingMessage, url: URL): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > limits.issuerDocumentBytesMax) {
      response.destroy();
      throw new Error(`${url.href} answers with over ${limits.issuerDocumentBytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
