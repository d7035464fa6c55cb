import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import type { CallerIdentity, DatabaseIdentity } from '../../values/identity-roles.ts';
import { blocksIn, readBlock } from './ledger-block.ts';
import type { LedgerCaller, LedgerEntry } from './ledger-entry.ts';
import type { LedgerStore } from './ledger-files.ts';

/** Which entries are wanted, the newest first. */
export interface LedgerAsk {
  /** Id of a limited token. */
  readonly token?: string;
  readonly identity?: CallerIdentity;
  /** None from before, in microseconds since the Unix epoch. */
  readonly sinceMicros?: bigint;
  readonly limit: number;
  /** Of an earlier page: those that are older than its last one. */
  readonly cursor?: LedgerCursor;
}

/** A place between two entries. */
export interface LedgerCursor {
  readonly file: number;
  readonly block: number;
  /** Entries of the block from this one on were shown. */
  readonly entry: number;
  /** The time of the last entry that was shown. */
  readonly micros: bigint;
}

export interface LedgerPage {
  readonly entries: readonly LedgerEntry[];
  /** Present if there may be more. */
  readonly cursor?: LedgerCursor;
}

const cursorPattern = /^(\d{1,15})\.(\d{1,9})\.(\d{1,9})\.(\d{1,18})$/;

export function cursorText({ file, block, entry, micros }: LedgerCursor): string {
  return `${file}.${block}.${entry}.${micros}`;
}

/** `undefined`: the text is none of `cursorText`. */
export function readCursor(text: string): LedgerCursor | undefined {
  const match = cursorPattern.exec(text);
  if (match === null) return undefined;
  const [, file, block, entry, micros = '0'] = match;
  return { file: Number(file), block: Number(block), entry: Number(entry), micros: BigInt(micros) };
}

/**
 * Reads a page of a ledger, from the newest entry backwards. It reads no more files than
 * `limits.ledgerPageBytesMax`; a page without entries can have a cursor.
 */
export async function readPage(
  store: LedgerStore,
  database: DatabaseIdentity,
  ask: LedgerAsk,
): Promise<LedgerPage> {
  const search = new Search(store.crashes, ask);
  let bytes = 0;
  const { cursor } = ask;
  const files = (await store.files(database)).filter(
    (file) => cursor === undefined || file <= cursor.file,
  );
  for (const file of [...files].reverse()) {
    if (bytes >= limits.ledgerPageBytesMax) return search.pausedBefore(file);
    const content = await store.read(database, file);
    if (content === undefined) continue;
    bytes += content.length;
    if (search.file(file, content) === 'done') break;
    await nextTurn();
  }
  return search.page();
}

/** In a cursor: nothing of the file was shown. */
const wholeFile = 999_999_999;

/** Collects the entries of a page. */
class Search {
  readonly #ask: LedgerAsk;
  readonly #entries: LedgerEntry[] = [];
  /** Ends without notice that are older than what was shown; the newest is the last. */
  readonly #crashes: bigint[];
  #last: LedgerCursor | undefined;
  /** Without those that say that something is missing. */
  #shown = 0;
  #isFull = false;
  #isDamaged = false;

  constructor(crashes: readonly bigint[], ask: LedgerAsk) {
    this.#ask = ask;
    const { cursor, sinceMicros = 0n } = ask;
    const isNext = (micros: bigint) => cursor === undefined || micros < cursor.micros;
    this.#crashes = crashes.filter((micros) => isNext(micros) && micros >= sinceMicros);
    this.#last = cursor;
  }

  page(): LedgerPage {
    if (!this.#isFull || this.#last === undefined) return { entries: this.#entries };
    return { entries: this.#entries, cursor: this.#last };
  }

  pausedBefore(file: number): LedgerPage {
    const micros = this.#last?.micros ?? 10n ** 18n - 1n;
    const cursor = { file, block: wholeFile, entry: wholeFile, micros };
    return { entries: this.#entries, cursor };
  }

  /** `done`: the page is full, or all that is left is too old. */
  file(file: number, content: Uint8Array): 'done' | 'more' {
    const { places, isDamaged } = blocksIn(content);
    const { cursor, sinceMicros = 0n } = this.#ask;
    const from = cursor?.file === file ? cursor : { block: wholeFile, entry: wholeFile };
    this.#isDamaged = isDamaged && from.block === wholeFile;
    for (let at = Math.min(from.block, places.length - 1); at >= 0; at--) {
      const place = places[at];
      const block = place && readBlock(content, place);
      if (block === undefined) {
        this.#isDamaged = true;
        continue;
      }
      if (block.writtenMicros < sinceMicros) return 'done';
      if (this.#isFiltered && !block.callers.some((caller) => this.#isWanted(caller))) continue;
      const entries = block.entries();
      const end = at === from.block ? from.entry : wholeFile;
      for (let index = Math.min(end, entries.length) - 1; index >= 0; index--) {
        const entry = entries[index];
        if (entry === undefined || !this.#wants(entry)) continue;
        if (!this.#show(entry)) return 'done';
        this.#last = { file, block: at, entry: index, micros: entry.micros };
      }
    }
    return 'more';
  }

  /** False: the page is full. */
  #show(entry: LedgerEntry): boolean {
    if (this.#shown >= this.#ask.limit) {
      this.#isFull = true;
      return false;
    }
    const { micros } = entry;
    // A service that ended after this entry is a line behind it.
    for (let newest = this.#crashes.at(-1); newest !== undefined; newest = this.#crashes.at(-1)) {
      if (newest < micros) break;
      this.#crashes.pop();
      this.#entries.push(lostEntry(newest, 'crash'));
    }
    if (this.#isDamaged) this.#entries.push(lostEntry(micros, 'damaged'));
    this.#isDamaged = false;
    this.#entries.push(entry);
    this.#shown += 1;
    return true;
  }

  get #isFiltered(): boolean {
    return this.#ask.token !== undefined || this.#ask.identity !== undefined;
  }

  #isWanted({ identity, token, maker }: LedgerCaller): boolean {
    const { token: wantedToken, identity: wanted } = this.#ask;
    if (wantedToken !== undefined && token !== wantedToken) return false;
    return wanted === undefined || identity === wanted || maker === wanted;
  }

  #wants({ caller, micros }: LedgerEntry): boolean {
    if (micros < (this.#ask.sinceMicros ?? 0n)) return false;
    if (!this.#isFiltered) return true;
    return caller !== undefined && this.#isWanted(caller);
  }
}

/** `crash`: what was done in the last moments before may be missing. */
export function lostEntry(
  micros: bigint,
  result: 'crash' | 'damaged' | 'overload',
  count = 1,
): LedgerEntry {
  const action = 'lost';
  const unknown = { caller: undefined, subject: '', rows: undefined, offset: undefined };
  return { micros, action, result, count, ...unknown };
}
