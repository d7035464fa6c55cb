import { type Form, type Killer, killersOf } from './killer-module.ts';

/** Things with so many keys that listing them takes gigabytes. */
const manyKeys: readonly string[] = [
  'new Uint8Array(6e7)',
  'new Float64Array(3e7)',
  'new (class extends Uint8Array {})(6e7)',
  'new Array(33554432).fill(0)',
  "'x'.repeat(6e7)",
  "Object('x'.repeat(6e7))",
  'Object.create(new Uint8Array(6e7))',
  'Object.setPrototypeOf({ a: 1 }, Object.create(new Uint8Array(6e7)))',
  'new Proxy(new Uint8Array(6e7), {})',
  'new Proxy({}, { ownKeys: () => many })',
];

/** Constructs and built-ins that list keys. */
const listings: readonly [string, (thing: string) => string][] = [
  ['for in', (thing) => `for (const k in ${thing} as any) { kept = k; break; }`],
  ['object spread', (thing) => `kept = { ...(${thing} as any) };`],
  ['object rest', (thing) => `const { a, ...rest } = ${thing} as any; kept = [a, rest];`],
  ['rest of a parameter', (thing) => `kept = (({ ...rest }: any) => rest)(${thing});`],
  ['Object.defineProperties', (thing) => `kept = Object.defineProperties({}, ${thing} as any);`],
  ['Object.create', (thing) => `kept = Object.create(null, ${thing} as any);`],
  ['Object.freeze', (thing) => `kept = Object.freeze(${thing});`],
  ['Object.seal', (thing) => `kept = Object.seal(${thing});`],
  ['Object.isFrozen', (thing) => `kept = Object.isFrozen(Object.preventExtensions(${thing}));`],
  ['Object.isSealed', (thing) => `kept = Object.isSealed(Object.preventExtensions(${thing}));`],
  ['JSON.stringify', (thing) => `kept = JSON.stringify(${thing});`],
  ['Object.getOwnPropertySymbols', (thing) => `kept = Object.getOwnPropertySymbols(${thing});`],
];

const wide = new Set(['for in', 'object spread', 'object rest']);

const forms: readonly Form[] = [
  ...listings.flatMap(([how, list]) =>
    manyKeys
      .filter((_, index) => wide.has(how) || [0, 3, 5, 8].includes(index))
      .map((thing): Form => [`${how} of ${thing}`, list(thing)]),
  ),
  [
    'for in with a body',
    `let n = 0; for (const k in new Uint8Array(6e7)) n += k.length; kept = n;`,
  ],
  ['for in to a member', `const o: any = {}; for (o.k in new Uint8Array(6e7)) break; kept = o;`],
  ['for in of the end of a comma', `for (const k in 0, new Uint8Array(6e7)) { kept = k; break; }`],
  ['a spread of two', `kept = { a: 1, ...new Uint8Array(6e7), ...'x'.repeat(6e7), b: 2 };`],
  ['a nested rest', `const { a: { ...rest } } = { a: new Uint8Array(6e7) }; kept = rest;`],
  ['an assigned rest', `let rest: any; ({ ...rest } = new Uint8Array(6e7)); kept = rest;`],
  ['a rest in a loop', `for (const { ...rest } of [new Uint8Array(6e7)]) kept = rest;`],
  ['a rest in a catch', `try { throw new Uint8Array(6e7); } catch ({ ...rest }) { kept = rest; }`],
];

const prelude = `const many: string[] = [];
if (many.length === 0) for (let n = 0; n < 3e6; n += 1) many.push('k' + n);`;

/** Keys: everything that lists the properties of an object. */
export const ofKeys: readonly Killer[] = killersOf(forms, prelude);
