import { type Form, type Killer, killersOf, times } from './killer-module.ts';

/** Operators and functions whose result is a number of up to 128 MiB, made without a loop. */
const makers: readonly string[] = [
  '1n << s',
  '2n ** 1000000000n',
  'x + 1n',
  'x - 1n',
  'x * 3n',
  'x / 3n',
  'x | 1n',
  'x & y',
  'x ^ 1n',
  'x >> 1n',
  'x << 1n',
  '~x',
  '-x',
  'BigInt.asUintN(2 ** 29, -1n)',
  'BigInt.asIntN(2 ** 29 - 8, x - 1n)',
];

const huge = 'const s = 2n ** 29n; const x = 1n << s; const y = x - 1n;';
const count = 80;

/** Places for many values at once, none of which holds a call or a loop. */
const containers: readonly [string, (make: string) => string][] = [
  ['an object literal', (make) => `kept = { ${times(count, `k@: ${make}`)} };`],
  [
    'consts',
    (make) => `${times(count, `const c@ = ${make};`, ' ')} kept = () => [${times(count, 'c@')}];`,
  ],
  ['arguments', (make) => `kept = keep(${times(count, make)});`],
  ['arguments of new', (make) => `kept = new Keep(${times(count, make)});`],
  ['class fields', (make) => `kept = new (class { ${times(count, `f@ = ${make};`, ' ')} })();`],
  ['static fields', (make) => `kept = class { ${times(count, `static f@ = ${make};`, ' ')} };`],
  [
    'a static block',
    (make) =>
      `kept = class { static all: unknown[] = []; static { ${times(count, `this.all[@] = ${make};`, ' ')} } };`,
  ],
  ['private fields', (make) => `kept = new (class { ${times(count, `#p@ = ${make};`, ' ')} })();`],
  [
    'default parameters',
    (make) => `kept = ((${times(count, `p@ = ${make}`)}) => () => [${times(count, 'p@')}])();`,
  ],
  [
    'defaults of a pattern',
    (make) => `const [${times(count, `d@ = ${make}`)}] = []; kept = () => [${times(count, 'd@')}];`,
  ],
  [
    'a comma expression',
    (make) => `const a: unknown[] = []; kept = (${times(count, `a[@] = ${make}`)}, a);`,
  ],
  ['a tagged template', (make) => `kept = keep\`${times(count, `\${${make}}`, '')}\`;`],
  ['nested arrays', (make) => `kept = ${'['.repeat(count)}${times(count, `${make}]`)};`],
  ['a map', (make) => `kept = new Map([${times(count, `[@, ${make}]`)}]);`],
  ['a generator', (make) => `kept = (function* () { return [${times(count, make)}]; })().next();`],
  [
    'a labelled block',
    (make) =>
      `const a: unknown[] = []; outer: { ${times(count, `a[@] = ${make};`, ' ')} break outer; } kept = a;`,
  ],
  [
    'cases of a switch',
    (make) =>
      `const a: unknown[] = []; switch (0) { ${times(count, `case @: a[@] = ${make};`, ' ')} } kept = a;`,
  ],
  [
    'conditions',
    (make) =>
      `const a: unknown[] = []; ${times(count, `if (s > 0n) a[@] = ${make};`, ' ')} kept = a;`,
  ],
  ['a spread', (make) => `kept = [...[${times(count, make)}]];`],
  [
    'getters of one object',
    (make) => `const o = { get big() { return ${make}; } }; kept = [${times(count, 'o.big')}];`,
  ],
];

const forms: readonly Form[] = [
  ...makers.map(
    (make): Form => [
      `80 of ${make} in an array literal`,
      `${huge} kept = [${times(count, make)}];`,
    ],
  ),
  ...containers.map(
    ([where, fill]): Form => [`80 of 1n << s in ${where}`, `${huge} ${fill('1n << s')}`],
  ),
  ...containers
    .slice(0, 4)
    .map(([where, fill]): Form => [`80 of x + 1n in ${where}`, `${huge} ${fill('x + 1n')}`]),
  ['increments', `${huge} let i = x; kept = [${times(count, 'i++')}];`],
  ['a long sum', `${huge} kept = ${times(count, 'x', ' + ')};`],
  ['a long product', `${huge} kept = ${times(8, 'y', ' * ')};`],
  ['a division of long numbers', `${huge} kept = (y << 400000000n) / (y >> 1000n);`],
  ['a power of a long number', `${huge} kept = 3n ** 600000000n;`],
  ['decimal digits', `${huge} kept = y.toString();`],
  ['digits of base 3', `${huge} kept = y.toString(3);`],
  ['hexadecimal digits, 80 times', `${huge} kept = [${times(count, 'y.toString(16)')}];`],
  ['parsed digits', `kept = BigInt('7'.repeat(2 ** 27));`],
  [
    'parsed hexadecimal digits, 80 times',
    `const t = '0x' + 'f'.repeat(2 ** 27); kept = [${times(count, 'BigInt(t)')}];`,
  ],
  ['compared with a text', `const t = '7'.repeat(2 ** 27); kept = 5n < (t as unknown as bigint);`],
  ['equal to a text', `const t = '7'.repeat(2 ** 27); kept = (5n as unknown) == t;`],
];

const prelude = `const keep = (...all: unknown[]) => all;
class Keep { all: unknown[]; constructor(...all: unknown[]) { this.all = all; } }`;

/** Numbers without a bound, which no guard of a built-in can see. */
export const ofBigints: readonly Killer[] = killersOf(forms, prelude);
