/** One open WebSocket, independent of the library that implements the protocol. */
export interface Socket {
  /** Writes chunks of whole frames in one piece; calls `written` once the system has them. */
  write(chunks: readonly Uint8Array[], written: () => void): void;
  ping(): void;
  /** Sends a close frame after pending writes and ignores all further messages. */
  close(code: number, reason: string): void;
  /** Ends the connection without a close frame. */
  destroy(): void;
  /** Stops reading until `resume`. */
  pause(): void;
  resume(): void;
  /** Bytes received, in frames of all kinds. */
  readonly bytesRead: number;
}

/** The events of a socket. */
export interface SocketEvents {
  /** Called for each whole message, assembled from its frames. The receiver can keep the bytes. */
  message(bytes: Uint8Array, isBinary: boolean): void;
  pong(): void;
  /** Called last. */
  closed(): void;
}

/** Maximum size of a close reason. */
const reasonBytesMax = 123;

/** Truncates a text between characters to fit a close reason. */
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
