import vm from 'node:vm';
import { describe, expect, it } from 'vitest';
import { realmPreludeSource } from '../../src/module/javascript/realm-prelude-source.ts';
import { openRealm } from '../../src/node/realm.ts';
import { loadProgram, rawProgram } from '../support/module-under-test.ts';

/** What guarded built-ins do must be what the engine's own do, errors included. */
const expressions: readonly string[] = [
  // Arrays.
  '[1, 2, 3].concat(4, [5, [6]], "7")',
  'Array.prototype.concat.call("ab", [1]).length',
  '[1].concat({ length: 2, 0: "a", [Symbol.isConcatSpreadable]: true })',
  '[1].concat(Object.assign([2, 3], { [Symbol.isConcatSpreadable]: false })).length',
  '[1].concat(new Proxy([2, 3], {}))',
  'new Proxy([1, 2, 3], { get: (t, k) => (k === "length" ? { valueOf: () => "2" } : t[k]) }).slice()',
  '[, 1].concat([, 2]).length',
  '1 in [, 1].concat([,])',
  '[1, 2, 3, 4].copyWithin(0, 2)',
  '[1, 2, 3].every((x, i, all) => x < 4 && all.length === 3)',
  '[1, 2, 3].fill(0, 1)',
  'Array.prototype.fill.call({ length: 2 }, 7)',
  '[1, 2, 3].filter((x) => x > 1)',
  '[[1, 2, 3].find((x) => x > 1), [1].findIndex((x) => x > 1), [1, 2].findLast(() => true)]',
  '[[1, 2].findLastIndex(() => true), [1, 2].some((x) => x > 1)]',
  '[1, [2, [3, [4]]]].flat()',
  '[1, [2, [3, [4, , 5]]]].flat(Infinity)',
  '[[1, [2]], [, 3]].flat(0).length',
  '[1, [2]].flat("1")',
  '[1, 2].flatMap((x) => [x, x * 2])',
  '(() => { const seen = []; [1, , 3].forEach((x, i) => seen.push([x, i])); return seen; })()',
  '[[NaN].includes(NaN), [1, 2].includes(1, 1), [1, 2, 1].indexOf(1, 1)]',
  '[[1, 2, 1].lastIndexOf(1), [1, 2, 1].lastIndexOf(1, undefined), [1].lastIndexOf(1, -2)]',
  '[[1, null, undefined, [2, 3]].join(), [1, 2].join("-"), [].join(), String([1, [2]])]',
  '[1, , 3].map((x) => x * 2).length',
  'Array.prototype.map.call("abc", (x) => x + x)',
  '[[1, 2].reduce((a, b) => a + b), [].reduce((a, b) => a + b, undefined), [1].reduceRight(Math.max, 5)]',
  '[].reduce((a, b) => a)',
  '[1, 2, 3].reverse()',
  '(() => { const o = { 0: 1, 1: 2, length: 2 }; return Array.prototype.reverse.call(o) === o && o; })()',
  '(() => { const a = [1, 2, 3]; return [a.shift(), a, [].shift()]; })()',
  '(() => { const o = { 0: 1, 1: 2, length: 2 }; return [Array.prototype.shift.call(o), o]; })()',
  '[1, 2, 3].slice(-2, undefined)',
  '(function () { return Array.prototype.slice.call(arguments, 1); })(1, 2, 3)',
  'Array.prototype.slice.call("abc", 1)',
  'Array.prototype.slice.call({ length: "2", 1: 5 }).length',
  '[3, 1, 2].sort()',
  '[3, 1, undefined, 10].sort((a, b) => b - a)',
  '[1].sort(1)',
  '(() => { const o = { 0: 2, 1: 1, length: 2 }; return Array.prototype.sort.call(o) === o && o; })()',
  '(() => { const a = [1, 2, 3]; return [a.splice(), a.splice(1), a, a.splice(0, 0, 4, 5), a]; })()',
  '(() => { const a = [1, 2, 3]; return [a.splice(undefined), a]; })()',
  '(() => { const a = [1]; return [a.unshift(), a.unshift(2, 3), a]; })()',
  '[[3, 1].toSorted?.(), [1, 2].toReversed?.(), [1, 2].toSpliced?.(0, 1, 5), [1].with?.(0, 2)]',
  '[1].with(5, 2)',
  '[1, 2.5].toLocaleString("en")',
  'Array.prototype.map.call(null, (x) => x)',
  'Array.prototype.fill.call(undefined)',
  '[1].map()',
  '(class extends Array {}).from([1, 2]).map((x) => x).constructor.name',
  'new (class L extends Array {})(1, 2).concat([3]).constructor.name',
  '[Array.from("añ😀"), Array.from({ length: 2 }, (_, i) => i), Array.from(new Set([1, 1]))]',
  'Array.from([1, 2], function (x) { return this.y + x; }, { y: 1 })',
  '[Array.from({}), Array.from(7), Array.from({ length: -1 }), Array.from({ length: "2", 1: 3 })]',
  'Array.from(null)',
  'Array.from([1], 5)',
  'Array.from({ [Symbol.iterator]: 5 })',
  'Array.from.call(Object, { length: 1, 0: 2 })',
  'Array.from(new Map([[1, 2]]))',
  // Proxies.
  'new Proxy([1, 2], {}).map((x) => x + 1)',
  'new Proxy([1, 2], { get: (t, k, r) => (k === "0" ? 9 : Reflect.get(t, k, r)) }).join()',
  '(() => { const seen = []; const p = new Proxy([], { set(...all) { seen.push(all.length); return Reflect.set(...all); } }); p.push(1); return seen; })()',
  'Array.isArray(new Proxy([], {}))',
  '(() => { const { proxy, revoke } = Proxy.revocable([1], {}); revoke(); return proxy.length; })()',
  'Proxy({}, {})',
  'new Proxy(1, {})',
  'new Proxy([], 1)',
  '[Proxy.name, Proxy.length, "prototype" in Proxy, Proxy.revocable.length]',
  'Object.keys(new Proxy([1, 2], { ownKeys: () => ["length", "0"] }))',
  // Buffers.
  'new Uint8Array([1, 257, "3"])',
  'new Uint8Array()',
  'new Uint8Array(null).length',
  'new Uint8Array(undefined).length',
  'new Uint8Array("3").length',
  'new Uint8Array(1.9).length',
  'new Uint8Array(-1)',
  'new Uint8Array(1n)',
  'new Uint8Array(Symbol.iterator)',
  'Uint8Array(1)',
  'new Uint8Array(new Float64Array([1.5, 300]))',
  'new Uint8Array(new Set([1, 2]))',
  'new Uint8Array({ length: 2, 1: 5 })',
  'new Uint8Array(new ArrayBuffer(8), 2, 3).length',
  'new Uint16Array(new ArrayBuffer(8), 1)',
  'new BigInt64Array([1n, -1n]).join()',
  'new BigInt64Array([1])',
  '[Uint8Array.name, Uint8Array.length, Uint8Array.BYTES_PER_ELEMENT, Float64Array.BYTES_PER_ELEMENT]',
  'Object.getOwnPropertyNames(Uint8Array).sort()',
  'Object.getPrototypeOf(Uint8Array) === Object.getPrototypeOf(Int8Array)',
  'new Uint8Array(2).constructor === Uint8Array',
  'new (class B extends Uint8Array { two() { return 2; } })([1, 2]).subarray(1).two()',
  'Uint8Array.from([1, 2], (x) => x * 2)',
  'Uint8Array.of(1, 2).map((x) => x + 1)',
  'new Uint8Array([1, 2, 3]).subarray(1).slice(0, 1)',
  '(() => { const u = new Uint8Array(4); u.set([1, 2], 1); u.set(new Uint8Array([9]), 3); u.set({ length: 1, 0: 7 }); return u; })()',
  'new Uint8Array(1).set([1, 2])',
  'new Uint8Array(1).set(null)',
  '[new Float32Array([2, 1]).sort(), new Uint8Array([1, 2]).sort((a, b) => b - a)]',
  'new Float64Array([1.5]).toLocaleString("en")',
  'new ArrayBuffer(8).slice(2).byteLength',
  'new ArrayBuffer("8").byteLength',
  'new ArrayBuffer(-1)',
  'ArrayBuffer(1)',
  'new ArrayBuffer(8).constructor === ArrayBuffer',
  '(() => { const b = new ArrayBuffer(1, { maxByteLength: 8 }); b.resize(4); return [b.byteLength, b.maxByteLength, b.resizable]; })()',
  'new ArrayBuffer(8, { maxByteLength: 4 })',
  'new (class extends ArrayBuffer {})(4).byteLength',
  // Texts.
  '["a,b".split(","), "abc".split(""), "abc".split(), "a1b2".split(/\\d/), "a,b,c".split(",", 2)]',
  '["a,b".split(",", -1), "a,b".split(",", 0), "anullb".split(null), "a1b".split(1)]',
  'String.prototype.split.call(123, 2)',
  'String.prototype.split.call(null, 2)',
  '"ab".split({ [Symbol.split]: (text, limit) => [text, limit] }, 3)',
  '["aXbX".replaceAll("X", "$&-"), "aXbX".replaceAll(/X/g, "y"), "ab".replaceAll("", "-")]',
  '"ab".replaceAll("b", (match, at, all) => match + at + all)',
  '"ab".replaceAll(/b/, "")',
  '["abab".replace("b", "$`"), "ab".replace("b", (m) => m + m), "ab".replace(undefined, "x")]',
  '["abc".indexOf("c"), "abc".indexOf("a", 1), "abc".lastIndexOf("a", -1), "aa".lastIndexOf("a")]',
  '["abc".includes("b"), "abc".includes("a", 1), "undefined".includes()]',
  '"abc".includes(/b/)',
  '["a".anchor(\'"\'), "a".fontcolor(1), "a".fontsize(), "a".link("b")]',
  'String.prototype.link.call(null, { toString() { throw 1 } })',
  'String.prototype.link.call(7, "b")',
  'String.prototype.indexOf.call(undefined, "a")',
  '["abc".match("b").index, "abc".match(/z/), "".match().index, "a1a2".match(/a\\d/g)]',
  '[[..."a1a2".matchAll("a(\\\\d)")].map((m) => m[1]), "abc".search("c"), "abc".search()]',
  '["\\u1e9b\\u0323".normalize("NFKD").length, "a".normalize()]',
  '"a".normalize("X")',
  '["a".localeCompare("b"), "a2".localeCompare("a10", "en", { numeric: true }), "a".localeCompare()]',
  '"a".localeCompare("b", "not a locale")',
  '["I".toLocaleLowerCase("tr"), "i".toLocaleUpperCase(["tr"])]',
  'String.raw({ raw: ["a", "b"] }, 1)',
  'String.raw({ raw: "abc" }, 1, 2)',
  'String.raw()',
  '[JSON.parse("[1,{\\"a\\":2}]"), JSON.parse("7", (key, value) => value + 1), JSON.parse(null)]',
  'JSON.parse("{")',
  '[JSON.stringify({ a: 1, b: 2 }, ["b"]), JSON.stringify([1], null, 2), JSON.stringify({ a: 1 }, (k, v) => v)]',
  '[encodeURIComponent("ä/"), encodeURI("ä/"), decodeURIComponent("%41"), decodeURI("%41"), encodeURI()]',
  'encodeURIComponent("\\ud800")',
  // Keys.
  '[Object.keys("ab"), Object.values([1, 2]), Object.entries({ a: 1 }), Object.keys(new Uint8Array(2))]',
  'Object.keys(null)',
  '[Object.assign({ a: 1 }, { b: 2 }, null, "xy"), Object.assign({}), Object.getOwnPropertyNames("a")]',
  'Object.keys(Object.getOwnPropertyDescriptors({ a: 1, get b() { return 2; } }).b)',
  '[Reflect.ownKeys([1]), Object.keys({ length: 1e9 })]',
  'Reflect.ownKeys(1)',
  // Languages.
  'new Intl.NumberFormat("de").format(1234.5)',
  'Intl.NumberFormat(["de"]).format(0.5)',
  'new Intl.NumberFormat(new Intl.Locale("de")).format(1234.5)',
  '[Intl.NumberFormat.name, Intl.NumberFormat.length, Intl.Collator.supportedLocalesOf(["en", "xx"])]',
  '[new Intl.Locale("en-US").language, new Intl.Locale(new Intl.Locale("de")).language]',
  'new Intl.Locale("no locale")',
  'new Intl.NumberFormat("no locale")',
  'new Intl.NumberFormat("en") instanceof Intl.NumberFormat',
  'new Intl.NumberFormat("en").constructor === Intl.NumberFormat',
  'Intl.getCanonicalLocales(["EN-us", "de"])',
  'Intl.getCanonicalLocales(null)',
  'new Intl.ListFormat("en").format(["a", "b", "c"])',
  'new Intl.ListFormat("en").format([1])',
  '[...new Intl.Segmenter("en").segment("añ")].map(({ segment }) => segment)',
  '["b", "a"].sort(new Intl.Collator("en").compare)',
  '(() => { const c = new Intl.Collator(); return c.compare === c.compare; })()',
  '[(1234.5).toLocaleString("en"), (12n).toLocaleString("en"), new Date(0).toLocaleDateString("en", { timeZone: "UTC" })]',
];

/** Script text whose value says what became of an expression. */
const judge = `(function (text) {
  const show = (value) => JSON.stringify(value, (key, part) => {
    if (typeof part === 'bigint') return part + 'n';
    return part === undefined ? 'undefined' : part;
  });
  try {
    return show((0, eval)('"use strict"; (' + text + ')'));
  } catch (error) {
    return 'throws ' + error.name;
  }
})`;

describe('guarded built-ins', () => {
  it('do what the language says', () => {
    const context = vm.createContext(vm.constants.DONT_CONTEXTIFY);
    const native = new vm.Script(judge).runInContext(context) as (text: string) => string;
    const guarded = openRealm().evaluate(judge, 'judge.js') as (text: string) => string;
    for (const text of expressions) expect(guarded(text), text).toBe(native(text));
  });

  it('keep the names and lengths of the engine', () => {
    const owners =
      '[Array, Array.prototype, String, String.prototype, Object, Reflect, JSON, Intl, ' +
      'Intl.Collator.prototype, Intl.ListFormat.prototype, Intl.Segmenter.prototype, ArrayBuffer, ' +
      'ArrayBuffer.prototype, Uint8Array, Object.getPrototypeOf(Uint8Array).prototype, Number.prototype]';
    const text = `${owners}.map((owner) => Reflect.ownKeys(owner).map((key) => {
      const { value, get, writable, enumerable, configurable } = Reflect.getOwnPropertyDescriptor(owner, key);
      const made = typeof value === 'function' ? value : get;
      return [String(key), made && [made.name, made.length, Object.hasOwn(made, 'prototype')],
        writable, enumerable, configurable].join(' ');
    }).sort())`;
    const inNewRealm = (script: string) =>
      vm.runInContext(script, vm.createContext(vm.constants.DONT_CONTEXTIFY));
    const removed =
      'for (const name of ["transfer", "transferToFixedLength"])' +
      ' delete ArrayBuffer.prototype[name]; delete Array.fromAsync;';
    expect(inNewRealm(`${realmPreludeSource}${text}`)).toEqual(inNewRealm(`${removed}${text}`));
  });

  it('[abi 15] hold for a program, which finds no way to those of the engine', async () => {
    const { call, logs } = await loadProgram(
      rawProgram(`
        const attempt = (run) => { try { run(); console.log('made'); } catch (error) {
          console.log(error.name, error.message); } };
        const huge = 2 ** 32;
        const bytes = new Uint8Array(1);
        attempt(() => new Uint8Array(huge));
        attempt(() => new bytes.constructor(huge));
        attempt(() => new (Object.getPrototypeOf(bytes).constructor)(huge));
        attempt(() => new (bytes.slice().constructor)(huge));
        attempt(() => new (bytes.buffer.constructor)(huge));
        attempt(() => new (bytes.map((x) => x).buffer.slice(0).constructor)(huge));
        attempt(() => Reflect.construct(Uint8Array, [huge], Object));
        attempt(() => Object.getPrototypeOf(Uint8Array).from.call(Uint8Array, { length: huge }));
        const bare = Object.setPrototypeOf(new Uint8Array(1),
          { __proto__: Object.getPrototypeOf(Uint8Array).prototype, constructor: undefined });
        attempt(() => new (bare.slice().constructor)(huge));`),
    );
    expect(call(0)).toEqual({ kind: 'returned' });
    const length = `RangeError Invalid typed array length: ${2 ** 32}`;
    const allocation = 'RangeError Array buffer allocation failed';
    expect(logs.map(({ message }) => message)).toEqual([
      ...[length, length, length, length, allocation, allocation, length, length, length],
    ]);
  });

  it('[abi 15] hold for a list whose length is another at each look', async () => {
    for (const method of ['sort()', 'toReversed()', 'with(0, 1)', 'toSorted()']) {
      for (let flip = 1; flip <= 8; flip += 1) {
        const { call } = await loadProgram(
          rawProgram(`
            let looks = 0;
            const length = { valueOf: () => ((looks += 1) === ${flip} ? 2 ** 53 - 1 : 0) };
            const list = new Proxy([], { get: (t, k) => (k === 'length' ? length : t[k]) });
            try { list.${method}; } catch {}`),
        );
        expect(call(0), `${method}, look ${flip}`).toEqual({ kind: 'returned' });
      }
    }
  });
});
