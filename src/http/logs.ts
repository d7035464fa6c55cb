import type { LogStream } from '../host/host-types.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import type { Exchange, Reply } from './exchange.ts';

/** `GET /v1/database/:db/logs`: the module's log as JSON lines, for the owner. */
export function logs(exchange: Exchange, { host, stopping }: HttpContext): Reply {
  const lines = exchange.query.count('num_lines');
  const follow = exchange.query.boolean('follow', false);
  const stream = host.logs(callerOf(exchange), targetOf(exchange), { lines, follow });
  stopping.addEventListener('abort', () => void stream.return?.(), { once: true });
  const headers = {
    'content-type': 'application/x-ndjson',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
  };
  return { status: 200, headers, body: streamOf(stream) };
}

function streamOf(log: LogStream): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await log.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await log.return?.();
    },
  });
}
