import { unreachable } from '../../assert.ts';
import { decodeValue } from '../../values/decode.ts';
import { specialKindOf } from '../../values/special-types.ts';
import { valueToText } from '../../values/text.ts';
import type { AlgebraicType, Typespace } from '../../values/type.ts';
import { typeText } from '../../values/typespace.ts';
import type { TypedExpression } from '../check/typed.ts';
import { optionInnerType } from '../functions/convert.ts';
import { enumNames } from '../functions/enum.ts';
import { someTag } from '../functions/option-bytes.ts';

/** The names and types that the texts of a plan need. */
export interface TextScope {
  readonly types: Typespace;
  /** The name of the relation in a slot. */
  readonly nameOf: (slot: number) => string;
  readonly parameterName: (parameter: number) => string;
}

/** Writes an expression roughly as SQL, for people to read. */
export function expressionText(e: TypedExpression, scope: TextScope): string {
  const text = (operand: TypedExpression): string => operandText(operand, scope);
  switch (e.kind) {
    case 'column':
      return `${scope.nameOf(e.slot)}.${e.name}`;
    case 'constant':
      if (e.bytes === undefined) return 'NULL';
      return constantText(e.type, e.bytes, scope.types);
    case 'parameter':
      return scope.parameterName(e.parameter);
    case 'value':
      return `value ${e.value}`;
    case 'comparison':
    case 'arithmetic':
      return `${text(e.left)} ${e.operator} ${text(e.right)}`;
    case 'and':
    case 'or':
      return e.terms.map(text).join(e.kind === 'and' ? ' AND ' : ' OR ');
    case 'not':
      return `NOT ${text(e.operand)}`;
    case 'isNull':
      return `${text(e.operand)} IS NULL`;
    case 'negate':
      return `-${text(e.operand)}`;
    case 'isDistinct':
      return `${text(e.left)} IS DISTINCT FROM ${text(e.right)}`;
    case 'inList':
      return `${text(e.operand)} IN (${e.values.map(text).join(', ')})`;
    case 'like':
      return `${text(e.operand)} ${e.ignoresCase ? 'ILIKE' : 'LIKE'} ${text(e.pattern)}`;
    case 'case':
      return 'CASE …';
    case 'convert':
      return `CAST(${expressionText(e.operand, scope)} AS ${typeText(e.type, scope.types)})`;
    case 'call': {
      const list = e.arguments.map((argument) => expressionText(argument, scope));
      return `${e.function.name}(${list.join(', ')})`;
    }
    case 'field':
    case 'variant':
      // What an Option holds goes by the name of the Option.
      if (e.kind === 'variant' && specialKindOf(e.operand.type) === 'option') {
        return e.tag === someTag ? text(e.operand) : `${text(e.operand)}.none`;
      }
      return `${text(e.operand)}.${e.kind === 'field' ? e.element : e.tag}`;
    case 'subquery':
      return subqueryText(e, scope);
    default:
      return unreachable(e);
  }
}

function constantText(type: AlgebraicType, bytes: Uint8Array, types: Typespace): string {
  const inner = optionInnerType(type, types);
  if (inner !== undefined) {
    return bytes[0] === someTag ? constantText(inner, bytes.subarray(1), types) : 'NULL';
  }
  const variant = enumNames(type)?.[bytes[0] ?? 0];
  if (variant !== undefined) return `'${variant}'`;
  return valueToText(type, decodeValue(type, bytes, types), types);
}

function subqueryText(
  { mode, operand }: Extract<TypedExpression, { readonly kind: 'subquery' }>,
  scope: TextScope,
): string {
  switch (mode) {
    case 'scalar':
      return '(subquery)';
    case 'exists':
      return 'EXISTS (subquery)';
    case 'in':
      return `${operand === undefined ? '' : operandText(operand, scope)} IN (subquery)`;
    default:
      return unreachable(mode);
  }
}

function operandText(e: TypedExpression, scope: TextScope): string {
  const inner = expressionText(e, scope);
  switch (e.kind) {
    case 'and':
    case 'or':
    case 'comparison':
    case 'arithmetic':
    case 'not':
    case 'like':
    case 'inList':
    case 'isNull':
      return `(${inner})`;
    default:
      return inner;
  }
}
