/**
 * The frames of a server (RFC 6455, section 5.2), which are not masked:
 *
 * ```text
 * opcode + 80 ‖ length                      up to 125 bytes
 * opcode + 80 ‖ 7e ‖ length: u16            big-endian
 * opcode + 80 ‖ 7f ‖ length: u64
 * ```
 */
export type Opcode = 'text' | 'binary';

/** Bodies up to this size are copied behind their header; larger ones are separate chunks. */
const copiedBytesMax = 16_384;

/**
 * Returns the chunks of one frame, whose payload is the optional `tag` followed by the parts of a
 * body. Large parts are not copied, so they must not change afterwards.
 */
export function frameChunks(
  opcode: Opcode,
  tag: number | undefined,
  parts: readonly Uint8Array[],
): readonly Uint8Array[] {
  const bodyLength = parts.reduce((sum, part) => sum + part.length, 0);
  const tagLength = tag === undefined ? 0 : 1;
  const payloadLength = tagLength + bodyLength;
  const lengthBytes = payloadLength < 126 ? 0 : payloadLength < 65_536 ? 2 : 8;
  const start = 2 + lengthBytes + tagLength;
  const isCopied = bodyLength <= copiedBytesMax;
  const frame = new Uint8Array(isCopied ? start + bodyLength : start);
  frame[0] = opcode === 'text' ? 0x81 : 0x82;
  writeLength(frame, payloadLength, lengthBytes);
  if (tag !== undefined) frame[start - 1] = tag;
  if (!isCopied) return [frame, ...parts];
  let at = start;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  return [frame];
}

function writeLength(frame: Uint8Array, length: number, lengthBytes: 0 | 2 | 8): void {
  if (lengthBytes === 0) {
    frame[1] = length;
    return;
  }
  const view = new DataView(frame.buffer);
  frame[1] = lengthBytes === 2 ? 126 : 127;
  if (lengthBytes === 2) view.setUint16(2, length);
  else view.setBigUint64(2, BigInt(length));
}
