/** Functions over numbers. Integers keep their width; a result out of range or undefined raises. */
import { type IntegerKind, integerRange, isIntegerKind } from '../../values/integer-range.ts';
import { timeDurationType } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { invalid } from '../failure.ts';
import { arithmeticOf, divisionByZero, integerOverflow, promotedType } from './arithmetic.ts';
import { roundHalfToEven } from './convert.ts';
import { alias, family, isAccepted, resolved } from './family.ts';
import type { FunctionFamily, QueryValue } from './function.ts';
import {
  isFloatType,
  isIntegerType,
  isNumericType,
  scalarTypes,
  valueKindOf,
} from './value-kind.ts';

const { f64, i64 } = scalarTypes;

/** A function of one float; `isDefined` tells for which arguments it has a value. */
function ofFloat(
  name: string,
  compute: (value: number) => number,
  isDefined?: (value: number) => boolean,
): FunctionFamily {
  return family(
    name,
    [`${name}(number F64) → F64`],
    [
      {
        parameters: [f64],
        result: f64,
        canRaise: isDefined !== undefined,
        evaluate: ([argument]) => {
          const value = argument as number;
          if (isDefined !== undefined && !isDefined(value)) throw outOfDomain(name, value);
          return compute(value);
        },
      },
    ],
  );
}

function outOfDomain(name: string, ...values: readonly QueryValue[]): Error {
  return invalid(`${name}(${values.join(', ')}) has no value`);
}

/** A function whose result has the type of its argument; an open argument is a float. */
function keepingType(
  name: string,
  ofInteger: (kind: IntegerKind) => (value: QueryValue) => QueryValue,
  ofNumber: (value: number) => number,
  canRaise = false,
): FunctionFamily {
  return {
    name,
    signatures: [`${name}(number any number) → the same type`],
    resolve: (types) => {
      if (types.length !== 1) return undefined;
      const type = types[0] ?? f64;
      if (!isNumericType(type)) return undefined;
      const compute = isIntegerKind(type.kind)
        ? ofInteger(type.kind)
        : (value: QueryValue) => ofNumber(value as number);
      return resolved(name, {
        parameters: [type],
        result: type,
        canRaise: canRaise && isIntegerType(type),
        evaluate: ([value]) => compute(value as QueryValue),
      });
    },
  };
}

const unchanged = () => (value: QueryValue) => value;

const absoluteNumber = keepingType(
  'abs',
  (kind) => {
    const { max } = integerRange[kind];
    return (value) => {
      const number = value as number | bigint;
      if (number >= 0) return value;
      if (-number > max) throw integerOverflow(`abs(${number})`, kind);
      return -number;
    };
  },
  Math.abs,
  true,
);

const absolute: FunctionFamily = {
  ...absoluteNumber,
  signatures: [
    'abs(number any number) → the same type',
    'abs(duration TimeDuration) → TimeDuration',
  ],
  resolve: (types) => {
    const [type] = types;
    if (type === undefined || types.length !== 1 || valueKindOf(type) !== 'timeDuration') {
      return absoluteNumber.resolve(types);
    }
    return resolved('abs', {
      parameters: [timeDurationType],
      result: timeDurationType,
      canRaise: true,
      evaluate: ([value]) => {
        const micros = value as bigint;
        if (micros >= 0n) return micros;
        if (-micros > integerRange.i64.max) throw integerOverflow(`abs(${micros})`, 'i64');
        return -micros;
      },
    });
  },
};

const ceiling = keepingType('ceil', unchanged, Math.ceil);
const sign = keepingType(
  'sign',
  (kind) => {
    const isWide = integerRange[kind].max > 0xffff_ffffn;
    return (value) => {
      const number = value as number | bigint;
      const result = number > 0 ? 1 : number < 0 ? -1 : 0;
      return isWide ? BigInt(result) : result;
    };
  },
  Math.sign,
);

/**
 * `round` and `trunc`, to `digits` after the point; if negative, to tens, hundreds and so on.
 * Halves are rounded away from zero, except that floats without digits go to the even neighbour.
 */
function rounding(name: 'round' | 'trunc'): FunctionFamily {
  return {
    name,
    signatures: [`${name}(number any number [, digits I64]) → the same type`],
    resolve: (types) => {
      if (types.length < 1 || types.length > 2) return undefined;
      const type = types[0] ?? f64;
      if (!isNumericType(type)) return undefined;
      if (types.length === 2 && !isAccepted(types[1], i64)) return undefined;
      const compute = isIntegerKind(type.kind)
        ? integerRounding(name, type.kind)
        : floatRounding(name, type.kind === 'f32');
      return resolved(name, {
        parameters: types.length === 1 ? [type] : [type, i64],
        result: type,
        canRaise: types.length === 2 && name === 'round' && isIntegerType(type),
        evaluate: ([value, digits]) => compute(value as QueryValue, digits as bigint | undefined),
      });
    },
  };
}

type Rounding = (value: QueryValue, digits: bigint | undefined) => QueryValue;

function integerRounding(name: 'round' | 'trunc', kind: IntegerKind): Rounding {
  const { min, max } = integerRange[kind];
  const isWide = max > 0xffff_ffffn;
  return (value, digits = 0n) => {
    if (digits >= 0n) return value;
    // No integer has more than 78 digits.
    const unit = 10n ** (-digits > 80n ? 80n : -digits);
    const whole = BigInt(value as bigint);
    const rest = whole % unit;
    const magnitude = rest < 0n ? -rest : rest;
    let result = whole - rest;
    if (name === 'round' && magnitude * 2n >= unit) result += rest < 0n ? -unit : unit;
    if (result < min || result > max) throw integerOverflow(`round(${value}, ${digits})`, kind);
    return isWide ? result : Number(result);
  };
}

function floatRounding(name: 'round' | 'trunc', isShort: boolean): Rounding {
  return (argument, digits) => {
    const value = argument as number;
    if (!Number.isFinite(value)) return value;
    if (digits === undefined) return name === 'round' ? roundHalfToEven(value) : Math.trunc(value);
    const result = roundDecimal(value, digits, name);
    return isShort ? Math.fround(result) : result;
  };
}

/**
 * Works on the shortest decimal text of the number, so that `round(2.675, 2)` gives the expected
 * 2.68, although the nearest float lies below 2.675.
 */
function roundDecimal(value: number, digits: bigint, name: 'round' | 'trunc'): number {
  if (digits > 340n) return value;
  if (digits < -340n) return value * 0;
  const places = Number(digits);
  const [mantissa = '0', exponent = '0'] = Math.abs(value).toExponential().split('e');
  // The number is `all` times ten to the power of `scale`.
  const all = mantissa.replace('.', '');
  const scale = Number(exponent) - (all.length - 1);
  const dropped = -scale - places;
  if (dropped <= 0) return value;
  const kept = dropped >= all.length ? '0' : all.slice(0, all.length - dropped);
  const next = dropped > all.length ? '0' : all.charAt(all.length - dropped);
  const whole = BigInt(kept) + (name === 'round' && next >= '5' ? 1n : 0n);
  const result = Number(`${whole}e${-places}`);
  return value < 0 ? -result : result;
}

/** `mod(a, b)` and `div(a, b)`: `%` and truncating `/` as functions. */
function division(name: 'mod' | 'div'): FunctionFamily {
  return {
    name,
    signatures: [`${name}(dividend any number, divisor any number) → the promoted type`],
    resolve: (types) => {
      if (types.length !== 2) return undefined;
      const type = commonNumber(types);
      if (type === undefined) return undefined;
      const compute = arithmeticOf(name === 'mod' ? '%' : '/', type, type);
      const truncate = name === 'div' && isFloatType(type);
      return resolved(name, {
        parameters: [type, type],
        result: type,
        canRaise: true,
        evaluate: ([left, right]) => {
          const result = compute(left as QueryValue, right as QueryValue);
          return truncate ? Math.trunc(result as number) : result;
        },
      });
    },
  };
}

/** The type that all numbers are promoted to; open ones take that of the others, or F64. */
function commonNumber(types: readonly (AlgebraicType | undefined)[]): AlgebraicType | undefined {
  let common: AlgebraicType | undefined;
  for (const type of types) {
    if (type === undefined) continue;
    common = common === undefined ? type : promotedType(common, type);
    if (common === undefined || !isNumericType(common)) return undefined;
  }
  return common ?? f64;
}

const power = family(
  'power',
  ['power(base F64, exponent F64) → F64'],
  [
    {
      parameters: [f64, f64],
      result: f64,
      canRaise: true,
      evaluate: ([first, second]) => {
        const base = first as number;
        const exponent = second as number;
        if (base === 0 && exponent < 0) throw divisionByZero();
        // As in other databases, not as in JavaScript: one to any power is one.
        if (base === 1) return 1;
        const result = base ** exponent;
        if (Number.isNaN(result) && !Number.isNaN(base) && !Number.isNaN(exponent)) {
          throw outOfDomain('power', base, exponent);
        }
        return result;
      },
    },
  ],
);

const isPositive = (value: number): boolean => !(value <= 0);
const isUnit = (value: number): boolean => !(value < -1 || value > 1);

/** `log(x)` to base 10, `log(base, x)`. */
const logarithm = family(
  'log',
  ['log(number F64) → F64', 'log(base F64, number F64) → F64'],
  [
    {
      parameters: [f64],
      result: f64,
      canRaise: true,
      evaluate: ([value]) => {
        if (!isPositive(value as number)) throw outOfDomain('log', value as number);
        return Math.log10(value as number);
      },
    },
    {
      parameters: [f64, f64],
      result: f64,
      canRaise: true,
      evaluate: ([first, second]) => {
        const base = first as number;
        const value = second as number;
        if (!isPositive(base) || !isPositive(value)) throw outOfDomain('log', base, value);
        if (base === 1) throw divisionByZero();
        if (base === 10) return Math.log10(value);
        return base === 2 ? Math.log2(value) : Math.log(value) / Math.log(base);
      },
    },
  ],
);

const pi = family('pi', ['pi() → F64'], [{ parameters: [], result: f64, evaluate: () => Math.PI }]);

const arcTangentOfTwo = family(
  'atan2',
  ['atan2(y F64, x F64) → F64'],
  [
    {
      parameters: [f64, f64],
      result: f64,
      evaluate: ([y, x]) => Math.atan2(y as number, x as number),
    },
  ],
);

export const numericFunctions: readonly FunctionFamily[] = [
  absolute,
  ceiling,
  alias('ceiling', ceiling),
  keepingType('floor', unchanged, Math.floor),
  sign,
  rounding('round'),
  rounding('trunc'),
  division('mod'),
  division('div'),
  power,
  alias('pow', power),
  ofFloat('sqrt', Math.sqrt, (value) => !(value < 0)),
  ofFloat('cbrt', Math.cbrt),
  ofFloat('exp', Math.exp),
  ofFloat('ln', Math.log, isPositive),
  ofFloat('log10', Math.log10, isPositive),
  ofFloat('log2', Math.log2, isPositive),
  logarithm,
  pi,
  ofFloat('degrees', (value) => (value * 180) / Math.PI),
  ofFloat('radians', (value) => (value * Math.PI) / 180),
  ofFloat('sin', Math.sin),
  ofFloat('cos', Math.cos),
  ofFloat('tan', Math.tan),
  ofFloat('asin', Math.asin, isUnit),
  ofFloat('acos', Math.acos, isUnit),
  ofFloat('atan', Math.atan),
  arcTangentOfTwo,
];
