import { type LookupAddress, lookup } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { limits } from '../limits.ts';
import { type AddressKind, addressKind } from './address-rules.ts';
import { hasUser } from './issuer-name.ts';

/** Which addresses are allowed in addition to public ones. */
export interface FetchRules {
  readonly allowsLoopback: boolean;
  readonly allowsPrivate: boolean;
}

export interface Fetched {
  readonly document: unknown;
  /** Rules for addresses that the document names: see `narrowed`. */
  readonly following: FetchRules;
}

/**
 * Fetches a JSON document from an address that someone else chose. Only `https:` is allowed, and
 * `http:` on loopback. Each address that a host name resolves to is checked, in the same lookup
 * that the connection uses. Redirects keep the scheme and get the same checks. Bounded in total
 * time (`limits.issuerMillisMax`) and size (`limits.issuerDocumentBytesMax`, never decompressed).
 * Throws an `Error` that says what was wrong.
 */
export async function fetchJson(address: string, rules: FetchRules): Promise<Fetched> {
  const signal = AbortSignal.timeout(limits.issuerMillisMax);
  let url = new URL(address);
  let following = rules;
  for (let redirects = 0; redirects <= limits.issuerRedirectsMax; redirects += 1) {
    const response = await send(url, following, { signal });
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

/** A form for `postForm`: who sends it is in the headers, or in the form itself. */
export interface Form {
  readonly fields: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Sends a form and returns the JSON of the answer, with the checks and bounds of `fetchJson`, but
 * follows no redirect: a form has secrets. Throws an `Error` that has none of them.
 */
export async function postForm(address: string, form: Form, rules: FetchRules): Promise<unknown> {
  const url = new URL(address);
  const signal = AbortSignal.timeout(limits.issuerMillisMax);
  const body = new URLSearchParams({ ...form.fields }).toString();
  const headers = { ...form.headers, 'content-type': 'application/x-www-form-urlencoded' };
  const response = await send(url, rules, { signal, headers, body });
  const text = await bodyOf(response, url);
  if (response.statusCode === 200) return jsonIn(text, url);
  const [, code] = /"error"\s*:\s*"([\w.-]{1,64})"/.exec(text) ?? [];
  const why = code === undefined ? '' : ` (${code})`;
  throw new Error(`${url.origin}${url.pathname} answered ${response.statusCode}${why}`);
}

/** The parser's own message would show a part of the answer, which may be a secret. */
function jsonIn(text: string, url: URL): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${url.origin}${url.pathname} answered with something else than JSON`);
  }
}

/**
 * Lets only a server on loopback lead this process to loopback: an issuer elsewhere could otherwise
 * make the service send requests to local programs. Where private addresses are allowed, the
 * operator has named the issuer or trusts all issuers.
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

interface Sent {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent by POST; absent: a GET. */
  readonly body?: string;
}

function send(url: URL, rules: FetchRules, sent: Sent): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:';
  if (!isSecure && url.protocol !== 'http:') {
    throw new Error(`${url.href} is neither an https nor an http address`);
  }
  if (hasUser(url)) throw new Error(`the address of ${url.host} has a user or a password`);
  const isAllowed = (kind: AddressKind) =>
    kind === 'loopback'
      ? rules.allowsLoopback
      : (isSecure || rules.allowsPrivate) && (kind === 'public' || rules.allowsPrivate);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // A literal address is never looked up, so it is checked here.
  if (isIP(host) !== 0 && !isAllowed(addressKind(host))) throw refusedAddress(url, host);
  const request = isSecure ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const headers = {
      ...{ accept: 'application/json', 'accept-encoding': 'identity' },
      ...sent.headers,
    };
    const asked = request(url, {
      method: sent.body === undefined ? 'GET' : 'POST',
      headers,
      signal: sent.signal,
      agent: false,
      lookup: guardedLookup(url, isAllowed),
    });
    asked.once('response', resolve);
    // Stays attached, because an unhandled error would end the process.
    asked.on('error', reject);
    // Without a response, as after 101, no error is emitted either.
    asked.once('close', () => reject(new Error(`${url.href} closed without an answer`)));
    asked.end(sent.body);
  });
}

/**
 * Lookups in progress. The system gives up on a stranger's name server long after the request that
 * needed it has ended, so lookups have a bound of their own.
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
  return new Error(`${url.host} is at ${address}, which is not allowed`);
}

async function bodyOf(response: IncomingMessage, url: URL): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > limits.issuerDocumentBytesMax) {
      response.destroy();
      throw new Error(`${url.href} answered with more than ${limits.issuerDocumentBytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
