import { inSlices } from '../doors/slices.ts';
import { EncodedMessage } from './encoded-message.ts';

/**
 * Rows whose text is long: it is written once, in slices between other work, for all messages that
 * have it. Nothing more is written when no connection waits for one of them.
 */
export class LateRows {
  readonly #rowBytes: number;
  readonly #messages = new Set<LateMessage>();
  readonly #parts: Uint8Array[] = [];
  #textBytes = 0;
  #state: RowsState = { kind: 'writing' };

  /** `pieces`: the text, each piece written in a step. `rowBytes`: the size of the encoded rows. */
  constructor(pieces: Iterable<string>, rowBytes: number) {
    this.#rowBytes = rowBytes;
    void inSlices(this.#steps(pieces));
  }

  get state(): RowsState {
    return this.#state;
  }

  /** Whether its text is whole, or will be. */
  get isUsable(): boolean {
    return this.#state.kind === 'writing' || this.#state.kind === 'written';
  }

  /** The text, as far as it is written. */
  get parts(): readonly Uint8Array[] {
    return this.#parts;
  }

  /** What is held for it: the text, and the rows until it is whole. */
  get byteCount(): number {
    return this.#textBytes + (this.#state.kind === 'writing' ? this.#rowBytes : 0);
  }

  /** The message has this text in it. */
  join(message: LateMessage): void {
    if (this.#state.kind === 'writing') this.#messages.add(message);
  }

  *#steps(pieces: Iterable<string>): Generator<undefined, void> {
    try {
      let text = '';
      for (const piece of pieces) {
        if (!this.#isAwaited()) {
          this.#end({ kind: 'abandoned' });
          return;
        }
        text += piece;
        if (text.length >= partCharacters) {
          this.#add(text);
          text = '';
        }
        yield;
      }
      this.#add(text);
      this.#end({ kind: 'written' });
    } catch (error) {
      this.#end({ kind: 'failed', error });
    }
  }

  #isAwaited(): boolean {
    for (const message of this.#messages) if (message.isAwaited) return true;
    return false;
  }

  #add(text: string): void {
    const part = Buffer.from(text);
    this.#parts.push(part);
    this.#textBytes += part.length;
    for (const message of this.#messages) message.goOn();
  }

  #end(state: RowsState): void {
    this.#state = state;
    const messages = [...this.#messages];
    this.#messages.clear();
    for (const message of messages) message.goOn();
  }
}

/** Characters of a part of a text that is sent from a buffer of its own. */
const partCharacters = 65_536;

type RowsState =
  | { readonly kind: 'writing' | 'written' | 'abandoned' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** What waits for a message; see `SendQueue`. */
export interface LateReader {
  /** More is written, or all: then `message.whole` is there, or `message.fault`. */
  grown(): void;
}

/**
 * A message with rows that are still being written: it has its place in the queues of connections,
 * and is sent when it is whole.
 */
export class LateMessage {
  readonly messageCount = 1;
  /** What is between the rows, at both ends, too. */
  readonly #around: readonly Uint8Array[];
  readonly #rows: readonly LateRows[];
  readonly #aroundBytes: number;
  readonly #readers = new Set<LateReader>();
  #whole: EncodedMessage | undefined;

  constructor(around: readonly string[], rows: readonly LateRows[]) {
    this.#around = around.map((text) => Buffer.from(text));
    this.#aroundBytes = this.#around.reduce((sum, bytes) => sum + bytes.length, 0);
    this.#rows = rows;
    for (const one of rows) one.join(this);
  }

  /** What is held for it: its bytes, once it is whole. */
  get byteCount(): number {
    return this.#rows.reduce((sum, rows) => sum + rows.byteCount, this.#aroundBytes);
  }

  /** The message, once all of its rows are written. */
  get whole(): EncodedMessage | undefined {
    if (this.#whole === undefined && this.#rows.every(({ state }) => state.kind === 'written')) {
      this.#whole = new EncodedMessage(
        ...this.#around.flatMap((text, at) => [text, ...(this.#rows[at]?.parts ?? [])]),
      );
    }
    return this.#whole;
  }

  /** Why it is never whole. */
  get fault(): unknown {
    for (const { state } of this.#rows) if (state.kind === 'failed') return state.error;
    return undefined;
  }

  /** Whether it is whole, or will be. */
  get isUsable(): boolean {
    return this.#rows.every(({ isUsable }) => isUsable);
  }

  get isAwaited(): boolean {
    return this.#readers.size > 0;
  }

  await(reader: LateReader): void {
    this.#readers.add(reader);
  }

  leave(reader: LateReader): void {
    this.#readers.delete(reader);
  }

  /** Called by its rows. */
  goOn(): void {
    for (const reader of [...this.#readers]) reader.grown();
  }
}
