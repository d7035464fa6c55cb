import { unreachable } from '../../assert.ts';
import { encodeValue } from '../../values/encode.ts';
import { bytesType, identityType, specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType, Typespace } from '../../values/type.ts';
import { typesEqual, typeText } from '../../values/typespace.ts';
import { invalid, unexpectedType } from '../failure.ts';
import type { ColumnReference, Comparison, Expression, Literal } from '../syntax/ast.ts';
import { encodeLiteralText, isComparable } from './literal.ts';
import { resolveColumn, type Scope } from './names.ts';
import type { TypedConstant, TypedExpression } from './typed.ts';

export interface CheckContext {
  /** What refs in column types index. */
  readonly typespace: Typespace;
  /** What `:sender` stands for. */
  readonly sender: bigint;
}

const bool: AlgebraicType = { kind: 'bool' };

/** Types an expression in a place where a condition is required. */
export function typeCondition(
  expression: Expression,
  scope: Scope,
  context: CheckContext,
): TypedExpression {
  return new Typing(scope, context).as(expression, bool);
}

/** Types `left = right` of a join; the last relation of `scope` is the one that is joined. */
export function typeJoin(
  left: ColumnReference,
  right: ColumnReference,
  scope: Scope,
  context: CheckContext,
): TypedExpression {
  return typeCondition({ kind: 'comparison', operator: '=', left, right }, scope, context);
}

/**
 * The encoded value of a literal in WHERE, LIMIT or SET of a variable: there the text counts, not
 * the kind. Only TRUE and FALSE have a type of their own.
 */
export function literalBytes(
  literal: Literal,
  type: AlgebraicType,
  { typespace }: CheckContext,
): Uint8Array {
  if (literal.kind === 'boolean') {
    if (type.kind !== 'bool') throw unexpectedType('Bool', typeText(type, typespace));
    return Uint8Array.of(literal.value ? 1 : 0);
  }
  const bytes = encodeLiteralText(literal.text, type);
  if (bytes !== undefined) return bytes;
  const typeName = typeText(type, typespace);
  throw invalid(
    `The literal expression \`${literal.text}\` cannot be parsed as type \`${typeName}\``,
  );
}

/** The encoded value of a literal that is stored: a string fits a column of strings only. */
export function encodeAssigned(
  literal: Literal,
  type: AlgebraicType,
  context: CheckContext,
): Uint8Array {
  if (literal.kind === 'string' && type.kind !== 'string') {
    throw unexpectedType('String', typeText(type, context.typespace));
  }
  return literalBytes(literal, type, context);
}

class Typing {
  readonly #scope: Scope;
  readonly #context: CheckContext;

  constructor(scope: Scope, context: CheckContext) {
    this.#scope = scope;
    this.#context = context;
  }

  /** Types `expression` in a place that takes values of type `required`. */
  as(expression: Expression, required: AlgebraicType): TypedExpression {
    switch (expression.kind) {
      case 'boolean':
      case 'string':
      case 'number':
      case 'hex': {
        const bytes = literalBytes(expression, required, this.#context);
        return { kind: 'constant', type: required, bytes };
      }
      case 'sender':
        return this.#sender(required);
      default: {
        const { type, typed } = this.#infer(expression);
        const { typespace } = this.#context;
        if (!typesEqual(type, required, typespace)) {
          throw unexpectedType(typeText(type, typespace), typeText(required, typespace));
        }
        return typed;
      }
    }
  }

  /** Types an expression that has a type of its own. */
  #infer(expression: Expression): {
    readonly type: AlgebraicType;
    readonly typed: TypedExpression;
  } {
    switch (expression.kind) {
      case 'column': {
        const typed = resolveColumn(expression, this.#scope);
        return { type: typed.spec.type, typed };
      }
      case 'boolean':
        return { type: bool, typed: this.as(expression, bool) };
      case 'sender':
        return { type: identityType, typed: this.#sender(identityType) };
      case 'comparison':
        return { type: bool, typed: this.#comparison(expression) };
      case 'not':
        return { type: bool, typed: { kind: 'not', operand: this.as(expression.operand, bool) } };
      case 'and':
      case 'or': {
        const terms = expression.terms.map((term) => this.as(term, bool));
        return { type: bool, typed: { kind: expression.kind, terms } };
      }
      case 'string':
      case 'number':
      case 'hex':
        throw invalid('Cannot resolve type for literal expression');
      case 'call':
        throw invalid(`Unsupported expression: ${expression.text}`);
      case 'unsupported':
        throw invalid(expression.message);
      default:
        return unreachable(expression);
    }
  }

  /** The side that knows its type best says what the other one has to be; in doubt, the left. */
  #comparison(comparison: Comparison): TypedExpression {
    const { operator, left, right } = comparison;
    const isRightLeading = typeStrength(right) > typeStrength(left);
    const leading = this.#infer(isRightLeading ? right : left);
    const other = this.as(isRightLeading ? left : right, leading.type);
    const { type } = leading;
    if (!isComparable(type)) {
      const typeName = typeText(type, this.#context.typespace);
      throw invalid(`Invalid binary operator \`${operator}\` for type \`${typeName}\``);
    }
    const [typedLeft, typedRight] = isRightLeading
      ? [other, leading.typed]
      : [leading.typed, other];
    return { kind: 'comparison', operator, type, left: typedLeft, right: typedRight };
  }

  /** The caller's identity, or its 32 bytes, most significant first. */
  #sender(required: AlgebraicType): TypedConstant {
    const { sender, typespace } = this.#context;
    const little = encodeValue(identityType, [sender]);
    switch (specialKindOf(required)) {
      case 'identity':
        return { kind: 'constant', type: required, bytes: little };
      case 'bytes': {
        const bytes = encodeValue(bytesType, little.toReversed());
        return { kind: 'constant', type: required, bytes };
      }
      default:
        throw unexpectedType(typeText(identityType), typeText(required, typespace));
    }
  }
}

/** How much an operand says about its type: nothing, its usual type, exactly its type. */
function typeStrength(expression: Expression): 0 | 1 | 2 {
  switch (expression.kind) {
    case 'string':
    case 'number':
    case 'hex':
      return 0;
    case 'boolean':
    case 'sender':
      return 1;
    default:
      return 2;
  }
}
