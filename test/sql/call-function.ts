import { present } from '../../src/assert.ts';
import { conversionOf } from '../../src/sql/functions/convert.ts';
import type { QueryValue } from '../../src/sql/functions/function.ts';
import { findFunction } from '../../src/sql/functions/library.ts';
import { scalarTypes } from '../../src/sql/functions/value-kind.ts';
import type { AlgebraicType } from '../../src/values/type.ts';
import { typeText } from '../../src/values/typespace.ts';

/** An argument with its type; a bare text is a String, a bare bigint an I64, a number an F64. */
export type Argument = string | number | bigint | boolean | null | Typed;

interface Typed {
  readonly type: AlgebraicType;
  readonly value: QueryValue;
}

export function typed(type: AlgebraicType, value: QueryValue): Typed {
  return { type, value };
}

/** The moment of every statement of these tests: 2025-02-17T10:30:45.123456Z. */
export const nowMicros = 1_739_788_245_123_456n;

/** Calls a function as a statement does: looked up by types, arguments converted, null if strict. */
export function callFunction(name: string, ...written: readonly Argument[]): QueryValue {
  const { values, resolved } = resolveCall(name, written);
  const called = resolved.function;
  const converted = values.map(({ type, value }, at) => {
    const parameter = present(called.parameters[at], 'the parameter');
    if (value === null) return null;
    return present(conversionOf(type ?? parameter, parameter), 'the conversion').convert(value);
  });
  if (called.isStrict && converted.includes(null)) return null;
  return called.evaluate(converted, nowMicros);
}

/** The text of the type that a call has; `none` if there is no such call. */
export function resultType(name: string, ...types: readonly (AlgebraicType | undefined)[]): string {
  const resolved = present(findFunction(name), name).resolve(types);
  return resolved === undefined ? 'none' : typeText(resolved.result.type);
}

function resolveCall(name: string, written: readonly Argument[]) {
  const family = present(findFunction(name), `function ${name}`);
  const values = written.map((argument) =>
    argument !== null && typeof argument === 'object'
      ? argument
      : { type: typeOf(argument), value: argument },
  );
  const resolved = family.resolve(values.map(({ type }) => type));
  return { values, resolved: present(resolved, `${name} for these types`) };
}

function typeOf(value: QueryValue): AlgebraicType | undefined {
  switch (typeof value) {
    case 'string':
      return scalarTypes.string;
    case 'bigint':
      return scalarTypes.i64;
    case 'number':
      return scalarTypes.f64;
    case 'boolean':
      return scalarTypes.bool;
    default:
      return undefined;
  }
}
