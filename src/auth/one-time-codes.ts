import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

export interface CodeBounds {
  readonly lifeMillis: number;
  readonly countMax: number;
  /** Codes of one owner: a further one replaces the oldest. */
  readonly ofOneMax: number;
}

export interface IssuedCode {
  readonly code: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

interface Kept<Value> extends IssuedCode {
  readonly digest: Buffer;
  readonly owner: string;
  readonly value: Value;
}

/**
 * Codes of which each can be used once, soon. Only their digests are kept, with what each stands
 * for, in memory: a restart ends them all. They are found by digest, so how long a search takes
 * says nothing about a code.
 */
export class OneTimeCodes<Value> {
  readonly #bounds: CodeBounds;
  readonly #nowMillis: () => number;
  /** By digest; in order of issuing, which is that of expiry. */
  readonly #kept = new Map<string, Omit<Kept<Value>, 'code'>>();

  constructor(bounds: CodeBounds, nowMillis: () => number = Date.now) {
    this.#bounds = bounds;
    this.#nowMillis = nowMillis;
  }

  /** Returns `undefined` if there are too many codes of others. */
  issue(owner: string, value: Value): IssuedCode | undefined {
    this.#forgetExpired();
    const { lifeMillis, countMax, ofOneMax } = this.#bounds;
    const own = [...this.#kept].filter(([, kept]) => kept.owner === owner);
    for (const [key] of own.slice(0, Math.max(0, own.length + 1 - ofOneMax))) {
      this.#kept.delete(key);
    }
    if (this.#kept.size >= countMax) return undefined;
    const code = randomBytes(32).toString('base64url');
    const digest = digestOf(code);
    const expiresAt = this.#nowMillis() + lifeMillis;
    this.#kept.set(digest.toString('hex'), { digest, owner, value, expiresAt });
    return { code, expiresAt };
  }

  /** Uses a code up; `undefined`: there is none such, or not any more. */
  take(code: string): Value | undefined {
    this.#forgetExpired();
    const digest = digestOf(code);
    const key = digest.toString('hex');
    const kept = this.#kept.get(key);
    if (kept === undefined || !timingSafeEqual(kept.digest, digest)) return undefined;
    this.#kept.delete(key);
    return kept.value;
  }

  #forgetExpired(): void {
    const now = this.#nowMillis();
    for (const [key, { expiresAt }] of this.#kept) {
      if (expiresAt > now) return;
      this.#kept.delete(key);
    }
  }
}

function digestOf(code: string): Buffer {
  return createHash('sha256').update(code).digest();
}
