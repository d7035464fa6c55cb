import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { hostError, type SpacetimeHostError } from './errors.ts';
import type { Sys } from './sys.ts';

export type Encode = (writer: BinaryWriter, value: unknown) => void;

/**
 * The one place that touches the scratch: encodes directly into it and reads directly from it. Its
 * reader and writer are reused, so a read or a write by key allocates only the row.
 *
 * Bytes are decoded at once, before user code runs again. Encoding may run user code (a getter of
 * the row), which cannot use the database until the encoding is done.
 */
export class Bridge {
  readonly sys: Sys;
  readonly writer = new BinaryWriter(0);
  readonly #reader: BinaryReader;
  #scratch: Uint8Array;
  #isEncoding = false;

  constructor(sys: Sys) {
    this.sys = sys;
    this.#scratch = new ByteArray(sys.scratch(0));
    this.#reader = new BinaryReader(this.#scratch);
    this.writer.adopt(this.#scratch);
  }

  /** Encodes `value` at the start of the scratch and returns its length. */
  encode(write: Encode, value: unknown): number {
    this.begin();
    try {
      write(this.writer, value);
    } catch (error) {
      this.#isEncoding = false;
      throw error;
    }
    return this.end();
  }

  /** Must be called before a host call that writes to the scratch. */
  guard(): void {
    if (!this.#isEncoding) return;
    throw new TypeError('a row that is being written cannot use the database itself');
  }

  /** Starts an encoding in steps; `end` or `abandon` follows. */
  begin(): void {
    this.guard();
    this.#isEncoding = true;
    this.writer.reset();
  }

  end(): number {
    this.#isEncoding = false;
    if (this.writer.source !== this.#scratch) this.#moveToScratch();
    return this.writer.length;
  }

  abandon(): void {
    this.#isEncoding = false;
  }

  /** A reader of the first `byteCount` bytes of the scratch, valid until the next host call. */
  read(byteCount: number): BinaryReader {
    if (byteCount > this.#scratch.length) this.#adopt(this.sys.scratch(byteCount));
    this.#reader.reset(this.#scratch, 0, byteCount);
    return this.#reader;
  }

  /** The error for a negative result of a host function. */
  error(result: number): SpacetimeHostError {
    return hostError(result, this.sys.violation);
  }

  /** The same for the functions that leave the reason in `sys.failure`. */
  failure(result: number): SpacetimeHostError {
    return hostError(result, this.sys.violation, this.sys.failure());
  }

  /** Copies the bytes back: the writer outgrew the scratch and moved to its own buffer. */
  #moveToScratch(): void {
    const bytes = this.writer.view();
    this.#adopt(this.sys.scratch(bytes.length));
    this.writer.raw(bytes);
  }

  #adopt(scratch: ArrayBuffer): void {
    this.#scratch = new ByteArray(scratch);
    this.writer.adopt(this.#scratch);
  }
}

// In the sandbox a global is looked up through a proxy; hot code reads this instead.
const ByteArray = Uint8Array;
