import { describe, expect, it } from 'vitest';
import { loadProgram, rawProgram } from '../support/module-under-test.ts';

/** Syntax in a linked program, with and without much to list. */
async function logsOf(body: string): Promise<string[]> {
  const { call, logs } = await loadProgram(
    rawProgram(`
      const attempt = (run) => { try { console.log(String(run())); } catch (error) {
        console.log(error.name + ': ' + error.message); } };
      ${body}`),
  );
  expect(call(0)).toEqual({ kind: 'returned' });
  return logs.map(({ message }) => message);
}

const listings = [
  '(thing) => { for (const key in thing) return key; }',
  '(thing) => ({ ...thing })',
  '(thing) => { const { a, ...rest } = thing; return rest; }',
  '(thing) => { let rest; ({ ...rest } = thing); return rest; }',
  '({ a, ...rest }) => rest',
  '(thing) => { const { b: { ...rest } } = { b: thing }; return rest; }',
  '(thing) => { for (const { ...rest } of [thing]) return rest; }',
  '(thing) => { try { throw thing; } catch ({ ...rest }) { return rest; } }',
];

describe('guarded syntax', () => {
  it('lists no keys of long lists and texts', async () => {
    const things = [
      'new Uint8Array(6e7)',
      'new (class extends Float64Array {})(1e7)',
      "'x'.repeat(6e7)",
      "Object('x'.repeat(6e7))",
      'new Array(2 ** 25)',
      'new Proxy(new Uint8Array(6e7), {})',
      "new Proxy(Object('x'.repeat(6e7)), {})",
    ];
    const seen = await logsOf(
      listings
        .flatMap((list) => things.map((thing) => `attempt(() => (${list})(${thing}));`))
        .join('\n'),
    );
    expect(seen).toEqual(
      new Array(listings.length * things.length).fill('RangeError: Invalid array length'),
    );
  });

  it('looks at prototypes where their keys are listed', async () => {
    const [list] = listings;
    const far = 'Object.create(Object.create(new Uint8Array(6e7)))';
    const many = `let many = {}; for (let n = 0; n < 5; n += 1) {
      many = Object.setPrototypeOf(new Uint8Array(1e6), many); }`;
    const seen = await logsOf(
      `attempt(() => (${list})(${far})); ${many} attempt(() => (${list})(many));`,
    );
    expect(seen).toEqual(new Array(2).fill('RangeError: Invalid array length'));
  });

  it('lists the keys of everything else, as the language says', async () => {
    const seen = await logsOf(`
      const keys = (thing) => { const all = []; for (const key in thing) all.push(key); return all; };
      class A { b = 1; c() {} get d() { return 1; } }
      const inherited = Object.create({ z: 1, b: 2, [Symbol('s')]: 3 });
      inherited.b = 1; inherited[2] = 1; inherited[1] = 1; inherited.a = 1;
      Object.defineProperty(inherited, 'hidden', { value: 1 });
      attempt(() => keys(inherited));
      attempt(() => keys([5, , 6]));
      attempt(() => keys('añ'));
      attempt(() => keys(Object('ab')));
      attempt(() => keys(new Uint8Array(2)));
      attempt(() => keys(new A()));
      attempt(() => [null, undefined, 5, true, 1n, Symbol.iterator].map((each) => keys(each).length));
      attempt(() => keys(Object.create(null)).length);
      attempt(() => keys(Object.assign(() => {}, { a: 1 })));
      attempt(() => keys(new Proxy({ a: 1 }, { ownKeys: () => ['a', 'b'] })));
      attempt(() => keys(new Proxy([1, 2], { ownKeys: () => ['length', '1'] })));
      attempt(() => { const left = { a: 1, b: 2, c: 3 }; const all = [];
        for (const key in left) { all.push(key); delete left.b; } return all; });
      attempt(() => { const all = {}; for (all.last in { a: 1, b: 2 }); return all.last; });
      attempt(() => JSON.stringify([{ ...'ab' }, { ...[1, , 2] }, { ...null, ...undefined, ...7 }]));
      attempt(() => { const { a, ...rest } = null; });
      attempt(() => JSON.stringify((({ a, ...rest }) => [a, rest])({ b: 1, a: 2, 0: 3 })));
      attempt(() => { const order = []; const from = { get b() { order.push('b'); return 1; },
        get a() { order.push('a'); return 2; } }; ({ ...from }); return order; });
      attempt(() => [...new Set([1, 2]), ...'añ', ...[3, , 4]].length);`);
    expect(seen).toEqual([
      ...['1,2,b,a,z', '0,2', '0,1', '0,1', '0,1', 'b', '0,0,0,0,0,0', '0', 'a', 'a', '1', 'a,c'],
      ...['b', '[{"0":"a","1":"b"},{"0":1,"2":2},{}]'],
      expect.stringMatching(/^TypeError: Cannot destructure/),
      '[2,{"0":3,"b":1}]',
      ...['b,a', '7'],
    ]);
  });

  it('translates no pattern that is very long', async () => {
    const seen = await logsOf(`
      const long = 'ab|'.repeat(30000);
      attempt(() => new RegExp(long).test('x'));
      attempt(() => /${'ab|'.repeat(30_000)}/.test('x'));
      attempt(() => 'x'.split(new RegExp(long)));
      attempt(() => 'x'.match(long));
      attempt(() => new RegExp('ab|'.repeat(20000)).test('x'));`);
    const refusal = 'SyntaxError: Invalid regular expression: longer than 65536 characters';
    expect(seen).toEqual([refusal, refusal, refusal, refusal, 'true']);
  });

  it('is out of reach of a program', async () => {
    const seen = await logsOf(`
      attempt(() => typeof new Function('return typeof reducerdb$few')());
      attempt(() => new Function('return typeof reducerdb$few')());
      attempt(() => Object.getOwnPropertyNames(globalThis).filter((name) => name.includes('$')));`);
    expect(seen).toEqual(['string', 'undefined', '']);
  });
});
