import type { Caller } from '../database/outcome.ts';
import {
  callHandler,
  type HandlerAnswer,
  handlerFailure,
  nobody,
  noRouteText,
} from '../doors/handler-call.ts';
import { pathBytesFault } from '../doors/request-faults.ts';
import { splitTarget } from '../doors/request-target.ts';
import type { DatabaseHandle } from '../host/supervision/database-handle.ts';
import { encodeHttpResponse } from '../protocol/http-abi.ts';
import { isReservedHeader } from '../protocol/response-headers.ts';
import { decodeResponse, encodeRequest } from '../server/http-heads.ts';
import { Request, SyncResponse } from '../server/http-messages.ts';

/** Where the requests of a test seem to go. */
const base = 'http://localhost/v1/database/test/route';

/**
 * Answers a request of a test as the service would; its address is what follows `/route`. `caller`:
 * who presents a token with it, for handlers that look at tokens.
 */
export async function answerRequest(
  handle: DatabaseHandle,
  request: Request,
  caller: Caller | undefined,
): Promise<SyncResponse> {
  const { headers, version } = request;
  const method = request.method.toUpperCase();
  const { path, search } = splitTarget(request.url);
  const received = new Request(base + path + search, { method, headers, version });
  const call = {
    method,
    // One character for each byte, as it would arrive.
    path: Buffer.from(path).toString('latin1'),
    callerFor: async (_handler: string, auth: 'optional' | 'required') => {
      if (caller === undefined && auth === 'required') throw new Unauthorized();
      return caller ?? nobody;
    },
    headFor: () => encodeRequest(received, undefined),
    body: async () => request.bytes(),
    client: 'test',
  };
  try {
    return responseOf(await callHandler(handle, call));
  } catch (error) {
    if (error instanceof Unauthorized) return plain(401, error.message);
    throw error;
  }
}

class Unauthorized extends Error {
  override readonly message = 'Authorization required';
}

function responseOf(answer: HandlerAnswer): SyncResponse {
  switch (answer.kind) {
    case 'badPath':
      return plain(400, pathBytesFault('path'));
    case 'noRoute':
      return plain(404, noRouteText);
    case 'failed': {
      const { status, text } = handlerFailure(answer.error);
      return plain(status, text);
    }
    case 'answered': {
      const { response, body } = answer;
      const headers = response.headers.filter(({ name }) => !isReservedHeader(name));
      return new SyncResponse(body, decodeResponse(encodeHttpResponse({ ...response, headers })));
    }
  }
}

function plain(status: number, text: string): SyncResponse {
  return new SyncResponse(text, { status, headers: { 'content-type': 'text/plain' } });
}
