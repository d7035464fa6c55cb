/**
 * What BM25 needs to know of all texts: how many they are, how many words they have, and in how
 * many of them each word of a query is. `rank` takes it from a query for the whole table.
 */
import { assert } from '../../assert.ts';
import type { TextStatistics } from '../../search/rank.ts';
import { arrayOf } from './arrays.ts';
import { searchOf } from './full-text.ts';
import type { AggregateFunction, QueryValue, Retractable, ScalarFunction } from './function.ts';
import { packedType, unpackerOf } from './packed.ts';
import { scalarTypes } from './value-kind.ts';
import type { ValueType } from './value-type.ts';

const { string, f64 } = scalarTypes;

/** A text, a query and a language. */
export const statisticsParts: readonly ValueType[] = [
  { type: string, isNullable: false },
  { type: string, isNullable: true },
  { type: string, isNullable: true },
];

/** Numbers: of texts, of their words, and of texts with each word of the query. */
export const statisticsType = arrayOf(f64);

/** Statements cannot name it. */
export const statisticsAggregate: AggregateFunction = {
  name: 'text_statistics',
  argument: packedType(statisticsParts),
  makeAccumulator: () => new Statistics(),
};

const unpack = unpackerOf(statisticsParts);

class Statistics implements Retractable {
  #documents = 0;
  #words = 0;
  readonly #counts: number[] = [];

  add(value: QueryValue): void {
    this.#count(value, 1);
  }

  remove(value: QueryValue): void {
    this.#count(value, -1);
  }

  finish(): QueryValue {
    return encoded({ documents: this.#documents, words: this.#words, counts: this.#counts });
  }

  #count(value: QueryValue, step: number): void {
    const [text = null, query = null, language = null] = unpack(value as Uint8Array);
    // The rank is null then.
    if (query === null || language === null) return;
    const { counts, length } = searchOf(query, language).look(text as string);
    this.#documents += step;
    this.#words += length * step;
    for (let word = 0; word < counts.length; word++) {
      this.#counts[word] = (this.#counts[word] ?? 0) + ((counts[word] ?? 0) > 0 ? step : 0);
    }
  }
}

/** Statistics as a value of `statisticsType`. */
export function encoded({ documents, words, counts }: TextStatistics): Uint8Array {
  const numbers = [documents, words, ...Array.from(counts)];
  const bytes = new Uint8Array(4 + numbers.length * 8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, numbers.length, true);
  for (const [at, number] of numbers.entries()) view.setFloat64(4 + at * 8, number, true);
  return bytes;
}

let last: { readonly bytes: QueryValue; readonly statistics: TextStatistics } | undefined;

/** All rows of a statement have the same. */
function decoded(bytes: QueryValue): TextStatistics {
  if (last?.bytes === bytes) return last.statistics;
  assert(bytes instanceof Uint8Array, 'statistics are an array');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const numbers = new Float64Array(view.getUint32(0, true));
  for (let at = 0; at < numbers.length; at++) numbers[at] = view.getFloat64(4 + at * 8, true);
  const [documents = 0, words = 0] = numbers;
  const statistics: TextStatistics = { documents, words, counts: numbers.subarray(2) };
  last = { bytes, statistics };
  return statistics;
}

/** Of a text, a query, a language and the statistics. */
export const rankFunction: ScalarFunction = {
  name: 'rank',
  parameters: [string, string, string, statisticsType],
  isStrict: true,
  canRaise: true,
  evaluate: ([text = null, query = null, language = null, statistics = null]) =>
    searchOf(query, language).rank(text as string, decoded(statistics)),
};
