import { type Form, type Killer, killersOf, times } from './killer-module.ts';

/** Lists of 256 MiB each, made without a loop. */
const makers: readonly string[] = [
  'new Array(33554432)',
  'Array(33554432)',
  'new Array(33554432).fill(0)',
  'Array.from({ length: 33554432 })',
  '[...a]',
  '[...a, 1]',
  '[...a.keys()]',
  '[...a.values()]',
  'a.slice()',
  'a.slice(1)',
  'a.concat()',
  'a.concat([1])',
  'a.toReversed()',
  'a.toSpliced(0, 1)',
  'a.with(0, 1)',
  'a.flat()',
  'Array.from(a)',
  'Array.of(...a.slice(0, 100000))',
  'new Float64Array(a)',
  'Float64Array.from(a)',
  'new Set(s)',
  'new Map(m)',
  'new Uint8Array(2 ** 28).fill(1)',
  'u.slice()',
  'new Uint8Array(u)',
  'u.buffer.slice(0)',
  'Object.freeze(new Array(33554432))',
  'Array.apply(null, new Array(100000) as unknown[])',
];

const count = 24;
const head = `const a = new Array(33554432).fill(0);`;
const sources: readonly [RegExp, string][] = [
  [/\ba\b/, head],
  [/\bu\b/, 'const u = new Uint8Array(2 ** 28).fill(1);'],
  [/\bs\b/, 'const s = new Set(new Array(4000000).keys());'],
  [/\bm\b/, 'const m = new Map(new Array(4000000).entries());'],
];
const needs = (make: string) =>
  sources.map(([name, text]) => (name.test(make) ? text : '')).join(' ');

const forms: readonly Form[] = [
  ...makers.map(
    (make): Form => [`24 of ${make}`, `${needs(make)} kept = [${times(count, make)}];`],
  ),
  [
    '24 consts of new Array',
    `${times(count, 'const c@ = new Array(33554432);', ' ')} kept = () => [${times(count, 'c@')}];`,
  ],
  [
    '24 consts of a spread array',
    `${head} ${times(count, 'const c@ = [...a];', ' ')} kept = () => [${times(count, 'c@')}];`,
  ],
  [
    '24 lengths',
    `kept = [${times(count, '(() => { const l: unknown[] = []; l.length = 33554432; return l; })()')}];`,
  ],
  [
    '24 rests',
    `${head} ${times(count, 'const [, ...r@] = a;', ' ')} kept = () => [${times(count, 'r@')}];`,
  ],
  ['one literal of 24 spreads', `${head} kept = [${times(count, '...a')}];`],
  ['arguments of 24 spreads', `${head} kept = Math.max(${times(count, '...a')});`],
  ['a getter in a long array', `${head} Object.defineProperty(a, 0, { get: () => 1 }); kept = a;`],
  [
    'getters in 24 long arrays',
    `kept = [${times(count, 'Object.defineProperty(new Array(33554432).fill(0), 0, { get: () => 1 })')}];`,
  ],
  [
    'Reflect.defineProperty of a long array',
    `${head} Reflect.defineProperty(a, 7, { get: () => 1 }); kept = a;`,
  ],
  [
    '__defineGetter__ of a long array',
    `${head} (a as any).__defineGetter__(0, () => 1); kept = a;`,
  ],
  ['a far element of a long array', `${head} a[4294967000] = 1; kept = a;`],
  ['a sealed long array', `${head} Object.seal(a); a[4] = 1; kept = a;`],
  ['frozen, then asked', `${head} Object.freeze(a); kept = Object.isFrozen(a);`],
  [
    'an unwritable length',
    `${head} Object.defineProperty(a, 'length', { writable: false }); kept = a;`,
  ],
  [
    'a long list of arguments',
    `kept = String.fromCharCode.apply(null, new Uint8Array(2 ** 28) as unknown as number[]);`,
  ],
  ['Reflect.apply of bytes', `kept = Reflect.apply(Math.max, null, new Uint8Array(2 ** 28));`],
  ['Reflect.construct of bytes', `kept = Reflect.construct(Array, new Uint8Array(2 ** 28));`],
  [
    'sorting floats',
    `const f = new Float64Array(2 ** 24).map((_, n) => (n * 7919) % 1e6); kept = [${times(count, 'f.toSorted()')}];`,
  ],
  ['sorting bytes through a getter', `kept = new Float64Array(2 ** 24).fill(2).sort();`],
  [
    'a joined list of lists',
    `let l: unknown[] = ['']; for (let n = 0; n < 24; n += 1) l = [l, l]; kept = [${times(8, 'l.join("ab")')}];`,
  ],
  [
    'a list in words',
    `let l: unknown[] = [1]; for (let n = 0; n < 22; n += 1) l = [l, l]; kept = l.toLocaleString();`,
  ],
  [
    'JSON of a list of lists',
    `let l: unknown[] = [1]; for (let n = 0; n < 28; n += 1) l = [l, l]; kept = [${times(count, 'JSON.stringify(l)')}];`,
  ],
  ['JSON of holes', `kept = [${times(count, 'JSON.stringify(new Array(33554432))')}];`],
  ['JSON of bytes', `kept = JSON.stringify(new Uint8Array(6e7));`],
  [
    'parsed JSON, 24 times',
    `const t = '[' + '0,'.repeat(2 ** 24 - 2) + '0]'; kept = [${times(count, 'JSON.parse(t)')}];`,
  ],
  [
    'parsed objects',
    `const t = '[' + '{},'.repeat(2 ** 23) + '0]'; kept = [${times(count, 'JSON.parse(t)')}];`,
  ],
  [
    'parsed keys',
    `let t = '{'; for (let n = 0; n < 2e6; n += 1) t += '"k' + n + '":0,'; t += '"z":0}'; kept = [${times(count, 'JSON.parse(t)')}];`,
  ],
  ['a map of pairs', `kept = new Map(new Array(16000000).entries());`],
  ['an object of pairs', `kept = Object.fromEntries(new Array(33554432).entries());`],
  ['searched 4000 times', `${head} kept = [${times(4000, 'a.includes(1)')}];`],
  ['weak references', `kept = [${times(count, 'new WeakRef(new Array(33554432))')}];`],
];

/** Lists: constructors, copies, and what turns elements into properties. */
export const ofLists: readonly Killer[] = killersOf(forms);
