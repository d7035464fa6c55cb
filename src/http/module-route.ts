import type { Caller } from '../database/outcome.ts';
import {
  callHandler,
  type HandlerAnswer,
  handlerFailure,
  nobody,
  noRouteText,
} from '../doors/handler-call.ts';
import { pathBytesFault } from '../doors/request-faults.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import { encodeHttpRequest } from '../protocol/http-abi.ts';
import { isolatedHeaders, isReservedHeader } from '../protocol/response-headers.ts';
import type { HandlerAuth } from '../schema/definition.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, type HeaderLine, type Reply, text } from './exchange.ts';

/** `/v1/database/:db/route…`, with any method: a handler of the module answers. */
export async function moduleRoute(exchange: Exchange, context: HttpContext): Promise<Reply> {
  const database = context.host.database(targetOf(exchange));
  const answer = await callHandler(database.handle, {
    method: exchange.method,
    path: pathBehindRoute(exchange.received.path),
    callerFor: (handler, auth) => settledCaller(exchange, context, database, { handler, auth }),
    headFor: (auth) => headOf(exchange, auth),
    body: () => exchange.body(context.handlerBodyBytesMax),
    client: exchange.clientNetwork,
    signal: exchange.abandoned,
  });
  return replyOf(answer);
}

/** The segments of `/v1/database/:db/route`, and the empty one before them. */
const segmentsBefore = 5;

function pathBehindRoute(path: string): string {
  const segments = path.split('/').slice(segmentsBefore);
  return segments.map((segment) => `/${segment}`).join('');
}

async function settledCaller(
  exchange: Exchange,
  { host }: HttpContext,
  database: HostedDatabase,
  { handler, auth }: { readonly handler: string; readonly auth: 'optional' | 'required' },
): Promise<Caller> {
  await exchange.settleCaller(auth);
  if (exchange.caller === undefined) return nobody;
  const caller = callerOf(exchange);
  host.access.requireHandler(caller, database, handler);
  return host.callerFor(caller, database);
}

/** A token that was checked is withheld: it would let the module act as its caller elsewhere. */
function headOf({ method, received }: Exchange, auth: HandlerAuth): Uint8Array {
  const isShown = (name: string) => auth === 'none' || name !== 'authorization';
  return encodeHttpRequest({
    method,
    headers: received.headers.flatMap(([name, value]) => {
      return isShown(name) ? [{ name, value: Buffer.from(value, 'latin1') }] : [];
    }),
    timeoutMicros: undefined,
    uri: received.uri,
    version: received.version,
  });
}

function replyOf(answer: HandlerAnswer): Reply {
  switch (answer.kind) {
    case 'badPath':
      return text(400, pathBytesFault('path'));
    case 'noRoute':
      return text(404, noRouteText);
    case 'failed': {
      const { status, text: words, isPassing } = handlerFailure(answer.error);
      const retry: Record<string, string> = isPassing ? { 'retry-after': '1' } : {};
      return text(status, words, { ...isolatedHeaders, ...retry });
    }
    case 'answered': {
      const { response, body } = answer;
      const lines = response.headers.flatMap(({ name, value }): HeaderLine[] => {
        return isReservedHeader(name) ? [] : [[name, Buffer.from(value).toString('latin1')]];
      });
      return { status: response.code, headers: isolatedHeaders, lines, body };
    }
  }
}
