import { RpcError, rpcCode } from '../../mcp-protocol/rpc-error.ts';

/** One line of the client, or why it was rejected. */
export type InputLine = { readonly kind: 'line'; readonly text: string } | BadLine;

export interface BadLine {
  readonly kind: 'bad';
  readonly error: RpcError;
}

/**
 * Splits bytes into lines of UTF-8, which end at a line feed; a carriage return before it is white
 * space, and what follows the last line feed is a line too. Blank lines are skipped. Nothing is
 * kept of a line of more than `lineBytesMax` bytes.
 */
export async function* readLines(
  input: AsyncIterable<Uint8Array>,
  lineBytesMax: number,
): AsyncGenerator<InputLine> {
  const tooLong = `invalid request: the message has more than ${lineBytesMax} bytes`;
  let parts: Uint8Array[] = [];
  let byteCount = 0;
  const add = (part: Uint8Array) => {
    byteCount += part.length;
    if (byteCount <= lineBytesMax) parts.push(part);
    else parts = [];
  };
  const take = () => {
    const line = byteCount <= lineBytesMax ? decoded(parts) : bad(rpcCode.invalidRequest, tooLong);
    parts = [];
    byteCount = 0;
    return line;
  };
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      const line = take();
      if (!isBlank(line)) yield line;
    }
    add(chunk.subarray(start));
  }
  const last = take();
  if (!isBlank(last)) yield last;
}

const lineFeed = 0x0a;

function decoded(parts: readonly Uint8Array[]): InputLine {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    return { kind: 'line', text: decoder.decode(Buffer.concat(parts)) };
  } catch {
    return bad(rpcCode.parseError, 'parse error: the line is not UTF-8');
  }
}

/** A line that is answered with a JSON-RPC error without a request id. */
export function bad(code: number, words: string): BadLine {
  return { kind: 'bad', error: new RpcError(code, words) };
}

function isBlank(line: InputLine): boolean {
  return line.kind === 'line' && line.text.trim() === '';
}
