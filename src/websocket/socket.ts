/** One open WebSocket, free of the library that speaks the protocol. */
export interface Socket {
  /** Writes chunks of whole frames, in one piece; `written` is called when the system has them. */
  write(chunks: readonly Uint8Array[], written: () => void): void;
  ping(): void;
  /** Sends a close frame after what was written, and answers no message any more. */
  close(code: number, reason: string): void;
  /** Ends the connection without a word. */
  destroy(): void;
  /** Reads nothing until `resume`. */
  pause(): void;
  resume(): void;
  /** Bytes that came, of all kinds of frames. */
  readonly bytesRead: number;
}

/** What comes from a socket. */
export interface SocketEvents {
  /** A whole message, put together from its frames. The bytes may be kept. */
  message(bytes: Uint8Array, isBinary: boolean): void;
  pong(): void;
  /** The last event. */
  closed(): void;
}

/** A close reason has at most this many bytes. */
const reasonBytesMax = 123;

/** Cuts a text between characters, so that it can be the reason of a close. */
export function closeReason(text: string): string {
  let reason = '';
  let byteCount = 0;
  for (const character of text) {
    byteCount += Buffer.byteLength(character);
    if (byteCount > reasonBytesMax) break;
    reason += character;
  }
  return reason;
}
