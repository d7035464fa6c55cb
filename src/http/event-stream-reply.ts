import { encodeEvent, eventStreamType, keepAliveLine } from '../mcp-protocol/event-stream.ts';
import type { Reply } from './exchange.ts';

/**
 * Sends messages as server-sent events, as fast as the client reads them. When the client leaves,
 * the iterator's `return` is called.
 */
export function eventStreamReply(
  messages: AsyncIterable<string | undefined>,
  more: Reply['headers'] = {},
): Reply {
  const headers = {
    ...more,
    'content-type': eventStreamType,
    'cache-control': 'no-cache',
    // A proxy that buffers responses would hold this one back until its end.
    'x-accel-buffering': 'no',
  };
  return { status: 200, headers, body: streamOf(messages[Symbol.asyncIterator]()) };
}

function streamOf(messages: AsyncIterator<string | undefined>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await messages.next();
      if (done) return controller.close();
      const text = value === undefined ? keepAliveLine : encodeEvent(value);
      controller.enqueue(encoder.encode(text));
    },
    async cancel() {
      await messages.return?.();
    },
  });
}
