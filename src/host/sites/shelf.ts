/**
 * Where the static files of one database are: a flat folder, or memory. Names consist of hex digits
 * and fixed words, never of what a publisher wrote.
 */
export interface Shelf {
  /** A new entry, without a name until it is kept. */
  draft(): Promise<Draft>;
  /** The whole content of a small entry; `undefined`: there is none. */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Bytes of an entry; `undefined`: there is none. */
  size(name: string): Promise<number | undefined>;
  /** Bytes of an entry from `from` on, at most `length`; throws when it is gone. */
  slice(name: string, from: number, length: number): Promise<Uint8Array>;
  /** Replaces a small entry as a whole; durable when this resolves. */
  replace(name: string, content: string): Promise<void>;
  names(): Promise<readonly string[]>;
  /** Milliseconds since the Unix epoch when an entry was written or touched; 0: there is none. */
  writtenMillis(name: string): Promise<number>;
  touch(name: string): Promise<void>;
  remove(names: readonly string[]): Promise<void>;
  /** Makes the names of kept drafts durable. */
  settle(): Promise<void>;
}

/** An entry that is being written. It is kept or dropped in the end. */
export interface Draft {
  write(piece: Uint8Array): Promise<void>;
  /** What was written, from the beginning. */
  pieces(): AsyncIterable<Uint8Array>;
  /** Makes the content durable and gives it its name. */
  keepAs(name: string): Promise<void>;
  drop(): Promise<void>;
}

/** Entries that are not there after a restart, for a host without a folder. */
export class MemoryShelf implements Shelf {
  readonly #entries = new Map<string, { content: Uint8Array; millis: number }>();
  readonly #nowMillis: () => number;

  constructor(nowMillis: () => number) {
    this.#nowMillis = nowMillis;
  }

  async draft(): Promise<Draft> {
    const written: Uint8Array[] = [];
    return {
      write: async (piece) => void written.push(new Uint8Array(piece)),
      pieces: () => piecesOf(written),
      keepAs: async (name) => this.#put(name, Buffer.concat(written)),
      drop: async () => void written.splice(0),
    };
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    return this.#entries.get(name)?.content;
  }

  async size(name: string): Promise<number | undefined> {
    return this.#entries.get(name)?.content.length;
  }

  async slice(name: string, from: number, length: number): Promise<Uint8Array> {
    const content = this.#entries.get(name)?.content;
    if (content === undefined) throw new Error(`${name} is gone`);
    return content.subarray(from, from + length);
  }

  async replace(name: string, content: string): Promise<void> {
    this.#put(name, Buffer.from(content));
  }

  async names(): Promise<readonly string[]> {
    return [...this.#entries.keys()];
  }

  async writtenMillis(name: string): Promise<number> {
    return this.#entries.get(name)?.millis ?? 0;
  }

  async touch(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry !== undefined) entry.millis = this.#nowMillis();
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) this.#entries.delete(name);
  }

  async settle(): Promise<void> {}

  #put(name: string, content: Uint8Array): void {
    this.#entries.set(name, { content, millis: this.#nowMillis() });
  }
}

async function* piecesOf(written: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* written;
}
