import { redirectModes } from '../protocol/module-abi.ts';
import type { TimeDuration } from '../values/time-duration.ts';
import type { Bridge } from './bridge.ts';
import type { FetchInit, HttpClient } from './contexts.ts';
import { decodeResponse, encodeRequest } from './http-heads.ts';
import { Request, type RequestInit, SyncResponse } from './http-messages.ts';
import { type Response, receivedResponse } from './response.ts';
import type { Completion, Operations, RunningCall } from './running-call.ts';

/** `ctx.http` of a call: requests that wait for their response. */
export function httpClient(bridge: Bridge, call: number): HttpClient {
  return Object.freeze({
    fetch: (url: string, init: RequestInit & { readonly timeout?: TimeDuration } = {}) => {
      const lengths = place(bridge, new Request(String(url), init), init.timeout);
      const headBytes = bridge.sys.fetch(...lengths, call);
      if (headBytes < 0) throw bridge.failure(headBytes);
      const [received, head] = taken(bridge, headBytes, bridge.sys.result_bytes());
      return new SyncResponse(received, head);
    },
  });
}

/** `ctx.fetch` of a call: a request whose response is awaited. */
export function fetchAsync(
  bridge: Bridge,
  operations: Operations,
  call: RunningCall,
  url: string | Request,
  init: FetchInit = {},
): Promise<Response> {
  const begin = (): number => {
    const redirect = redirectModes[init.redirect ?? 'follow'];
    if (redirect === undefined) {
      throw new TypeError(`redirect: ${init.redirect} is none of follow, error, manual`);
    }
    const [head, body] = place(bridge, requestOf(url, init), init.timeout);
    return bridge.sys.fetch_start(head, body, redirect, call.number);
  };
  const take = ({ headBytes, bodyBytes, url: from, isRedirected: redirected }: Completion) => {
    const [received, head] = taken(bridge, headBytes, bodyBytes);
    return receivedResponse(received, head, { url: from, redirected });
  };
  return operations.wait(call, init.signal, begin, take);
}

function requestOf(url: string | Request, init: FetchInit): Request {
  if (!(url instanceof Request)) return new Request(String(url), init);
  const { method, headers } = url;
  return new Request(url.url, { method, headers, body: url.bytes(), ...init });
}

/** Puts a request into the scratch; returns the lengths of its head and its body. */
function place(bridge: Bridge, request: Request, timeout: TimeDuration | undefined) {
  const head = encodeRequest(request, timeout);
  const body = request.bytes();
  bridge.begin();
  bridge.writer.raw(head);
  bridge.writer.raw(body);
  bridge.end();
  return [head.length, body.length] as const;
}

/** Takes a response out of the scratch. */
function taken(bridge: Bridge, headBytes: number, bodyBytes: number) {
  const reader = bridge.read(headBytes + bodyBytes);
  const init = decodeResponse(reader.raw(headBytes).slice());
  return [reader.raw(reader.remaining).slice(), init] as const;
}
