import { castNameOf, type IntegerKind, isWithin, type Kind, max, rangeOf } from './kinds.ts';
import type { SharedFunction } from './shared-functions.ts';
import { type Expression, expression, type Part } from './tree.ts';

function called(kind: Kind, parts: readonly Part[], given: Partial<Expression> = {}): Expression {
  return expression(kind, parts, { isLoose: false, ...given });
}

function cast(kind: Kind, inner: Expression, postgres: string): Expression {
  const parts = [
    { ours: 'CAST(', postgres: '(' },
    inner,
    { ours: ` AS ${castNameOf(kind)})`, postgres: `)${postgres}` },
  ];
  return called(kind, parts, { range: inner.range, isDyadic: false });
}

/** A float function with a name that both have, and the range that it leaves. */
function ofFraction(name: string): SharedFunction {
  return {
    result: 'f64',
    make: ({ argument }) => {
      const inner = argument('f64');
      const range = inner.range && { low: inner.range.low - 1n, high: inner.range.high + 1n };
      return called('f64', [`${name}(`, inner, ')'], { range });
    },
  };
}

export const fractionFunctions: readonly SharedFunction[] = [
  ofFraction('floor'),
  ofFraction('ceil'),
  ofFraction('CEILING'),
  ofFraction('round'),
  ofFraction('trunc'),
  {
    result: 'f64',
    make: ({ argument }) => {
      const inner = argument('f64');
      const { range } = inner;
      if (range === undefined) return undefined;
      const high = max(-range.low, max(range.high, 0n));
      return called('f64', ['abs(', inner, ')'], { range: { low: 0n, high } });
    },
  },
  {
    result: 'f64',
    make: ({ argument }) => {
      const inner = argument('f64');
      if (inner.range === undefined) return undefined;
      const high = max(max(-inner.range.low, inner.range.high), 1n);
      return called('f64', ['sqrt(abs(', inner, '))'], {
        range: { low: 0n, high },
        isDyadic: false,
      });
    },
  },
  {
    result: 'f64',
    make: ({ argument }) => {
      const range = { low: -1n, high: 1n };
      return called('f64', ['sign(', argument('f64'), ')'], { range, isDyadic: true });
    },
  },
  {
    result: 'f64',
    make: ({ random, argument }) => {
      const inner = argument(random.pick(['i32', 'u64', 'i8', 'f32', 'u128'] as const));
      return cast('f64', inner, '::float8');
    },
  },
];

const fields = ['year', 'month', 'day', 'hour', 'minute', 'second', 'quarter', 'week'].concat([
  'dow',
  'isodow',
  'doy',
  'isoyear',
  'epoch',
]);
const units = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'];

const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Apia'];
const patterns = ['YYYY-MM-DD HH24:MI:SS', 'IYYY-IW-ID', 'FMMonth DDth, HH12:MI am', 'Dy Q DDD.US'];

export const timeFunctions: readonly SharedFunction[] = [
  {
    result: 'f64',
    make: ({ random, argument }) => {
      const parts = [`EXTRACT(${random.pick(fields)} FROM `, argument('timestamp'), ')'];
      return called('f64', [...parts, { ours: '', postgres: '::float8' }], {
        range: undefined,
        isDyadic: false,
      });
    },
  },
  {
    result: 'timestamp',
    make: ({ random, argument }) =>
      called('timestamp', [`date_trunc('${random.pick(units)}', `, argument('timestamp'), ')']),
  },
  {
    result: 'timestamp',
    make: ({ random, argument }) => {
      const [unit, zone] = [random.pick(units), random.pick(zones)];
      return called('timestamp', [`date_trunc('${unit}', `, argument('timestamp'), `, '${zone}')`]);
    },
  },
  {
    result: 'f64',
    make: ({ random, argument }) => {
      const [field, zone] = [random.pick(fields.slice(0, -1)), random.pick(zones)];
      const end = { ours: `, '${zone}')`, postgres: ` AT TIME ZONE '${zone}')` };
      const given = { range: undefined, isDyadic: false };
      return called('f64', [`date_part('${field}', `, argument('timestamp'), end], given);
    },
  },
  {
    result: 'string',
    make: ({ random, argument }) => {
      const [pattern, zone] = [random.pick(patterns), random.pick(zones)];
      const end = random.chance(0.5)
        ? `, '${pattern}')`
        : {
            ours: `, '${pattern}', '${zone}')`,
            postgres: ` AT TIME ZONE '${zone}', '${pattern}')`,
          };
      return called('string', ['to_char(', argument('timestamp'), end]);
    },
  },
  {
    result: 'duration',
    make: ({ argument }) => {
      const inner = argument('i32');
      return cast('duration', inner, '');
    },
  },
];

/** What an integer is cast and measured with. */
export function integerFunctions(kind: IntegerKind): readonly SharedFunction[] {
  const zeroOrOne: SharedFunction = {
    result: kind,
    make: ({ argument }) => ({
      ...cast(kind, argument('bool'), '::int::numeric'),
      range: { low: 0n, high: 1n },
    }),
  };
  const rounded: SharedFunction = {
    result: kind,
    make: ({ argument }) => {
      const inner = argument('f64');
      const { range } = inner;
      if (range === undefined || !isWithin(range, rangeOf(kind))) return undefined;
      const parts = [
        { ours: 'CAST(', postgres: 'round(' },
        inner,
        { ours: ` AS ${castNameOf(kind)})`, postgres: ')::numeric' },
      ];
      return called(kind, parts, { range });
    },
  };
  const converted: SharedFunction = {
    result: kind,
    make: ({ random, argument }) => {
      const inner = argument(random.pick(['i32', 'u8', 'i64', 'u64', 'i8', 'u128'] as const));
      const { range } = inner;
      if (range === undefined || !isWithin(range, rangeOf(kind))) return undefined;
      return cast(kind, inner, '');
    },
  };
  const signed: SharedFunction = {
    result: kind,
    make: ({ argument }) => {
      const low = kind.startsWith('i') ? -1n : 0n;
      return called(kind, ['sign(', argument(kind), ')'], { range: { low, high: 1n } });
    },
  };
  return [zeroOrOne, rounded, converted, signed, absolute(kind)];
}

function absolute(kind: IntegerKind): SharedFunction {
  return {
    result: kind,
    make: ({ argument }) => {
      const inner = argument(kind);
      const { range } = inner;
      if (range === undefined) return undefined;
      const high = max(-range.low, max(range.high, 0n));
      if (high > rangeOf(kind).high) return undefined;
      return called(kind, ['abs(', inner, ')'], { range: { low: 0n, high } });
    },
  };
}
