import { revocableIds } from '../auth/claims.ts';
import type { LogStream } from '../host/databases/module-log.ts';
import { whenAborted } from '../mcp-protocol/abort.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import type { Exchange, Reply } from './exchange.ts';

/**
 * `GET /v1/database/:db/logs`: the module's log as JSON lines. A followed log ends when the service
 * stops, or when the caller loses the right to read it.
 */
export function logs(exchange: Exchange, { host, stopping }: HttpContext): Reply {
  const lines = exchange.query.count('num_lines');
  const follow = exchange.query.boolean('follow', false);
  const caller = callerOf(exchange);
  const database = host.database(targetOf(exchange));
  const stream = host.logs(caller, targetOf(exchange), { lines, follow, ofAllHosts: true });
  const end = () => {
    stopping.removeEventListener('abort', end);
    forgetLosses();
    forgetExpiry();
    void stream.return?.();
  };
  stopping.addEventListener('abort', end);
  const forgetLosses = host.grants.onLoss(() => {
    const isRevoked = revocableIds(caller).some((id) => host.grants.isRevoked(id));
    if (isRevoked || !host.access.allows(caller, database, 'viewLogs')) end();
  });
  const forgetExpiry = host.grants.whenExpired(caller, caller.tokenId, end);
  if (follow) whenAborted(exchange.abandoned, end);
  const headers = {
    'content-type': 'application/x-ndjson',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
  };
  return { status: 200, headers, body: streamOf(stream, end) };
}

/** Streams a log. `end` is called after the last line, or when the client stops reading. */
function streamOf(log: LogStream, end: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await log.next();
      if (done) {
        end();
        controller.close();
      } else {
        controller.enqueue(encoder.encode(value));
      }
    },
    cancel: end,
  });
}
