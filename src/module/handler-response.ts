import { limits } from '../limits.ts';
import { decodeHttpResponse, type HttpResponse } from '../protocol/http-abi.ts';
import { isForbiddenHeader } from '../protocol/response-headers.ts';
import { DecodeError } from '../values/binary-reader.ts';

export type HandlerResponse = HttpResponse;

/** A response that can be sent, or why the one that a handler gave cannot. */
type CheckedResponse = HandlerResponse | { readonly fault: string };

/** Reads the head of a handler's response. Programs encode it themselves: it can be anything. */
export function checkedResponse(head: Uint8Array): CheckedResponse {
  let response: HttpResponse;
  try {
    response = decodeHttpResponse(head);
  } catch (error) {
    if (error instanceof DecodeError) return { fault: `it cannot be read: ${error.message}` };
    throw error;
  }
  const fault = statusFault(response) ?? headersFault(response);
  return fault === undefined ? response : { fault };
}

/** Names of the headers that handlers cannot set; the door that sends the response omits them. */
export function forbiddenHeadersOf({ headers }: HandlerResponse): string[] {
  const names = headers.map(({ name }) => name.toLowerCase()).filter(isForbiddenHeader);
  return [...new Set(names)];
}

/** An informational status is none that a response can have. */
function statusFault({ code }: HttpResponse): string | undefined {
  return code >= 200 && code <= 599 ? undefined : `its status ${code} is not from 200 to 599`;
}

function headersFault({ headers }: HttpResponse): string | undefined {
  const { handlerHeadersMax, handlerHeaderBytesMax } = limits;
  if (headers.length > handlerHeadersMax) {
    return `it has ${headers.length} headers, more than ${handlerHeadersMax}`;
  }
  let byteCount = 0;
  for (const { name, value } of headers) {
    if (!isToken.test(name)) return `\`${name.slice(0, 64)}\` is not the name of a header`;
    if (value.some(isControl)) return `the value of its header \`${name}\` has control characters`;
    byteCount += name.length + value.length;
  }
  if (byteCount <= handlerHeaderBytesMax) return undefined;
  return `its headers are ${byteCount} bytes, more than ${handlerHeaderBytesMax}`;
}

const isToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** All but the tab. */
function isControl(byte: number): boolean {
  return (byte < 0x20 && byte !== 0x09) || byte === 0x7f;
}
