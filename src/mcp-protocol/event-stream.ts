/**
 * Messages as server-sent events (`text/event-stream`): one event per message, with its JSON as
 * data. Lines that begin with a colon are comments; they keep a quiet connection open.
 */
import { assert } from '../assert.ts';

export const eventStreamType = 'text/event-stream';

export const keepAliveLine = ':\n\n';

/** Encodes one event; `message` must be JSON text without line breaks. */
export function encodeEvent(message: string): string {
  assert(!/[\r\n]/.test(message), 'a message is one line');
  return `event: message\ndata: ${message}\n\n`;
}

/** Reads an event stream in arbitrary pieces and returns its messages. */
export class EventStreamReader {
  readonly #lengthMax: number;
  /** Pieces of the incomplete line. */
  #line: string[] = [];
  #endsWithReturn = false;
  /** Data of the incomplete event. */
  #data: string[] = [];
  #type = '';
  /** Number of characters held. */
  #length = 0;

  /** `lengthMax`: maximum characters of one event. */
  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  /** Returns the messages completed by `piece`. Throws for an event that is too long. */
  push(piece: string): string[] {
    const messages: string[] = [];
    const isRestOfBreak = this.#endsWithReturn && piece.startsWith('\n');
    const text = isRestOfBreak ? piece.slice(1) : piece;
    if (piece !== '') this.#endsWithReturn = piece.endsWith('\r');
    let start = 0;
    for (const { index, 0: lineBreak } of text.matchAll(/\r\n|\r|\n/g)) {
      this.#hold(text.slice(start, index));
      start = index + lineBreak.length;
      const line = this.#line.join('');
      this.#line = [];
      const message = this.#take(line);
      if (message !== undefined) messages.push(message);
    }
    this.#hold(text.slice(start));
    return messages;
  }

  #hold(part: string): void {
    if (part === '') return;
    this.#length += part.length;
    if (this.#length > this.#lengthMax) throw new Error('an event is too long');
    this.#line.push(part);
  }

  /** Processes a line without its terminator; returns the message that it completes. */
  #take(line: string): string | undefined {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.#data.push(value);
    else this.#length -= line.length;
    if (field === 'event') this.#type = value;
    return undefined;
  }

  #dispatch(): string | undefined {
    const data = this.#data.join('\n');
    const isMessage = data !== '' && (this.#type === '' || this.#type === 'message');
    this.#data = [];
    this.#type = '';
    this.#length = 0;
    return isMessage ? data : undefined;
  }
}
