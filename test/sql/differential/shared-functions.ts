import type { Random } from '../../../src/testing/random.ts';
import { isInteger, type Kind, type Range } from './kinds.ts';
import { fractionFunctions, integerFunctions, timeFunctions } from './shared-number-functions.ts';
import { type Expression, expression, literal, type Part } from './tree.ts';

/** What a function may draw its arguments from. */
export interface ArgumentSource {
  readonly random: Random;
  readonly argument: (kind: Kind) => Expression;
  readonly mayRaise: boolean;
}

/** A function that means the same in both engines. */
export interface SharedFunction {
  readonly result: Kind;
  make(source: ArgumentSource): Expression | undefined;
}

/** The functions with results of this kind. */
export function functionsOf(kind: Kind): readonly SharedFunction[] {
  if (!byKind.has(kind)) {
    const found = isInteger(kind)
      ? [...sharedFunctions, ...integerFunctions(kind)]
      : sharedFunctions;
    byKind.set(
      kind,
      found.filter((shared) => shared.result === kind),
    );
  }
  return byKind.get(kind) ?? [];
}

const byKind = new Map<Kind, readonly SharedFunction[]>();
const lengths: Range = { low: 0n, high: 10_000n };

/** A function over texts; only ASCII has the same letters everywhere. */
function ofText(name: string, needsAscii = false): SharedFunction {
  return {
    result: 'string',
    make: ({ argument }) => {
      const text = argument('string');
      if (needsAscii && !text.isAscii) return undefined;
      return called('string', [`${name}(`, text, ')']);
    },
  };
}

function lengthOf(name: string): SharedFunction {
  return {
    result: 'i64',
    make: ({ argument }) => {
      const text = argument('string');
      return called('i64', [`${name}(`, text, ')'], { range: lengths });
    },
  };
}

/** `name(text, count)`, where the other engine wants a plain `int`. */
function ofTextAndCount(name: string, counts: readonly bigint[]): SharedFunction {
  return {
    result: 'string',
    make: ({ random, argument }) => {
      const count = countOf(random, counts);
      return called('string', [`${name}(`, argument('string'), ', ', ...count, ')']);
    },
  };
}

function countOf(random: Random, counts: readonly bigint[]): Part[] {
  return [literal('i64', random.pick(counts)), { ours: '', postgres: '::int' }];
}

export function called(
  kind: Kind,
  parts: readonly Part[],
  given: Partial<Expression> = {},
): Expression {
  return expression(kind, parts, { isLoose: false, ...given });
}

const characters = ["' '", "'a'", "'ab'", "'b '"];

const nullable = { isNullable: true } as const;
const jsonKinds = ['string', 'string', 'i32', 'u64', 'bool', 'i8'] as const;

/** JSON that is made, and taken apart again: PostgreSQL has other types for it, but not for texts. */
const jsonFunctions: readonly SharedFunction[] = [
  {
    result: 'string',
    make: ({ random, argument }) => {
      const [a, b] = [argument(random.pick(jsonKinds)), argument(random.pick(jsonKinds))];
      const at = random.pick([0, 1, -1, 2]);
      return expression('string', ['json_build_array(', a, ', ', b, `) ->> ${at}`], nullable);
    },
  },
  {
    result: 'string',
    make: ({ random, argument }) => {
      const [a, b] = [argument(random.pick(jsonKinds)), argument(random.pick(jsonKinds))];
      const path = random.pick(['a', 'b,a', 'b,n', 'x']);
      const parts = [
        "json_build_object('a', ",
        a,
        ", 'b', json_build_object('a', ",
        b,
        ", 'n', 1)",
      ];
      return expression('string', [...parts, `) #>> '{${path}}'`], nullable);
    },
  },
  {
    result: 'string',
    make: ({ random, argument }) => {
      const value = argument(random.pick(jsonKinds));
      const [start, end] = [
        { ours: '', postgres: '(' },
        { ours: '', postgres: ')::text' },
      ];
      const object = ["(json_build_object('k', ", value, ") -> 'k')"];
      // Ours would be JSON inside of other JSON, were nothing added.
      return expression('string', [start, ...object, end, " || ''"], nullable);
    },
  },
  {
    result: 'string',
    make: ({ random, argument }) => {
      const value = argument(random.pick(jsonKinds));
      return called('string', ['json_typeof(json_build_array(', value, ') -> 0)'], {
        isNullable: false,
      });
    },
  },
  {
    result: 'u64',
    make: ({ random, argument }) => {
      const value = argument(random.pick(jsonKinds));
      const cast = { ours: '', postgres: '::numeric' };
      const range = { low: 0n, high: 9n };
      return called('u64', ['json_array_length(json_build_array(', value, ', 1))', cast], {
        range,
        isNullable: false,
      });
    },
  },
];

const sharedFunctions: readonly SharedFunction[] = [
  ...fractionFunctions,
  ...timeFunctions,
  ofText('lower', true),
  ofText('UPPER', true),
  ofText('initcap', true),
  ofText('reverse'),
  ofText('btrim'),
  ofText('ltrim'),
  ofText('TRIM'),
  lengthOf('length'),
  lengthOf('CHAR_LENGTH'),
  lengthOf('octet_length'),
  ofTextAndCount('left', [0n, 1n, 2n, -1n, 100n]),
  ofTextAndCount('right', [0n, 1n, 2n, -1n, 100n]),
  ofTextAndCount('repeat', [-1n, 0n, 1n, 2n]),
  ofTextAndCount('substring', [-1n, 0n, 1n, 2n, 3n]),
  ofTextAndCount('lpad', [0n, 1n, 3n, 6n]),
  ofTextAndCount('rpad', [0n, 1n, 3n, 6n]),
  {
    result: 'string',
    make: ({ random, argument }) => {
      const [start, count] = [
        countOf(random, [-1n, 0n, 1n, 2n]),
        countOf(random, [0n, 1n, 2n, 9n]),
      ];
      if (random.chance(0.5)) {
        return called('string', [
          'SUBSTRING(',
          argument('string'),
          ' FROM ',
          ...start,
          ' FOR ',
          ...count,
          ')',
        ]);
      }
      return called('string', ['substr(', argument('string'), ', ', ...start, ', ', ...count, ')']);
    },
  },
  {
    result: 'string',
    make: ({ random, argument }) => {
      const side = random.pick(['BOTH', 'LEADING', 'TRAILING']);
      return called('string', [
        `TRIM(${side} ${random.pick(characters)} FROM `,
        argument('string'),
        ')',
      ]);
    },
  },
  {
    result: 'string',
    make: ({ argument }) =>
      called('string', ['replace(', argument('string'), ', ', argument('string'), ", 'x')"]),
  },
  {
    result: 'string',
    make: ({ argument }) => expression('string', [argument('string'), ' || ', argument('string')]),
  },
  {
    result: 'string',
    make: ({ argument }) =>
      called('string', ['concat(', argument('string'), ", '-', ", argument('string'), ')'], {
        isNullable: false,
      }),
  },
  {
    result: 'string',
    make: ({ argument }) =>
      called('string', ["concat_ws(',', ", argument('string'), ', ', argument('string'), ')']),
  },
  {
    result: 'string',
    make: ({ random, argument }) => {
      const part = countOf(random, [1n, 2n, -1n, 5n]);
      return called('string', ['split_part(', argument('string'), ", 'a', ", ...part, ')']);
    },
  },
  {
    result: 'string',
    make: ({ argument }) => called('string', ['translate(', argument('string'), ", 'abz', 'xy')"]),
  },
  {
    result: 'string',
    make: ({ random, argument }) => {
      const inner = argument(random.pick(['i32', 'u64', 'bool', 'i8']));
      return called('string', [
        { ours: 'CAST(', postgres: '(' },
        inner,
        { ours: ' AS String)', postgres: ')::text' },
      ]);
    },
  },
  ...jsonFunctions,
  {
    result: 'i64',
    make: ({ argument }) =>
      called('i64', ['strpos(', argument('string'), ', ', argument('string'), ')'], {
        range: lengths,
      }),
  },
  {
    result: 'i64',
    make: ({ argument }) =>
      called('i64', ['position(', argument('string'), ' IN ', argument('string'), ')'], {
        range: lengths,
      }),
  },
  {
    result: 'i32',
    make: ({ argument }) =>
      called('i32', ['ascii(', argument('string'), ')'], { range: { low: 0n, high: 0x10_ffffn } }),
  },
];
