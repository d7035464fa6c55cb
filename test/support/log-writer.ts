import { RecordEncoder } from '../../src/log/encode-record.ts';
import { chainOf, type LogPoint } from '../../src/log/log-point.ts';
import { recordKinds } from '../../src/log/record.ts';
import { RecordBuffer } from '../../src/log/record-buffer.ts';
import type { LogWrite } from '../../src/log/replicated-write.ts';
import { commitOffset } from '../../src/store/commit-offset.ts';
import { noConnection } from '../../src/values/connection-number.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';

/** Makes the records of a commit log without a disk, as a commit log would. */
export class LogWriter {
  readonly #salt: number;
  readonly #buffer: RecordBuffer;
  readonly #encoder = new RecordEncoder();
  #position: number;
  #offset: number;

  constructor(salt: number, from: LogPoint) {
    this.#salt = salt;
    const half = (value: bigint) => Number(BigInt.asIntN(32, value));
    this.#buffer = new RecordBuffer(half(from.chain), half(from.chain >> 32n));
    this.#position = from.position;
    this.#offset = from.offset;
  }

  get point(): LogPoint {
    const { chainLow, chainHigh } = this.#buffer;
    return {
      position: this.#position,
      chain: chainOf(chainLow, chainHigh),
      offset: this.#offset,
    };
  }

  /** Appends a commit of `reducer`, whose arguments are these bytes. */
  commit(reducer: string, args: Uint8Array = new Uint8Array(0)): void {
    const offset = this.#offset + 1;
    const changes = { offset: commitOffset(offset), tables: [], sequences: [] };
    this.#encoder.commit(this.#buffer, changes, {
      reducer,
      caller: callerIdentity(1n),
      connectionId: noConnection,
      timestampMicros: 0n,
      seed: new Uint8Array(0),
      args,
    });
    this.#offset = offset;
    this.#end(recordKinds.commit);
  }

  stop(): void {
    this.#buffer.begin(0);
    this.#end(recordKinds.stop);
  }

  /** Everything appended since the last time, as one write. */
  take(): LogWrite {
    const records = this.#buffer.bytes().slice();
    this.#buffer.clear();
    return { records, end: this.point };
  }

  #end(kind: number): void {
    const place = { kind, offset: this.#offset, durablePosition: 0, salt: this.#salt };
    this.#position += this.#buffer.end(place);
  }
}
