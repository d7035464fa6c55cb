import { assert } from '../../assert.ts';
import type { Typespace } from '../../values/type.ts';
import { isNever, isTrue } from '../check/conjuncts.ts';
import type { TypedConstant, TypedExpression, TypedQuery } from '../check/typed.ts';
import { mapExpression, operandsOf } from '../check/typed-expression.ts';
import type { CompileContext } from '../expressions/compile-context.ts';
import { compileExpression } from '../expressions/compile-expression.ts';
import type { Frame } from '../expressions/frame.ts';
import { SqlFailure } from '../failure.ts';
import { encodeQueryValue } from '../functions/value-codec.ts';
import { unwrapConversion } from './unwrap-conversion.ts';

/**
 * Computes what needs neither rows nor the request, from the bottom up. An expression that would
 * raise an error is left alone: maybe no row ever evaluates it. So are calls: a function may look
 * at the time.
 */
export function makeFold(types: Typespace): (expression: TypedExpression) => TypedExpression {
  const context: CompileContext = {
    layoutOf: () => refuse('a slot'),
    types,
    subquery: () => refuse('a query'),
  };
  const fold = (e: TypedExpression): TypedExpression => {
    const folded = foldOperands(e, fold);
    if (folded.kind === 'and' || folded.kind === 'or') return foldChain(folded);
    if (!isComputable(folded)) return unwrapConversion(folded, types);
    try {
      const value = compileExpression(folded, context)(emptyFrame);
      const { type, isNullable } = folded;
      const bytes = value === null ? undefined : encodeQueryValue(type, value, types);
      return { kind: 'constant', type, isNullable: isNullable || bytes === undefined, bytes };
    } catch (error) {
      if (error instanceof SqlFailure) return folded;
      throw error;
    }
  };
  return fold;
}

function refuse(what: string): never {
  assert(false, `a constant needs no ${what}`);
}

const emptyFrame: Frame = { pages: [], rows: [], values: [], parameters: [], nowMicros: 0n };

/** Folds the operands of `e`, not `e` itself; queries inside are folded when they are planned. */
function foldOperands(
  e: TypedExpression,
  fold: (e: TypedExpression) => TypedExpression,
): TypedExpression {
  if (operandsOf(e).length === 0) return e;
  let isSelf = true;
  const folded = mapExpression(e.kind === 'subquery' ? { ...e, query: noQuery } : e, (inner) => {
    if (isSelf) {
      isSelf = false;
      return undefined;
    }
    return fold(inner);
  });
  return e.kind === 'subquery' && folded.kind === 'subquery'
    ? { ...folded, query: e.query }
    : folded;
}

const noQuery: TypedQuery = {
  body: {
    kind: 'block',
    relations: [],
    joins: [],
    where: undefined,
    grouping: undefined,
    having: undefined,
    items: [],
    isDistinct: false,
  },
  order: [],
  limit: undefined,
  offset: undefined,
  columns: [],
  outerSlots: [],
};

function isComputable(e: TypedExpression): boolean {
  switch (e.kind) {
    case 'comparison':
    case 'isDistinct':
    case 'arithmetic':
    case 'not':
    case 'isNull':
    case 'negate':
    case 'convert':
    case 'inList':
    case 'like':
    case 'case':
      return operandsOf(e).every(({ kind }) => kind === 'constant');
    default:
      return false;
  }
}

/** Drops terms that decide nothing; one that decides everything replaces the rest. */
function foldChain(e: Extract<TypedExpression, { readonly kind: 'and' | 'or' }>): TypedExpression {
  const isAnd = e.kind === 'and';
  const decides = (term: TypedExpression): boolean =>
    isAnd ? isNever(term) && !isNull(term) : isTrue(term);
  const decisive = e.terms.find(decides);
  if (decisive !== undefined) return decisive;
  const terms = e.terms.filter((term) => {
    if (term.kind !== 'constant' || isNull(term)) return true;
    return isAnd ? !isTrue(term) : isTrue(term);
  });
  const [first] = terms;
  if (first === undefined) {
    const { type } = e;
    const neutral: TypedConstant = {
      kind: 'constant',
      type,
      isNullable: false,
      bytes: Uint8Array.of(isAnd ? 1 : 0),
    };
    return neutral;
  }
  return terms.length === 1 ? first : { ...e, terms };
}

function isNull(e: TypedExpression): boolean {
  return e.kind === 'constant' && e.bytes === undefined;
}
