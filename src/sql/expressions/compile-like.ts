import { readU32 } from '../../values/read-bytes.ts';
import type { TypedExpression } from '../check/typed.ts';
import {
  checkedEscape,
  defaultEscape,
  type LikeOptions,
  likeMatcher,
  likePieces,
  type TextMatcher,
} from '../functions/like.ts';
import { decodeQueryValue } from '../functions/value-codec.ts';
import { charge } from './charge.ts';
import { testAt } from './compile-comparison.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import type { Evaluator, Test } from './frame.ts';
import { utf8Matcher } from './like-utf8.ts';
import { placeOf } from './place.ts';

type Like = Extract<TypedExpression, { kind: 'like' }>;

/** Whether `operand LIKE pattern` has exactly the truth value `wanted`. */
export function compileLike(expression: Like, wanted: boolean, context: CompileContext): Test {
  const fixed = fixedPattern(expression);
  if (fixed === null) return () => false;
  const place = placeOf(expression.operand, context);
  if (fixed !== undefined && place !== undefined && !expression.ignoresCase) {
    const matches = utf8Matcher(likePieces(fixed.pattern, fixed.options));
    if (matches !== undefined) {
      let looked = 0;
      const isWanted = testAt(place, (bytes, at) => {
        looked = readU32(bytes, at);
        return matches(bytes, at) === wanted;
      });
      return (frame) => {
        looked = 0;
        const result = isWanted(frame);
        charge(frame, looked);
        return result;
      };
    }
  }
  const evaluate = compileLikeValue(expression, context);
  return (frame) => evaluate(frame) === wanted;
}

/** True, false, or null if either operand is null. */
export function compileLikeValue(expression: Like, context: CompileContext): Evaluator {
  const operandOf = compileExpression(expression.operand, context);
  const fixed = fixedPattern(expression);
  if (fixed === null) return () => null;
  if (fixed !== undefined) {
    const matches = likeMatcher(fixed.pattern, fixed.options);
    return (frame) => {
      const text = operandOf(frame);
      if (text === null) return null;
      charge(frame, (text as string).length);
      return matches(text as string);
    };
  }
  const patternOf = compileExpression(expression.pattern, context);
  const escapeOf: Evaluator =
    expression.escape === undefined
      ? () => defaultEscape
      : compileExpression(expression.escape, context);
  const matcherFor = rememberingMatcher(expression.ignoresCase);
  return (frame) => {
    const text = operandOf(frame);
    const pattern = patternOf(frame);
    const character = escapeOf(frame);
    if (text === null || pattern === null || character === null) return null;
    charge(frame, (text as string).length + (pattern as string).length);
    return matcherFor(pattern as string, character as string)(text as string);
  };
}

/** `undefined` if the pattern is not a constant; null if it is the constant NULL. */
function fixedPattern(
  like: Like,
): { readonly pattern: string; readonly options: LikeOptions } | undefined | null {
  const { pattern, ignoresCase } = like;
  if (pattern.kind !== 'constant') return undefined;
  if (like.escape !== undefined && like.escape.kind !== 'constant') return undefined;
  const text = decodeQueryValue(pattern.type, pattern.bytes);
  const character =
    like.escape === undefined
      ? defaultEscape
      : decodeQueryValue(like.escape.type, like.escape.bytes);
  if (text === null || character === null) return null;
  const options = { escape: checkedEscape(character as string), ignoresCase };
  return { pattern: text as string, options };
}

/** Most computed patterns are the same for row after row. */
function rememberingMatcher(
  ignoresCase: boolean,
): (pattern: string, character: string) => TextMatcher {
  let lastPattern: string | undefined;
  let lastEscape: string | undefined;
  let matcher: TextMatcher = () => false;
  return (pattern, character) => {
    if (pattern !== lastPattern || character !== lastEscape) {
      matcher = likeMatcher(pattern, { escape: checkedEscape(character), ignoresCase });
      lastPattern = pattern;
      lastEscape = character;
    }
    return matcher;
  };
}
