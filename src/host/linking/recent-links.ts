import { createHash } from 'node:crypto';
import { limits } from '../../limits.ts';

/**
 * Recently linked small programs, by their bytes: a program is often checked and then published, or
 * published as several databases. The linked form depends on the program alone, and so is the same
 * for all of them.
 */
export class RecentLinks {
  readonly #bytesMax: number;
  /** By SHA-256 of the program, in order of last use. */
  readonly #linked = new Map<string, Uint8Array>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Returns a copy, which the receiver can transfer. */
  find(program: Uint8Array): Uint8Array | undefined {
    const key = keyOf(program);
    const linked = this.#linked.get(key);
    if (linked === undefined) return undefined;
    this.#linked.delete(key);
    this.#linked.set(key, linked);
    return new Uint8Array(linked);
  }

  keep(program: Uint8Array, linked: Uint8Array): void {
    const key = keyOf(program);
    if (linked.length > this.#bytesMax || this.#linked.has(key)) return;
    this.#linked.set(key, new Uint8Array(linked));
    this.#bytes += linked.length;
    for (const [oldest, { length }] of this.#linked) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#linked.delete(oldest);
      this.#bytes -= length;
    }
  }
}

/** The cache of all linkers of this process. */
export const recentLinks: RecentLinks = new RecentLinks(limits.recentLinksBytesMax);

function keyOf(program: Uint8Array): string {
  return createHash('sha256').update(program).digest('base64');
}
