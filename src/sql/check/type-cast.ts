import { encodeValue } from '../../values/encode.ts';
import {
  bytesType,
  connectionIdType,
  identityType,
  timeDurationType,
  timestampType,
  uuidType,
} from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { conversionOf, optionInnerType } from '../functions/convert.ts';
import { encodeLiteralText } from '../functions/literal.ts';
import { momentFromText } from '../functions/time-text.ts';
import { scalarTypes } from '../functions/value-kind.ts';
import type { Expression, Literal } from '../syntax/ast.ts';
import { type Environment, refuse } from './context.ts';
import { unwrapped } from './field.ts';
import { shownType } from './shown-type.ts';
import { typeAlone, typeOpen } from './type-expression.ts';
import { constant, intervalMicros, typeLiteral } from './type-literal.ts';
import type { TypedExpression } from './typed.ts';
import { converted } from './unify.ts';
import { nameHint } from './visibility.ts';

/** `CAST(x AS type)`: a literal is read as that type if possible, else converted. */
export function typeCast(
  { operand, typeName, span }: Extract<Expression, { readonly kind: 'cast' }>,
  environment: Environment,
): TypedExpression {
  if (/^json$/i.test(typeName)) {
    const call = { kind: 'call', name: 'json', arguments: [operand], span } as const;
    return typeAlone({ ...call, ...plainCall }, environment);
  }
  const type = typeNamed(typeName);
  if (type === undefined) {
    const hint = typeHint(typeName);
    throw refuse(`no such type: \`${typeName}\``, span, environment, hint);
  }
  switch (operand.kind) {
    case 'null':
    case 'parameter':
      return typeOpen(operand, type, environment);
    case 'string':
    case 'number':
    case 'hex': {
      const bytes = encodeLiteralText(operand.text, type) ?? momentBytes(operand.text, type);
      if (bytes !== undefined) return constant(type, bytes);
      break;
    }
    default:
  }
  const alone = typeAlone(operand, environment);
  const typed =
    optionInnerType(type, environment.statement.typespace) === undefined
      ? unwrapped(alone, environment)
      : alone;
  if (conversionOf(typed.type, type, environment.statement.typespace) === undefined) {
    const from = shownType(typed.type, environment.statement.typespace);
    throw refuse(`Cannot convert \`${from}\` to \`${shownType(type)}\``, span, environment);
  }
  return converted(typed, type, environment);
}

/** A cast to JSON checks the text; it stays one. */
const plainCall = { isOfRows: false, isDistinct: false, isBare: false, modifiers: undefined };

/** `TIMESTAMP '…'`, `INTERVAL '…'`, `UUID '…'`. */
export function typeTypedLiteral(
  { typeName, text, span }: Extract<Expression, { readonly kind: 'typedLiteral' }>,
  environment: Environment,
): TypedExpression {
  const name = typeName.toUpperCase();
  if (name === 'INTERVAL') {
    const micros = intervalMicros(text, span, environment);
    return constant(timeDurationType, encodeValue(timeDurationType, [micros]));
  }
  const type = name === 'UUID' ? uuidType : timestampType;
  const moment = momentBytes(text, type);
  if (moment !== undefined) return constant(type, moment);
  const literal: Literal = { kind: 'string', text, span };
  return typeLiteral(literal, type, environment);
}

function momentBytes(text: string, type: AlgebraicType): Uint8Array | undefined {
  if (type !== timestampType) return undefined;
  const micros = momentFromText(text.trim());
  return micros === undefined ? undefined : encodeValue(timestampType, [micros]);
}

/** The type that a name in a CAST means: names from messages and SQL names, in any case. */
export function typeNamed(name: string): AlgebraicType | undefined {
  const type = typesByName.get(withoutSize(name));
  // A text would have to be cut; all other sizes concern storage only.
  return type === scalarTypes.string && name.includes('(') ? undefined : type;
}

function withoutSize(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .replace(/ ?\(.*\)/, '')
    .trim();
}

function typeHint(typeName: string): string | undefined {
  const plain = withoutSize(typeName);
  switch (plain) {
    case 'date':
      return "There is no date type: write date_trunc('day', timestamp) for the start of the day";
    case 'numeric':
    case 'decimal':
      return 'There is no decimal type: F64 has about 15 digits, I128 holds whole numbers';
    case 'char':
    case 'character':
    case 'varchar':
    case 'character varying':
      return 'String has no maximum length: write left(text, 10) to shorten one';
    default:
      return nameHint(plain, [...typesByName.keys()]);
  }
}

const typesByName: ReadonlyMap<string, AlgebraicType> = new Map<string, AlgebraicType>([
  ...Object.entries(scalarTypes),
  ['identity', identityType],
  ['connectionid', connectionIdType],
  ['connection_id', connectionIdType],
  ['timestamp', timestampType],
  ['timestamptz', timestampType],
  ['timestamp with time zone', timestampType],
  ['timestamp without time zone', timestampType],
  ['timeduration', timeDurationType],
  ['time_duration', timeDurationType],
  ['interval', timeDurationType],
  ['uuid', uuidType],
  ['bytes', bytesType],
  ['bytea', bytesType],
  ['array<u8>', bytesType],
  ['int', scalarTypes.i32],
  ['int2', scalarTypes.i16],
  ['int4', scalarTypes.i32],
  ['int8', scalarTypes.i64],
  ['integer', scalarTypes.i32],
  ['bigint', scalarTypes.i64],
  ['smallint', scalarTypes.i16],
  ['text', scalarTypes.string],
  ['varchar', scalarTypes.string],
  ['character varying', scalarTypes.string],
  ['real', scalarTypes.f32],
  ['double', scalarTypes.f64],
  ['double precision', scalarTypes.f64],
  ['float', scalarTypes.f64],
  ['float4', scalarTypes.f32],
  ['float8', scalarTypes.f64],
  ['boolean', scalarTypes.bool],
]);
