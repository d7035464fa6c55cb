/** How the files of this folder declare their functions. */

import type { AlgebraicType } from '../../values/type.ts';
import { typesEqual } from '../../values/typespace.ts';
import { isWidening } from './convert.ts';
import type { FunctionFamily, QueryValue, ResolvedFunction, ScalarFunction } from './function.ts';
import { isIntegerType } from './value-kind.ts';

export type Evaluate = (values: readonly QueryValue[], nowMicros: bigint) => QueryValue;

/** One list of parameters, and what it computes. */
export interface Overload {
  readonly parameters: readonly AlgebraicType[];
  /** How many parameters may be left out at the end. */
  readonly optionalCount?: number;
  /** The last parameter may be repeated. */
  readonly isVariadic?: boolean;
  /** The parameters are String, and arguments of all types are converted to it. */
  readonly takesAnything?: boolean;
  readonly result: AlgebraicType;
  /** The result can be null although no argument is null. */
  readonly isNullable?: boolean;
  readonly isStrict?: boolean;
  readonly isNullableFor?: ScalarFunction['isNullableFor'];
  readonly canRaise?: boolean;
  readonly canRaiseWith?: ScalarFunction['canRaiseWith'];
  readonly evaluate: Evaluate;
}

/** A function whose overloads are fixed lists of types; the first match is taken. */
export function family(
  name: string,
  signatures: readonly string[],
  overloads: readonly Overload[],
): FunctionFamily {
  return {
    name,
    signatures,
    resolve: (types) => {
      for (const overload of overloads) {
        const resolved = resolveOverload(name, overload, types);
        if (resolved !== undefined) return resolved;
      }
      return undefined;
    },
  };
}

/** A function under another name. */
export function alias(name: string, original: FunctionFamily): FunctionFamily {
  return { ...original, name };
}

/** A function for exactly these parameters, for families that inspect the types themselves. */
export function resolved(
  name: string,
  overload: Omit<Overload, 'optionalCount' | 'isVariadic' | 'takesAnything'>,
): ResolvedFunction<ScalarFunction> {
  const { parameters, result, evaluate, isNullableFor, canRaiseWith } = overload;
  return {
    function: {
      name,
      parameters,
      isStrict: overload.isStrict ?? true,
      canRaise: overload.canRaise ?? false,
      evaluate,
      ...(isNullableFor === undefined ? {} : { isNullableFor }),
      ...(canRaiseWith === undefined ? {} : { canRaiseWith }),
    },
    result: { type: result, isNullable: overload.isNullable ?? false },
  };
}

function resolveOverload(
  name: string,
  overload: Overload,
  types: readonly (AlgebraicType | undefined)[],
): ResolvedFunction<ScalarFunction> | undefined {
  const { optionalCount = 0, isVariadic = false, takesAnything = false } = overload;
  const countMax = isVariadic ? Number.POSITIVE_INFINITY : overload.parameters.length;
  if (types.length > countMax) return undefined;
  if (types.length < overload.parameters.length - optionalCount) return undefined;
  const parameters: AlgebraicType[] = [];
  for (const [at, type] of types.entries()) {
    const parameter = overload.parameters[Math.min(at, overload.parameters.length - 1)];
    if (parameter === undefined) return undefined;
    if (!takesAnything && !isAccepted(type, parameter)) return undefined;
    parameters.push(parameter);
  }
  return resolved(name, { ...overload, parameters });
}

/**
 * Whether an argument of type `type` is accepted for `parameter`: the same type, a number that
 * widens to it, or any integer for another integer, whose range is checked then.
 */
export function isAccepted(type: AlgebraicType | undefined, parameter: AlgebraicType): boolean {
  if (type === undefined || isWidening(type, parameter) || typesEqual(type, parameter)) return true;
  return isIntegerType(type) && isIntegerType(parameter);
}

/** Nullable only if all arguments are: for functions that skip nulls. */
export function nullableIfAll(isArgumentNullable: readonly boolean[]): boolean {
  return isArgumentNullable.every((isNullable) => isNullable);
}
