import {
  decodeHttpResponse,
  encodeHttpRequest,
  type HttpVersion as VersionText,
} from '../protocol/http-abi.ts';
import type { TimeDuration } from '../values/time-duration.ts';
import type { Bridge } from './bridge.ts';
import type { HttpClient } from './contexts.ts';
import {
  Headers,
  type HttpVersion,
  Request,
  type RequestInit,
  SyncResponse,
} from './http-messages.ts';

const versionTexts: Readonly<Record<HttpVersion['tag'], VersionText>> = {
  Http09: 'HTTP/0.9',
  Http10: 'HTTP/1.0',
  Http11: 'HTTP/1.1',
  Http2: 'HTTP/2',
  Http3: 'HTTP/3',
};

/** `ctx.http`: requests that wait for their response. */
export function httpClient(bridge: Bridge): HttpClient {
  return Object.freeze({
    fetch: (url: string, init: RequestInit & { readonly timeout?: TimeDuration } = {}) => {
      const request = new Request(String(url), init);
      const { sys } = bridge;
      const head = headOf(request, init.timeout);
      const body = request.bytes();
      bridge.begin();
      bridge.writer.raw(head);
      bridge.writer.raw(body);
      bridge.end();
      const headLength = sys.fetch(head.length, body.length);
      if (headLength < 0) throw bridge.failure(headLength);
      const reader = bridge.read(headLength + sys.result_bytes());
      const response = decodeHttpResponse(reader.raw(headLength).slice());
      const received = reader.raw(reader.remaining).slice();
      return new SyncResponse(received, {
        status: response.code,
        headers: response.headers.map(({ name, value }) => [name, decoded(value)] as const),
        version: { tag: tagOf(response.version) },
      });
    },
  });
}

function headOf(request: Request, timeout: TimeDuration | undefined): Uint8Array {
  const headers = [...new Headers(request.headers)].map(([name, value]) => {
    return { name, value: new TextEncoder().encode(value) };
  });
  return encodeHttpRequest({
    method: request.method.toUpperCase(),
    headers,
    timeoutMicros: timeout?.micros,
    uri: request.url,
    version: versionTexts[request.version.tag],
  });
}

function tagOf(version: VersionText): HttpVersion['tag'] {
  const found = Object.entries(versionTexts).find(([, text]) => text === version);
  return (found?.[0] ?? 'Http11') as HttpVersion['tag'];
}

function decoded(value: Uint8Array): string {
  return new TextDecoder().decode(value);
}
