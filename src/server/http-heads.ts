import {
  decodeHttpRequest,
  decodeHttpResponse,
  encodeHttpRequest,
  encodeHttpResponse,
  type HttpHeader,
  type HttpVersion as VersionText,
} from '../protocol/http-abi.ts';
import type { TimeDuration } from '../values/time-duration.ts';
import {
  Headers,
  type HttpVersion,
  Request,
  type ResponseInit,
  type SyncResponse,
} from './http-messages.ts';

const versionTexts: Readonly<Record<HttpVersion['tag'], VersionText>> = {
  Http09: 'HTTP/0.9',
  Http10: 'HTTP/1.0',
  Http11: 'HTTP/1.1',
  Http2: 'HTTP/2',
  Http3: 'HTTP/3',
};

/** The head of a request that the module sends. */
export function encodeRequest(request: Request, timeout: TimeDuration | undefined): Uint8Array {
  return encodeHttpRequest({
    method: request.method.toUpperCase(),
    headers: headersOf(request),
    timeoutMicros: timeout?.micros,
    uri: request.url,
    version: versionTexts[request.version.tag],
  });
}

/** The head of a response that the module gives; the host rejects what cannot be sent. */
export function encodeResponse(response: SyncResponse): Uint8Array {
  const code = response.status;
  if (!Number.isInteger(code) || code < 0 || code > 0xffff) {
    throw new RangeError(`the status of a response must be from 200 to 599, but is ${code}`);
  }
  return encodeHttpResponse({
    headers: headersOf(response),
    version: versionTexts[response.version.tag],
    code,
  });
}

/** A request that the host has received. */
export function decodeRequest(
  head: Uint8Array,
  body: Uint8Array,
  params: Readonly<Record<string, string>>,
): Request {
  const { method, headers, uri, version } = decodeHttpRequest(head);
  const init = {
    method,
    headers: pairsOf(headers),
    version: { tag: tagOf(version) },
    body,
    params,
  };
  return new Request(uri, init);
}

/** The head of a response that the host has received. */
export function decodeResponse(head: Uint8Array): ResponseInit {
  const { code, headers, version } = decodeHttpResponse(head);
  return { status: code, headers: pairsOf(headers), version: { tag: tagOf(version) } };
}

function headersOf({ headers }: Request | SyncResponse): HttpHeader[] {
  const encoder = new TextEncoder();
  return [...new Headers(headers)].map(([name, value]) => {
    return { name, value: encoder.encode(value) };
  });
}

function pairsOf(headers: readonly HttpHeader[]): (readonly [string, string])[] {
  const decoder = new TextDecoder();
  return headers.map(({ name, value }) => [name, decoder.decode(value)] as const);
}

function tagOf(version: VersionText): HttpVersion['tag'] {
  const found = Object.entries(versionTexts).find(([, text]) => text === version);
  return (found?.[0] ?? 'Http11') as HttpVersion['tag'];
}
