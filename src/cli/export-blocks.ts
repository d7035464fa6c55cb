import { createHash } from 'node:crypto';
import { JsonError } from '../values/json-error.ts';
import {
  boolean,
  number,
  object,
  optional,
  parseAs,
  record,
  type Shaped,
  string,
} from '../values/json-shape.ts';
import { CliError } from './io.ts';

/** What a stream has after its last block. */
export interface ExportEnd {
  readonly counts: Readonly<Record<string, number>>;
  readonly position: string;
  readonly program: string;
}

/** A part of a block: the rows that it completes, and bytes of their text. */
export interface ExportPiece {
  readonly table: string;
  readonly rows: number;
  readonly bytes: Uint8Array;
}

/** The line is longer than that of thousands of tables. */
const lineBytesMax = 16 * 1024 * 1024;

/**
 * Reads the stream of an export: gives its pieces as they come, and returns its end. Throws
 * `CliError` if it has none, or is not what was sent.
 */
export async function* exportPieces(
  stream: AsyncIterable<Uint8Array>,
): AsyncGenerator<ExportPiece, ExportEnd> {
  const reader = new BlockReader();
  try {
    for await (const chunk of stream) yield* reader.take(Buffer.from(chunk));
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw broken('the connection was lost');
  }
  if (reader.end === undefined) throw broken('the connection was lost');
  return reader.end;
}

class BlockReader {
  end: ExportEnd | undefined;
  readonly #hash = createHash('sha256');
  /** The beginning of an unfinished line. */
  #line: Buffer[] = [];
  #lineBytes = 0;
  #table = '';
  /** What is left of the block. */
  #blockBytes = 0;

  *take(chunk: Buffer): Generator<ExportPiece, void> {
    let at = 0;
    while (at < chunk.length) {
      if (this.end !== undefined) throw broken('something follows its end');
      if (this.#blockBytes > 0) {
        const bytes = chunk.subarray(at, at + this.#blockBytes);
        this.#hash.update(bytes);
        this.#blockBytes -= bytes.length;
        at += bytes.length;
        yield { table: this.#table, rows: 0, bytes };
        continue;
      }
      const feed = chunk.indexOf(0x0a, at);
      const part = chunk.subarray(at, feed < 0 ? undefined : feed + 1);
      at += part.length;
      this.#line.push(part);
      this.#lineBytes += part.length;
      if (this.#lineBytes > lineBytesMax) throw broken('a line has no end');
      if (feed >= 0) yield* this.#frame();
    }
  }

  *#frame(): Generator<ExportPiece, void> {
    const line = Buffer.concat(this.#line);
    this.#line = [];
    this.#lineBytes = 0;
    const frame = frameOf(line.toString('utf8'));
    if (frame.error !== undefined) throw broken(frame.error);
    if (frame.end === true) {
      this.end = endOf(frame, this.#hash.digest('hex'));
      return;
    }
    this.#hash.update(line);
    const { table = '', rows = 0, bytes = 0 } = frame;
    this.#table = table;
    this.#blockBytes = bytes;
    yield { table, rows, bytes: none };
  }
}

const none = new Uint8Array(0);

const frameShape = object({
  table: optional(string),
  rows: optional(number),
  bytes: optional(number),
  end: optional(boolean),
  counts: optional(record(number)),
  sha256: optional(string),
  position: optional(string),
  program: optional(string),
  error: optional(string),
});

type Frame = Shaped<typeof frameShape>;

function frameOf(text: string): Frame {
  try {
    return parseAs(text, frameShape);
  } catch (cause) {
    if (!(cause instanceof JsonError)) throw cause;
    throw broken(`a line between its blocks cannot be read: ${cause.message}`);
  }
}

function endOf(
  { counts = {}, position = '', program = '', sha256 }: Frame,
  hash: string,
): ExportEnd {
  if (sha256 !== hash) throw broken(`its SHA-256 is ${hash}, and its end says ${sha256}`);
  return { counts, position, program };
}

function broken(reason: string): CliError {
  return new CliError(`The stream has no end, so it is not an export: ${reason}`);
}
