/**
 * State that a client keeps for the server between two requests. It is sealed with AES-GCM, so it
 * can be neither read nor changed, and is valid only for its purpose.
 *
 * ```
 * base64( 12 random bytes, then sealed: milliseconds of the expiry, a blank, the state )
 * ```
 *
 * The binding (the caller, request and endpoint) is not stored in it, but needed to open it.
 */
import { limits } from '../limits.ts';
import { fromBase64, toBase64 } from './base64.ts';

const nonceBytes = 12;
const algorithm = 'AES-GCM';

/** Seals and opens states with a 32-byte key. */
export class StateSeal {
  readonly #key: ReturnType<typeof crypto.subtle.importKey>;
  readonly #now: () => number;

  constructor(key: Uint8Array, now: () => number = Date.now) {
    const raw = Uint8Array.from(key);
    this.#key = crypto.subtle.importKey('raw', raw, algorithm, false, ['encrypt', 'decrypt']);
    this.#now = now;
  }

  async seal(state: string, binding: string): Promise<string> {
    const iv = crypto.getRandomValues(new Uint8Array(nonceBytes));
    const plain = encoder.encode(`${this.#now() + limits.mcpStateMillisMax} ${state}`);
    const additionalData = encoder.encode(binding);
    const parameters = { name: algorithm, iv, additionalData };
    const sealed = await crypto.subtle.encrypt(parameters, await this.#key, plain);
    return toBase64(Uint8Array.of(...iv, ...new Uint8Array(sealed)));
  }

  /** Returns `undefined` for a state that is foreign, of another request, altered or expired. */
  async open(sealed: string, binding: string): Promise<string | undefined> {
    const bytes = fromBase64(sealed);
    if (bytes === undefined || bytes.length <= nonceBytes) return undefined;
    const iv = bytes.subarray(0, nonceBytes);
    const parameters = { name: algorithm, iv, additionalData: encoder.encode(binding) };
    try {
      const key = await this.#key;
      const plain = await crypto.subtle.decrypt(parameters, key, bytes.subarray(nonceBytes));
      return this.#unexpired(new TextDecoder().decode(plain));
    } catch (error) {
      // The only error for a state that does not match the key; anything else is a bug.
      if (error instanceof DOMException && error.name === 'OperationError') return undefined;
      throw error;
    }
  }

  #unexpired(plain: string): string | undefined {
    const blank = plain.indexOf(' ');
    const isFresh = this.#now() <= Number(plain.slice(0, blank));
    return isFresh ? plain.slice(blank + 1) : undefined;
  }
}

const encoder = new TextEncoder();
