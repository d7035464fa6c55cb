import { assert, unreachable } from '../../assert.ts';
import type { DerivedIndexSpec } from '../../schema/catalog.ts';
import type { Language } from '../../schema/languages.ts';
import type { Search as TextSearch } from '../../search/search.ts';
import type { DerivedRequest } from '../../store/derived-body.ts';
import type { DerivedIndex } from '../../store/derived-index.ts';
import type { RowRefs } from '../../store/row-ref.ts';
import type { Table } from '../../store/table.ts';
import { readCount, skipperOf } from '../../values/layout.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import type { CompileContext } from '../expressions/compile-context.ts';
import { compileExpression } from '../expressions/compile-expression.ts';
import { compileKey } from '../expressions/compile-key.ts';
import type { Frame } from '../expressions/frame.ts';
import { SqlFailure } from '../failure.ts';
import { borrowWriter, giveBackWriter } from '../functions/borrowed-writer.ts';
import { searchOf } from '../functions/full-text.ts';
import type { QueryValue } from '../functions/function.ts';
import type { RefFinder } from '../operators/table-source.ts';
import type { Access, Search } from '../plan/plan.ts';

/** Above this share of all rows, looking at each of them one by one costs more than a scan. */
const searchShareMax = 0.25;

/**
 * Finds the rows that a derived index gives, in storage order, like a scan: another order would
 * reveal how many rows exist, even hidden ones. `undefined` if they are many: a scan looks at all.
 */
export function compileSearch(
  { index: spec, search }: Extract<Access, { readonly kind: 'search' }>,
  number: number,
  context: CompileContext,
): RefFinder {
  const requestOf = compileRequest(search, context);
  return (state) => {
    const request = requestOf(state);
    if (request === 'none') return noRefs;
    if (request === 'all') return undefined;
    const table = state.table(number);
    const source = state.sources?.[number] ?? table;
    const found = source.search(derivedIndexOf(table, spec), request);
    if (found === undefined || found.length > source.rowCount * searchShareMax) return undefined;
    return inOrderOnce(found);
  };
}

/**
 * The request of one execution; `none` if the condition is null for every row, `all` if only a scan
 * gives its answer.
 */
type RequestOf = (frame: Frame) => DerivedRequest | 'none' | 'all';

function compileRequest(search: Search, context: CompileContext): RequestOf {
  switch (search.kind) {
    case 'inverted':
      return compileInverted(search, context);
    case 'text':
      return compileText(search, context);
    default:
      return unreachable(search);
  }
}

function compileInverted(
  { match, operand, isArray }: Extract<Search, { readonly kind: 'inverted' }>,
  context: CompileContext,
): RequestOf {
  const write = compileKey([operand], context);
  const elementsOf = isArray ? splitter(operand.type, context.types) : undefined;
  return (frame) => {
    const writer = borrowWriter();
    const bytes = write(frame, writer) ? writer.finish() : undefined;
    giveBackWriter(writer);
    if (bytes === undefined) return 'none';
    return { kind: 'inverted', match, elements: elementsOf?.(bytes) ?? [bytes] };
  };
}

/**
 * A query beyond its bounds fails where a row is compared with it, and not for a table without
 * rows.
 */
function compileText(
  { query, language }: Extract<Search, { readonly kind: 'text' }>,
  context: CompileContext,
): RequestOf {
  const evaluate = compileExpression(query, context);
  return (frame) => {
    const text = evaluate(frame);
    if (text === null) return 'none';
    const search = boundedSearch(text, language);
    return search === undefined ? 'all' : { kind: 'text', search };
  };
}

/** `undefined`: the query is too long. */
export function boundedSearch(text: QueryValue, language: Language): TextSearch | undefined {
  try {
    return searchOf(text, language);
  } catch (error) {
    if (error instanceof SqlFailure) return undefined;
    throw error;
  }
}

/** The encoded elements of an encoded array. */
function splitter(
  type: AlgebraicType,
  types: CompileContext['types'],
): (array: Uint8Array) => Uint8Array[] {
  const array = resolveType(type, types);
  assert(array.kind === 'array', 'the operand of an array operator is an array');
  const skip = skipperOf(array.element, types);
  return (bytes) => {
    const elements: Uint8Array[] = [];
    let at = 4;
    for (let left = readCount(bytes, 0); left > 0; left--) {
      const end = skip(bytes, at);
      elements.push(bytes.subarray(at, end));
      at = end;
    }
    return elements;
  };
}

/** The refs in ascending order, each once. Changes the list. */
export function inOrderOnce(refs: RowRefs): RowRefs {
  let isAscending = true;
  for (let at = 1; at < refs.length && isAscending; at++) {
    isAscending = (refs[at - 1] as number) < (refs[at] as number);
  }
  if (isAscending) return refs;
  refs.sort();
  let length = 0;
  for (let at = 0; at < refs.length; at++) {
    if (at > 0 && refs[at] === refs[at - 1]) continue;
    refs[length++] = refs[at] as number;
  }
  return refs.subarray(0, length);
}

export function derivedIndexOf(table: Table, spec: DerivedIndexSpec): DerivedIndex {
  const index = table.derivedIndexes.find((candidate) => candidate.spec.id === spec.id);
  assert(index !== undefined, `index ${spec.name}, which was planned with, is there`);
  return index;
}

const noRefs: RowRefs = new Int32Array(0);
