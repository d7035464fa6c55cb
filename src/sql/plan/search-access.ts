import { unreachable } from '../../assert.ts';
import type { DerivedIndexSpec } from '../../schema/catalog.ts';
import { type Language, languageOf, plainLanguage } from '../../schema/languages.ts';
import { columnOf } from '../check/conjuncts.ts';
import type { TypedExpression } from '../check/typed.ts';
import { decodeQueryValue } from '../functions/value-codec.ts';
import type { Search } from './plan.ts';

/**
 * What a derived index is asked so that it finds all rows of a slot for which a conjunct holds;
 * `undefined`: it cannot. Each kind of index has a case here.
 */
export function searchOf(
  index: DerivedIndexSpec,
  conjunct: TypedExpression,
  slot: number,
): Search | undefined {
  switch (index.kind) {
    case 'inverted':
      return invertedSearch(index.column, conjunct, slot);
    case 'text':
      return textSearch(index, conjunct, slot);
    // It gives an order, which conditions do not ask for.
    case 'vector':
      return undefined;
    default:
      return unreachable(index.kind);
  }
}

/** The expressions that a search takes its request from. */
export function operandsOf(search: Search): readonly TypedExpression[] {
  switch (search.kind) {
    case 'inverted':
      return [search.operand];
    case 'text':
      return [search.query];
    default:
      return unreachable(search);
  }
}

/** `x = ANY(column)`, `column @> array`, `array <@ column`, `column && array`. */
function invertedSearch(
  column: number,
  conjunct: TypedExpression,
  slot: number,
): Search | undefined {
  if (conjunct.kind !== 'call') return undefined;
  const [left, right] = conjunct.arguments;
  if (left === undefined || right === undefined) return undefined;
  const isColumn = (operand: TypedExpression) =>
    operand.kind === 'column' && columnOf(operand, slot)?.column === column;
  switch (conjunct.function.name) {
    case '= any':
      if (!isColumn(right)) return undefined;
      return { kind: 'inverted', match: 'any', operand: left, isArray: false };
    case '@>':
      if (!isColumn(left)) return undefined;
      return { kind: 'inverted', match: 'all', operand: right, isArray: true };
    case '&&': {
      const operand = isColumn(left) ? right : isColumn(right) ? left : undefined;
      return operand && { kind: 'inverted', match: 'any', operand, isArray: true };
    }
    default:
      return undefined;
  }
}

/** `search(column, query)` in a language whose words the index can find. */
function textSearch(
  index: DerivedIndexSpec,
  conjunct: TypedExpression,
  slot: number,
): Search | undefined {
  if (conjunct.kind !== 'call' || conjunct.function.name !== 'search') return undefined;
  const [text, query, named] = conjunct.arguments;
  const isColumn = text?.kind === 'column' && columnOf(text, slot)?.column === index.column;
  if (!isColumn || query === undefined) return undefined;
  const language = servedLanguage(index, named);
  return language && { kind: 'text', query, language };
}

/** The language that is written out, or the plain one, if an index serves it. */
export function servedLanguage(
  { options }: DerivedIndexSpec,
  named: TypedExpression | undefined,
): Language | undefined {
  if (named === undefined) return plainLanguage;
  if (named.kind !== 'constant') return undefined;
  const language = decodeQueryValue(named.type, named.bytes);
  if (language === plainLanguage) return plainLanguage;
  const own = languageOf(options);
  return language === own ? own : undefined;
}
