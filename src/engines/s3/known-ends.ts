import { limits } from '../../limits.ts';
import type { LogName } from '../../shared-log/log-name.ts';
import type { Moment } from './moment.ts';

/** An entry that this host wrote or read, and behind which nothing was deleted at that moment. */
export interface KnownEnd {
  readonly seq: number;
  /** How it begins, as far as is kept. */
  readonly head: Uint8Array;
  /** When it was known: before the request that proved it. */
  readonly at: Moment;
}

/** The newest entry of each log that is known, as long as it is small enough with its bytes. */
export class KnownEnds {
  readonly #ends = new Map<LogName, KnownEnd>();
  readonly #kept = new Map<LogName, { seq: number; etag: string; bytes: Uint8Array }>();
  #keptBytes = 0;

  of(log: LogName): KnownEnd | undefined {
    return this.#ends.get(log);
  }

  /** The bytes of an entry that is known, which need not be sent again. */
  bytesOf(
    log: LogName,
    seq: number,
  ): { readonly etag: string; readonly bytes: Uint8Array } | undefined {
    const kept = this.#kept.get(log);
    return kept?.seq === seq ? kept : undefined;
  }

  learn(
    log: LogName,
    entry: { readonly seq: number; readonly bytes: Uint8Array; readonly etag: string },
    at: Moment,
  ): void {
    const { seq, bytes, etag } = entry;
    const before = this.#ends.get(log);
    if (before !== undefined && before.seq > seq) return;
    this.forget(log);
    this.#ends.set(log, { seq, head: bytes.slice(0, limits.s3HeadBytes), at });
    if (etag !== '' && bytes.length <= limits.s3KeptEndBytesMax) {
      this.#kept.set(log, { seq, bytes, etag });
      this.#keptBytes += bytes.length;
    }
    while (this.#ends.size > limits.s3KnownLogsMax) this.#drop(this.#ends);
    while (this.#keptBytes > limits.s3KeptEndBytesMax) this.#drop(this.#kept);
  }

  forget(log: LogName): void {
    this.#ends.delete(log);
    this.#keptBytes -= this.#kept.get(log)?.bytes.length ?? 0;
    this.#kept.delete(log);
  }

  /** Forgets the one that is known longest. */
  #drop(from: ReadonlyMap<LogName, unknown>): void {
    const [oldest] = from.keys();
    if (oldest !== undefined) this.forget(oldest);
  }
}
