/**
 * What becomes of a bomb. Whatever it is, the process and other databases live on.
 *
 * - `refused`: a built-in throws a `RangeError` in the program, at once.
 * - `bounded`: it throws after a while, or the watchdog was first.
 * - `ended`: the watchdog ends the database's worker, for time or memory.
 * - `returned`: the call ends as any other: there is nothing to it any more.
 */
/** `large`: it returns, unless it is ended for the 512 MiB that it holds, or its time, before. */
export type BombEnd = 'refused' | 'bounded' | 'ended' | 'returned' | 'large';

export interface Bomb {
  readonly name: string;
  /** Body of a function in a module, made into code there. */
  readonly code: string;
  readonly end: BombEnd;
}

/** By methods that walk a length. Without guards each hangs for ever, or ends the process. */
const listMethods = [
  'copyWithin(1, 0)',
  'every(Boolean)',
  'fill(0)',
  'filter(Boolean)',
  'find(Boolean)',
  'findIndex(Boolean)',
  'findLast(Boolean)',
  'findLastIndex(Boolean)',
  'flat()',
  'flatMap(Boolean)',
  'forEach(Boolean)',
  'includes(1)',
  'indexOf(1)',
  'join("")',
  'lastIndexOf(1)',
  'map(Boolean)',
  'reduce(Boolean, 0)',
  'reduceRight(Boolean, 0)',
  'reverse()',
  'shift()',
  'slice()',
  'some(Boolean)',
  'sort()',
  'splice(0)',
  'toLocaleString()',
  'toReversed()',
  'toSorted()',
  'toSpliced(0, 0)',
  'unshift(1)',
  'with(0, 1)',
];

const lyingProxy = `new Proxy(new Proxy([], {}), (() => { let looks = 0; return {
  get: (target, key) => (key === 'length' ? (looks++ ? 2 ** 53 - 1 : 1) : target[key]) }; })())`;

const ofLists = listMethods.flatMap((method): Bomb[] => {
  const call = `${method.slice(0, method.indexOf('('))}.call(list, ${method.slice(method.indexOf('(') + 1)}`;
  return [
    ['a sparse array', 'new Array(2 ** 32 - 1)'],
    ['an object with a length', '{ length: 2 ** 53 - 1 }'],
    ['a proxy that says another length each time', lyingProxy],
  ].map(([what, list]) => ({
    name: `${method} of ${what}`,
    code: `const list = ${list}; Array.prototype.${call}`,
    end: 'refused',
  }));
});

const ofArrays: readonly Bomb[] = [
  { name: 'fill', code: 'new Array(2 ** 27).fill(0)', end: 'refused' },
  {
    name: 'length, then fill',
    code: 'const a = []; a.length = 2 ** 27; a.fill(0)',
    end: 'refused',
  },
  { name: 'Array.from', code: 'Array.from({ length: 2 ** 27 })', end: 'refused' },
  {
    name: 'a length that changes',
    code: `let looks = 0;
      Array.prototype.sort.call({ get length() { return looks++ ? 2 ** 53 - 1 : 1; } })`,
    end: 'returned',
  },
  {
    name: 'an iterator that changes the length',
    code: `const a = [1]; Object.defineProperty(a, Symbol.iterator, { get() {
      a.length = 2 ** 32 - 1; return undefined; } });
      try { new Uint8Array(a); } catch { Array.from(a); }`,
    end: 'refused',
  },
  {
    name: 'concat of what only says that it is long',
    code: '[].concat({ length: 2 ** 32 - 2, [Symbol.isConcatSpreadable]: true })',
    end: 'refused',
  },
  {
    name: 'concat of many',
    code: 'const a = new Array(2 ** 24).fill(1); [].concat(...new Array(64).fill(a))',
    end: 'bounded',
  },
  {
    name: 'flat of one array many times',
    code: 'let a = [1]; for (let n = 0; n < 40; n += 1) a = [a, a]; a.flat(Infinity)',
    end: 'bounded',
  },
  {
    name: 'sort by text',
    code: 'new Array(2 ** 25).fill(0).map((_, n) => (n * 7919) % 1e6).sort()',
    end: 'ended',
  },
  { name: 'growing', code: 'const a = []; for (;;) a.push(1)', end: 'ended' },
  { name: 'growing holes', code: 'const a = []; for (let n = 0; ; n += 2) a[n] = n', end: 'ended' },
  { name: 'doubling', code: 'let a = [1, 2, 3]; for (;;) a = [...a, ...a]', end: 'ended' },
  { name: 'spread', code: 'f(...new Array(2 ** 25)); function f() {}', end: 'ended' },
  { name: 'apply', code: 'Math.max.apply(null, { length: 2 ** 32 - 1 })', end: 'refused' },
  { name: 'object', code: 'const o = {}; for (let n = 0; ; n += 1) o["k" + n] = n', end: 'ended' },
  {
    name: 'map',
    code: 'new Map((function* () { for (let n = 0; ; n += 1) yield [n, n]; })())',
    end: 'ended',
  },
  { name: 'generators', code: 'const a = []; for (;;) a.push((function* () {})())', end: 'ended' },
];

const ofBuffers: readonly Bomb[] = [
  { name: 'a typed array', code: 'new Uint8Array(2 ** 32).fill(1)', end: 'refused' },
  { name: 'a buffer', code: 'new ArrayBuffer(2 ** 32)', end: 'refused' },
  { name: 'a size as text', code: 'new Uint8Array(String(2 ** 32))', end: 'refused' },
  {
    name: 'a buffer that may grow',
    code: 'const b = new ArrayBuffer(1, { maxByteLength: 2 ** 32 }); b.resize(2 ** 32)',
    end: 'refused',
  },
  {
    name: 'a subclass',
    code: 'class A extends Float64Array {} new A(2 ** 30).fill(1)',
    end: 'refused',
  },
  {
    name: 'the constructor of an array',
    code: 'new (new Uint8Array(1).constructor)(2 ** 32)',
    end: 'refused',
  },
  {
    name: 'another prototype',
    code: 'Reflect.construct(Uint8Array, [2 ** 32], Array)',
    end: 'refused',
  },
  { name: 'a wider copy', code: 'new Float64Array(new Uint8Array(2 ** 27))', end: 'refused' },
  { name: 'a wider from', code: 'Float64Array.from(new Uint8Array(2 ** 27))', end: 'bounded' },
  { name: 'what says it is long', code: 'new Uint8Array({ length: 2 ** 33 })', end: 'refused' },
  {
    name: 'from what says it is long',
    code: 'Uint8Array.from({ length: 2 ** 32 })',
    end: 'refused',
  },
  { name: 'set', code: 'new Uint8Array(2 ** 28).set({ length: 2 ** 28 })', end: 'bounded' },
  { name: 'sort', code: 'new Float64Array(2 ** 25).sort()', end: 'bounded' },
  { name: 'in words', code: 'new Uint8Array(2 ** 24).toLocaleString()', end: 'bounded' },
  {
    name: 'many',
    code: 'const a = []; for (;;) a.push(new Uint8Array(2 ** 28).fill(1))',
    end: 'ended',
  },
  {
    name: 'many copies',
    code: 'const a = [new Uint8Array(2 ** 28)]; for (;;) a.push(a[0].slice())',
    end: 'ended',
  },
];

const ofTexts: readonly Bomb[] = [
  { name: 'split', code: "'x'.repeat(2 ** 27).split('')", end: 'bounded' },
  { name: 'split with a limit', code: "'x,'.repeat(2 ** 26).split(',', 2 ** 30)", end: 'bounded' },
  {
    name: 'split of an object',
    code: "String.prototype.split.call({ toString: () => 'x'.repeat(2 ** 27) }, '')",
    end: 'bounded',
  },
  { name: 'split by a pattern', code: "'x,'.repeat(2 ** 27).split(/,/)", end: 'ended' },
  { name: 'match', code: "'x'.repeat(2 ** 29 - 24).match(/./g)", end: 'ended' },
  { name: 'replaceAll', code: "'x'.repeat(2 ** 28).replaceAll('', 'y')", end: 'refused' },
  { name: 'spread', code: "[...'x'.repeat(2 ** 29 - 24)]", end: 'ended' },
  { name: 'raw', code: 'String.raw({ raw: { length: 2 ** 53 - 1 } })', end: 'refused' },
  {
    name: 'search',
    code: "'ab'.repeat(2 ** 27).includes('a' + 'ab'.repeat(2 ** 19))",
    end: 'refused',
  },
  {
    name: 'search by a pattern',
    code: "new RegExp('a' + 'ab'.repeat(2 ** 14)).test('ab'.repeat(2 ** 27))",
    end: 'refused',
  },
  {
    name: 'JSON.parse',
    code: "JSON.parse('[' + '1,'.repeat(2 ** 28 - 20) + '1]')",
    end: 'refused',
  },
  {
    name: 'JSON.stringify by keys',
    code: 'JSON.stringify({}, new Array(2 ** 27))',
    end: 'refused',
  },
  { name: 'encodeURI', code: "encodeURI('\\u1234'.repeat(2 ** 29 - 24))", end: 'refused' },
  { name: 'normalize', code: "'\\ufdfa'.repeat(2 ** 26).normalize('NFKC')", end: 'refused' },
  {
    name: 'normalize marks',
    code: "('a' + '\\u0323\\u0301'.repeat(2 ** 20)).normalize('NFD')",
    end: 'refused',
  },
  {
    name: 'localeCompare',
    code: "'1'.repeat(2 ** 28).localeCompare('1', 'en', { numeric: true })",
    end: 'bounded',
  },
  {
    name: 'collator',
    code: "new Intl.Collator().compare('1'.repeat(2 ** 28), '1')",
    end: 'bounded',
  },
  {
    name: 'segments',
    code: "[...new Intl.Segmenter('en').segment('x'.repeat(2 ** 26))]",
    end: 'refused',
  },
  {
    name: 'list of texts',
    code: "new Intl.ListFormat('en').format(new Array(4096).fill('x'.repeat(2 ** 20)))",
    end: 'bounded',
  },
  { name: 'locales', code: 'new Intl.NumberFormat({ length: 2 ** 53 - 1 })', end: 'refused' },
  {
    name: 'locales of a number',
    code: '(1).toLocaleString({ length: 2 ** 53 - 1 })',
    end: 'refused',
  },
  ...['anchor', 'fontcolor', 'fontsize', 'link'].map(
    (method): Bomb => ({
      name: `quotes in ${method}`,
      code: `'x'.${method}('"'.repeat(2 ** 27))`,
      end: 'refused',
    }),
  ),
  { name: 'a message', code: "throw 'x'.repeat(2 ** 29 - 24)", end: 'large' },
];

const ofKeys: readonly Bomb[] = [
  ...['keys', 'values', 'entries', 'getOwnPropertyNames', 'getOwnPropertyDescriptors'].map(
    (method): Bomb => ({
      name: `Object.${method}`,
      code: `Object.${method}('x'.repeat(2 ** 27))`,
      end: 'refused',
    }),
  ),
  { name: 'Object.assign', code: "Object.assign({}, 'x'.repeat(2 ** 27))", end: 'refused' },
  { name: 'Reflect.ownKeys', code: 'Reflect.ownKeys(new Uint8Array(2 ** 28))', end: 'refused' },
  {
    name: 'a text as an object',
    code: "Reflect.ownKeys(Object('x'.repeat(2 ** 28)))",
    end: 'refused',
  },
];

const ofCode: readonly Bomb[] = [
  { name: 'eval', code: "eval('[' + ','.repeat(2 ** 28) + ']')", end: 'bounded' },
  {
    name: 'Function',
    code: "new Function('return [' + ','.repeat(2 ** 28) + ']')",
    end: 'bounded',
  },
  { name: 'RegExp', code: "new RegExp('[' + 'a'.repeat(2 ** 28) + ']')", end: 'refused' },
  {
    name: 'a text as a pattern',
    code: "''.match('[' + 'a'.repeat(2 ** 28) + ']')",
    end: 'refused',
  },
  { name: 'a long sum', code: "eval('1+'.repeat(2 ** 20) + '1')", end: 'returned' },
];

const ofNumbers: readonly Bomb[] = [
  { name: 'a power', code: '2n ** (2n ** 40n)', end: 'refused' },
  { name: 'a long power', code: '3n ** (2n ** 28n)', end: 'ended' },
  { name: 'shifts', code: 'const a = []; for (;;) a.push(1n << (2n ** 29n))', end: 'ended' },
  { name: 'in digits', code: '((1n << (2n ** 27n)) - 1n).toString()', end: 'ended' },
];

/** Each was found to end the process, hang its thread, or take gigabytes, on Node 20 or 24. */
export const bombs: Readonly<Record<string, readonly Bomb[]>> = {
  lists: ofLists,
  arrays: ofArrays,
  buffers: ofBuffers,
  texts: ofTexts,
  keys: ofKeys,
  code: ofCode,
  numbers: ofNumbers,
};
