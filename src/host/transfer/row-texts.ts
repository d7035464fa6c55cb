import { assert } from '../../assert.ts';
import type { BatchOptions, ReadStep } from '../../transfer/row-batches.ts';
import type { RowFormat, RowTable } from '../../transfer/row-table.ts';
import type { RowLink } from './row-thread.ts';
import type { RowOrder, RowResult } from './row-work.ts';

/** Opens texts whose rows are read or written elsewhere. */
export class RowTexts {
  readonly #link: RowLink;
  #lastStream = 0;

  constructor(link: RowLink) {
    this.#link = link;
  }

  async read(options: BatchOptions): Promise<TextReader> {
    const stream = ++this.#lastStream;
    await this.#link.do(stream, { kind: 'openReader', options });
    return new TextReader(this.#link, stream);
  }

  async write(tables: readonly RowTable[], format: RowFormat): Promise<TextWriter> {
    const stream = ++this.#lastStream;
    await this.#link.do(stream, { kind: 'openWriter', tables, format });
    return new TextWriter(this.#link, stream);
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}

/** A text that comes in pieces. */
export class TextReader {
  readonly #link: RowLink;
  readonly #stream: number;

  constructor(link: RowLink, stream: number) {
    this.#link = link;
    this.#stream = stream;
  }

  push(piece: Uint8Array): Promise<ReadStep> {
    return this.#step({ kind: 'push', bytes: new Uint8Array(piece) });
  }

  end(): Promise<ReadStep> {
    return this.#step({ kind: 'end' });
  }

  /** The texts of some of these encoded rows, by ascending position. */
  async show(rows: Uint8Array, at: readonly number[]): Promise<readonly string[]> {
    if (at.length === 0) return [];
    const result = await this.#link.do(this.#stream, { kind: 'show', rows, at });
    assert(result.kind === 'shown', 'rows are shown');
    return result.rows;
  }

  close(): void {
    closeStream(this.#link, this.#stream);
  }

  async #step(order: RowOrder): Promise<ReadStep> {
    const result: RowResult = await this.#link.do(this.#stream, order);
    assert(result.kind === 'step', 'a piece is answered by a step');
    return result.step;
  }
}

export type WrittenRows = Omit<Extract<RowOrder, { kind: 'write' }>, 'kind'>;

export class TextWriter {
  readonly #link: RowLink;
  readonly #stream: number;

  constructor(link: RowLink, stream: number) {
    this.#link = link;
    this.#stream = stream;
  }

  async write(rows: WrittenRows): Promise<Uint8Array> {
    const result = await this.#link.do(this.#stream, { kind: 'write', ...rows });
    assert(result.kind === 'text', 'rows are written as text');
    return result.text;
  }

  close(): void {
    closeStream(this.#link, this.#stream);
  }
}

/** A thread that has ended has forgotten the stream already. */
function closeStream(link: RowLink, stream: number): void {
  link.do(stream, { kind: 'close' }).catch(() => undefined);
}
