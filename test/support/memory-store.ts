import {
  type GetOptions,
  isObjectName,
  type ListedObject,
  type ObjectBody,
  type ObjectHead,
  ObjectMissingError,
  type ObjectStore,
  StoreError,
  type StoreOptions,
} from '../../src/backup/object-store.ts';

/** What a store throws that was stopped, as if its process had been killed. */
export class Killed extends Error {
  override readonly name = 'Killed';
}

/**
 * Objects in memory. Operations are counted, each piece of a body too, so that a run can be killed,
 * or fail, at any of them; an object that was not written to its end is not there.
 */
export class MemoryStore implements ObjectStore {
  readonly place = 'memory';
  readonly objects = new Map<string, Uint8Array>();
  /** Names of objects that were written, in order. */
  readonly written: string[] = [];
  operationCount = 0;
  modifiedMicros = 0;
  #stopAt = Number.POSITIVE_INFINITY;
  #failAt = Number.POSITIVE_INFINITY;

  /** Another store with the same objects, without faults. */
  copy(): MemoryStore {
    const other = new MemoryStore();
    for (const [name, bytes] of this.objects) other.objects.set(name, bytes);
    return other;
  }

  /** From this operation on, all throw `Killed`. */
  stopAt(operation: number): void {
    this.#stopAt = operation;
  }

  /** This operation fails. */
  failAt(operation: number): void {
    this.#failAt = operation;
  }

  async put(name: string, body: ObjectBody, _options?: StoreOptions): Promise<'put' | 'there'> {
    this.#step(name);
    if (this.objects.has(name)) return 'there';
    const pieces: Uint8Array[] = [];
    for await (const piece of body instanceof Uint8Array ? [body] : body) {
      this.#step(name);
      pieces.push(piece.slice());
    }
    this.#step(name);
    this.objects.set(name, Buffer.concat(pieces));
    this.written.push(name);
    // The answer can be lost when the object is there already.
    this.#step(name);
    return 'put';
  }

  async *get(name: string, { from = 0, to }: GetOptions = {}): AsyncIterable<Uint8Array> {
    this.#step(name);
    const bytes = this.objects.get(name);
    if (bytes === undefined) throw new ObjectMissingError(this.place, name);
    const end = Math.min(to ?? bytes.length, bytes.length);
    for (let at = from; at < end; at += 1000) yield bytes.slice(at, Math.min(at + 1000, end));
  }

  async head(name: string): Promise<ObjectHead | undefined> {
    this.#step(name);
    const bytes = this.objects.get(name);
    return bytes === undefined ? undefined : { bytes: bytes.length };
  }

  async *list(prefix: string): AsyncIterable<ListedObject> {
    this.#step(prefix);
    for (const name of [...this.objects.keys()].sort()) {
      const bytes = this.objects.get(name)?.length ?? 0;
      if (name.startsWith(prefix)) yield { name, bytes, modifiedMicros: this.modifiedMicros };
    }
  }

  async delete(name: string): Promise<void> {
    this.#step(name);
    this.objects.delete(name);
    this.#step(name);
  }

  async replace(name: string, bytes: Uint8Array): Promise<void> {
    this.#step(name);
    this.objects.set(name, bytes);
    this.#step(name);
  }

  async sweep(): Promise<number> {
    return 0;
  }

  #step(name: string): void {
    if (name !== '' && !name.endsWith('/') && !isObjectName(name)) throw new Error(`name ${name}`);
    this.operationCount++;
    if (this.operationCount >= this.#stopAt) throw new Killed();
    if (this.operationCount === this.#failAt) throw new StoreError('memory: failed');
  }
}
