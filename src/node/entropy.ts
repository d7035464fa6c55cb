import { randomFillSync } from 'node:crypto';
import type { Entropy } from '../database/entropy.ts';

const poolBytes = 16_384;

/**
 * The operating system's randomness, fetched in blocks: one request costs about a microsecond
 * however small, and every reducer call needs 32 bytes. Bytes are wiped once handed out.
 */
export class MachineEntropy implements Entropy {
  readonly #pool = new Uint8Array(poolBytes);
  #used = poolBytes;

  fill(bytes: Uint8Array): void {
    if (bytes.length > poolBytes / 4) {
      randomFillSync(bytes);
      return;
    }
    if (this.#used + bytes.length > poolBytes) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    const pool = this.#pool;
    const start = this.#used;
    for (let at = 0; at < bytes.length; at++) {
      bytes[at] = pool[start + at] ?? 0;
      pool[start + at] = 0;
    }
    this.#used = start + bytes.length;
  }
}
