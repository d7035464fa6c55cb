import { limits } from '../../limits.ts';
import type { OutboundRequest } from '../../module/lane.ts';

/** Why a request is too large to be sent; `undefined`: it is not. */
export function sizeFault({ head, body }: OutboundRequest): string | undefined {
  const { uri, method, headers } = head;
  const headBytes = headers.reduce(
    (sum, { name, value }) => sum + name.length + value.length + 4,
    uri.length + method.length,
  );
  if (headBytes > limits.outboundHeadBytesMax) {
    return `URL and headers are longer than ${limits.outboundHeadBytesMax / 1_024} KiB`;
  }
  if (body.length > limits.outboundBodyBytesMax) {
    return `the body is larger than ${limits.outboundBodyBytesMax / 2 ** 20} MiB`;
  }
  return undefined;
}
