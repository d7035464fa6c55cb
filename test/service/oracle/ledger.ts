import type { Row } from './plan.ts';

/** One step of a call: what to do to which table, and with what. */
export type Step =
  | readonly ['put', table: string, row: Omit<RowObject, 'who'>]
  | readonly ['cut', table: string, a: number]
  | readonly ['ring', '', tune: string]
  | readonly ['fail', '', words: string]
  | readonly ['crash', '', ''];

export interface RowObject {
  readonly id: number | string;
  readonly a: number;
  readonly b: number;
  readonly text: string;
  readonly who: readonly [string];
  readonly extra: unknown;
}

/** A commit as the module itself wrote it down. */
export interface Entry {
  readonly n: number;
  readonly tag: number;
  readonly who: readonly [string];
  readonly steps: readonly Step[];
}

export type Word = 'committed' | 'failed';

/** What callers were told of their calls; each call has a tag of its own. */
export class Ledger {
  readonly #words = new Map<number, Word>();
  readonly #told = new Set<number>();
  readonly #asked = new Map<number, readonly Step[]>();
  #lastTag = 0;

  ask(steps: readonly Step[]): number {
    this.#lastTag += 1;
    this.#asked.set(this.#lastTag, steps);
    return this.#lastTag;
  }

  /** `isSafe`: what was told is durable, so that it is so even after a crash. */
  told(tag: number, word: Word, isSafe: boolean): void {
    if (this.#told.has(tag)) throw new Error(`the call ${tag} was answered twice`);
    this.#told.add(tag);
    const steps = this.#asked.get(tag) ?? [];
    const mustFail = steps.some(([kind]) => kind === 'fail' || kind === 'crash');
    if (mustFail !== (word === 'failed')) throw new Error(`the call ${tag} has ${word}`);
    if (isSafe) this.#words.set(tag, word);
  }

  /** What was told must be so; what was not told may have happened once, or not. */
  check(entries: readonly Entry[]): void {
    const seen = new Set<number>();
    for (const { tag } of entries) {
      if (seen.has(tag)) throw new Error(`the call ${tag} has committed twice`);
      if (!this.#asked.has(tag)) throw new Error(`nobody has made the call ${tag}`);
      seen.add(tag);
    }
    for (const [tag, word] of this.#words) {
      if ((word === 'committed') !== seen.has(tag)) throw new Error(`the call ${tag} has ${word}`);
    }
  }
}

/** The tables as they must be after the commits of a journal. */
export class Model {
  readonly #tables: ReadonlyMap<string, Map<string, Row>>;
  readonly #isUnique: (table: string) => boolean;

  constructor(tables: readonly string[], isUnique: (table: string) => boolean) {
    this.#tables = new Map(tables.map((name) => [name, new Map<string, Row>()]));
    this.#isUnique = isUnique;
  }

  apply({ who, steps }: Entry): void {
    for (const step of steps) {
      if (step[0] === 'put') this.#put(step[1], who, step[2]);
      else if (step[0] === 'cut') this.#remove(step[1], (row) => row[1] === step[2]);
    }
  }

  /** Rows of each table, in no order. */
  rows(table: string): Row[] {
    return [...(this.#tables.get(table)?.values() ?? [])];
  }

  #put(table: string, who: readonly [string], row: Omit<RowObject, 'who'>): void {
    const { id, a, b, text, extra } = row;
    if (this.#isUnique(table)) this.#remove(table, (other) => other[0] === id);
    const whole: Row = [id, a, b, text, who, extra];
    this.#tables.get(table)?.set(JSON.stringify(whole), whole);
  }

  #remove(table: string, goes: (row: Row) => boolean): void {
    const rows = this.#tables.get(table) ?? new Map<string, Row>();
    for (const [key, row] of rows) if (goes(row)) rows.delete(key);
  }
}
