import type { IncomingMessage } from 'node:http';
import type { ClientAddresses } from '../auth/client-address.ts';
import { splitTarget } from '../doors/request-target.ts';
import type { HttpVersion } from '../protocol/http-abi.ts';
import type { HeaderLine, ReceivedHead } from './exchange.ts';

/** The head of a request as a handler of a module gets it. */
export function receivedHead(incoming: IncomingMessage, origin: string): ReceivedHead {
  const { path, search } = splitTarget(incoming.url);
  const headers = linesOf(incoming.rawHeaders);
  const version: HttpVersion = incoming.httpVersion === '1.0' ? 'HTTP/1.0' : 'HTTP/1.1';
  return { version, uri: `${origin}${path}${search}`, path, headers };
}

/** Scheme and authority by which a client has asked, such as `https://shop.example`. */
export function askedOrigin(incoming: IncomingMessage, addresses: ClientAddresses): string {
  const headers = linesOf(incoming.rawHeaders);
  const isToldHost = addresses.maySayHost(incoming.socket.remoteAddress ?? '');
  const forwarded = (name: string) => (isToldHost ? firstOf(headers, name) : undefined);
  const own = 'encrypted' in incoming.socket ? 'https' : 'http';
  const scheme = schemeIn(forwarded('x-forwarded-proto')) ?? own;
  const host = authorityIn(forwarded('x-forwarded-host')) ?? firstOf(headers, 'host') ?? '';
  return `${scheme}://${host}`;
}

/** `raw` holds names and values by turns, as Node gives them. */
function linesOf(raw: readonly string[]): HeaderLine[] {
  const lines: HeaderLine[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    lines.push([(raw[at] ?? '').toLowerCase(), raw[at + 1] ?? '']);
  }
  return lines;
}

/** The first value of the header, of those between commas. */
function firstOf(headers: readonly HeaderLine[], wanted: string): string | undefined {
  return headers
    .find(([name]) => name === wanted)?.[1]
    .split(',')[0]
    ?.trim();
}

function schemeIn(proto: string | undefined): string | undefined {
  const scheme = proto?.toLowerCase();
  return scheme === 'http' || scheme === 'https' ? scheme : undefined;
}

/** A host with its port, if the text is nothing else. */
function authorityIn(host: string | undefined): string | undefined {
  return host !== undefined && /^([\w.-]+|\[[\da-f:.]+\])(:\d+)?$/i.test(host) ? host : undefined;
}
