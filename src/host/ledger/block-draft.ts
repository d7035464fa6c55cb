import { crc32c } from '../../log/checksum.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { Activity, ActivityCaller } from './activity.ts';
import { blockHeadBytes, blockMagic, nobody, noNumber } from './ledger-block.ts';
import { ledgerCallerOf } from './ledger-caller.ts';
import {
  type LedgerAction,
  type LedgerCaller,
  type LedgerEntry,
  ledgerActions,
} from './ledger-entry.ts';
import { isStatement, nameSubject, statementSubject } from './ledger-subject.ts';

const actionNumbers = new Map<LedgerAction, number>(
  ledgerActions.map((action, number) => [action, number]),
);
const entryBytes = 39;

/**
 * A block while entries come (docs/format/ledger.md). Each is written at once: one that waits as an
 * object, for a second, costs the collector more than the call that it tells of. What a caller or a
 * statement is shown as is worked out when the block is written.
 */
export class BlockDraft {
  readonly #body: BinaryWriter;
  readonly #callers = new Callers();
  readonly #subjects = new Texts();
  readonly #results = new Texts();
  /** Entries in it; at most `limits.ledgerBlockEntriesMax`. */
  length = 0;
  /** What they stand for, together. */
  count = 0;

  /** Makes room for so many entries; more can come. */
  constructor(expected = 32) {
    this.#body = new BinaryWriter(expected * entryBytes);
  }

  add(noted: Activity | LedgerEntry): void {
    const { micros, caller, action, subject, result, rows, offset } = noted;
    const count = 'count' in noted ? noted.count : 1;
    const start = this.#body.claim(entryBytes);
    const view = this.#body.dataView;
    view.setBigInt64(start, micros, true);
    view.setUint16(start + 8, caller === undefined ? nobody : this.#callers.of(caller), true);
    view.setUint8(start + 10, actionNumbers.get(action) ?? 0);
    // An entry that is whole has its words already.
    const show = !('count' in noted) && isStatement(action) ? statementSubject : nameSubject;
    view.setUint16(start + 11, this.#subjects.of(subject, show), true);
    view.setUint16(start + 13, this.#results.of(result, nameSubject), true);
    view.setFloat64(start + 15, rows ?? noNumber, true);
    view.setUint32(start + 23, count, true);
    view.setFloat64(start + 27, offset ?? noNumber, true);
    view.setFloat32(start + 35, noted.durationMillis ?? noNumber, true);
    this.length += 1;
    this.count += count;
  }

  encode(writtenMicros: bigint): Uint8Array {
    const body = this.#body.view();
    const writer = new BinaryWriter(body.length + 4096);
    for (const number of [blockMagic, 0, 0]) writer.u32(number);
    writer.i64(writtenMicros);
    this.#callers.write(writer);
    this.#subjects.write(writer);
    this.#results.write(writer);
    writer.u16(this.length);
    writer.raw(body);
    const bytes = writer.view();
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    view.setUint32(4, bytes.length - blockHeadBytes, true);
    view.setUint32(8, crc32c(bytes, blockHeadBytes) >>> 0, true);
    return bytes;
  }
}

type Show = (text: string) => string;

/** Texts that entries refer to by number, as they are shown in the end. */
class Texts {
  readonly #shown: (readonly [text: string, show: Show])[] = [];
  readonly #numbers = new Map<Show, Numbers<string>>();

  of(text: string, show: Show): number {
    let numbers = this.#numbers.get(show);
    if (numbers === undefined) {
      numbers = new Numbers((added) => this.#shown.push([added, show]) - 1);
      this.#numbers.set(show, numbers);
    }
    return numbers.of(text, text);
  }

  write(writer: BinaryWriter): void {
    writer.u16(this.#shown.length);
    for (const [text, show] of this.#shown) writer.string(show(text));
  }
}

/** A limited token has an identity of its own, so that an identity is one caller. */
class Callers {
  readonly #callers: (ActivityCaller | LedgerCaller)[] = [];
  readonly #numbers = new Numbers<CallerIdentity, ActivityCaller | LedgerCaller>(
    (caller) => this.#callers.push(caller) - 1,
  );

  of(caller: ActivityCaller | LedgerCaller): number {
    return this.#numbers.of(caller.identity, caller);
  }

  write(writer: BinaryWriter): void {
    writer.u16(this.#callers.length);
    for (const caller of this.#callers) {
      const { identity, token = '', maker = 0n } = ledgerCallerOf(caller);
      writer.u256(identity);
      writer.string(token);
      writer.u256(maker);
    }
  }
}

/** Numbers of what was named before. Most entries name what the one before them named. */
class Numbers<Key, Item = Key> {
  readonly #add: (item: Item) => number;
  readonly #known = new Map<Key, number>();
  #last: Key | undefined;
  #lastNumber = 0;

  constructor(add: (item: Item) => number) {
    this.#add = add;
  }

  of(key: Key, item: Item): number {
    if (key === this.#last) return this.#lastNumber;
    let number = this.#known.get(key);
    if (number === undefined) {
      number = this.#add(item);
      this.#known.set(key, number);
    }
    this.#last = key;
    this.#lastNumber = number;
    return number;
  }
}
