import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRealm } from '../../src/node/realm.ts';
import {
  accountCodecs,
  accountTableId,
  loadProgram,
  rawProgram,
  runRaw,
} from '../support/module-under-test.ts';

/** What a program that got out would find and could change. */
const host = globalThis as { hostMarker?: string };

const rejections: unknown[] = [];
const noteRejection = (reason: unknown): void => {
  rejections.push(reason);
};

beforeEach(() => {
  host.hostMarker = 'the host';
  rejections.length = 0;
  process.on('unhandledRejection', noteRejection);
});

afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve, 1));
  process.off('unhandledRejection', noteRejection);
  expect(rejections).toEqual([]);
  expect(host.hostMarker).toBe('the host');
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

/**
 * Guest text: `tryAll({ name: () => value })` runs each attempt and logs one line for those that
 * got at something of the host: an object whose prototype chain does not end in this realm, or code
 * that sees the marker.
 */
const attempts = `
const rootOf = (value) => {
  let top = value;
  for (;;) {
    const next = Reflect.getPrototypeOf(top);
    if (next === null) return top;
    top = next;
  }
};
const isObject = (value) =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';
const isForeign = (value) => {
  if (!isObject(value)) return false;
  try {
    const root = rootOf(value);
    return root !== Object.prototype && root !== value;
  } catch { return false; }
};
const seesHost = (value) => {
  if (value === 'the host') return true;
  if (isForeign(value)) return true;
  for (const text of ['return globalThis.hostMarker', 'return typeof process']) {
    try {
      const got = value.constructor.constructor(text)();
      if (got === 'the host' || got === 'object') return true;
    } catch (error) {
      if (isForeign(error)) return true;
    }
  }
  return false;
};
const tryAll = (list) => {
  for (const [name, attempt] of Object.entries(list)) {
    let got;
    try { got = attempt(); } catch (error) { got = error; }
    if (seesHost(got)) console.log('ESCAPED by ' + name);
    if (got && typeof got.then === 'function') {
      got.then(
        (value) => { if (seesHost(value)) console.log('ESCAPED by ' + name); },
        (error) => { if (seesHost(error)) console.log('ESCAPED by rejection of ' + name); },
      );
    }
  }
  console.log('done');
};
`;

async function expectNoEscape(list: string, top = ''): Promise<void> {
  const { outcome, messages } = await runRaw(
    `tryAll(${list});`,
    `${accountCodecs}\n${attempts}\n${top}`,
  );
  expect(outcome).toEqual({ kind: 'returned' });
  expect(messages).toEqual(['done']);
}

describe('the attempts', () => {
  it('would notice a host object, a host function and a host error', () => {
    const sees = openRealm().evaluate(
      `(function (value) { ${attempts}; return seesHost(value); })`,
      'test.js',
    ) as (value: unknown) => boolean;
    expect([sees({}), sees(() => 1), sees(new Error('x')), sees(1)]).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });
});

describe('[abi 15] a module cannot reach the host', () => {
  it('through constructors', () =>
    expectNoEscape(`{
      object: () => ({}).constructor.constructor('return process')(),
      sys: () => sys.constructor.constructor('return process')(),
      call: () => sys.insert.constructor('return process')(),
      args: () => args.constructor.constructor('return process')(),
      buffer: () => args.buffer.constructor.constructor('return process')(),
      scratch: () => sys.scratch(0).constructor.constructor('return process')(),
      async: () => (async () => {}).constructor('return process')(),
      generator: () => (function* () {}).constructor('return process')().next().value,
      asyncGenerator: () => (async function* () {}).constructor('return process')(),
      functionPrototype: () => Reflect.getPrototypeOf(function () {}).constructor('return process')(),
      arrow: () => (() => {}).constructor('return process')(),
      classes: () => (class { m() {} }).prototype.m.constructor('return process')(),
      accessor: () => Object.getOwnPropertyDescriptor({ get x() { return 1; } }, 'x').get
        .constructor('return process')(),
      symbol: () => Symbol().constructor.constructor('return process')(),
      bigint: () => sender.constructor.constructor('return process')(),
      string: () => sys.jwt().constructor.constructor('return process')(),
      promise: () => Promise.resolve().constructor.constructor('return process')(),
      console: () => console.log.constructor('return process')(),
      date: () => new Date().constructor.constructor('return process')(),
      intl: () => Intl.DateTimeFormat.constructor('return process')(),
      proxied: () => new Proxy(sys.insert, {}).constructor('return process')(),
      bound: () => sys.insert.bind(null).constructor('return process')(),
      newTarget: () => Reflect.construct(Function, ['return process'], sys.insert)(),
      namespace: () => namespace.constructor,
      hooks: () => this?.constructor,
    }`));

  it('through names and generated code', () =>
    expectNoEscape(`{
      process: () => globalThis.process,
      free: () => (typeof process === 'undefined' ? undefined : process),
      require: () => (typeof require === 'undefined' ? undefined : require('fs')),
      moduleName: () => (typeof module === 'undefined' ? undefined : module),
      env: () => globalThis.process?.env,
      thisOfFunction: () => new Function('return this')(),
      thisOfEval: () => (0, eval)('this.process'),
      directEval: () => eval('typeof process'),
      nested: () => eval("eval('globalThis.process')"),
      evalFunction: () => eval("new Function('return globalThis')()").process,
      sloppyThis: () => (function () { return this; })(),
      caller: () => (function f() { return f.caller; })(),
      callee: () => (function () { return arguments.callee; })(),
      argumentsOfHost: () => sys.insert.arguments,
      callerOfHost: () => sys.insert.caller,
      with: () => new Function('o', 'with (o) { return lockdown }')({}),
      lockdown: () => globalThis.lockdown ?? eval('typeof lockdown === "function" ? lockdown : 0'),
      compartment: () => (typeof Compartment === 'undefined' ? 0 : new Compartment()),
      console: () => globalThis.console.context,
      wasm: () => (typeof WebAssembly === 'undefined' ? 0 : WebAssembly),
      html: () => eval('1 <!-- 2'),
      asyncByText: () => new Function('return async () => 1')(),
      asyncByEval: () => eval('(async function () { throw 1; })()'),
      asyncWithEscape: () => eval('(\\\\u0061sync function () { throw 1; })()'),
      asyncWithComment: () => eval('(async/**/function () { throw 1; })()'),
      asyncByToString: () => {
        let count = 0;
        return new Function({ toString: () => (count++ === 0 ? 'return 1' : 'async () => 1') });
      },
      breakOut: () => new Function('/*', '*/){ return process }; (function(')(),
      breakOutBody: () => new Function('}); process; (function(){')(),
      breakOutLine: () => new Function('x //', '\\n) { return process } //')(),
      globalEval: () => { const { eval: e } = globalThis; return e('typeof process'); },
    }`));

  it('through import() in any disguise', () =>
    expectNoEscape(`{
      plain: () => import('node:fs'),
      computed: () => import('node:' + 'fs'),
      awaited: async () => (await import('node:process')).env,
      byEval: () => eval("import('node:fs')"),
      joined: () => eval("imp" + "ort('node:fs')"),
      byFunction: () => new Function("return import('node:fs')")(),
      comment: () => eval("import/**/('node:fs')"),
      lineComment: () => eval("import//\\n('node:fs')"),
      newline: () => eval("import\\n('node:fs')"),
      space: () => eval("import\\u00a0('node:fs')"),
      zeroWidth: () => eval("import\\ufeff('node:fs')"),
      separator: () => eval("import\\u2028('node:fs')"),
      escaped: () => eval("\\\\u0069mport('node:fs')"),
      spread: () => eval("[...import('node:fs')]"),
      defer: () => eval("import.defer('node:fs')"),
      source: () => eval("import.source('node:fs')"),
      meta: () => eval('import.meta'),
      html: () => eval("x = 1 <!-- \\nimport('node:fs')"),
      template: () => eval('\`\${import("node:fs")}\`'),
      argument: () => new Function("a = import('node:fs')", 'return a')(),
      generator: () => eval("(function* () { yield import('node:fs') })().next().value"),
    }`));

  it('keeps the word import( in strings, comments, names and patterns', async () => {
    const { outcome, messages } = await runRaw(
      `// import('x') <!-- -->
       /* import("y") */
       class Loader { import(name) { return name; } }
       console.log("import('z') <!--", \`import(\${1}) -->\`, /import\\(/.test('import('),
         new Loader().import('n'), ({ import: 1 }).import);`,
    );
    expect(outcome).toEqual({ kind: 'returned' });
    expect(messages).toEqual(["import('z') <!-- import(1) --> true n 1"]);
  });

  it('through errors and their stacks', () =>
    expectNoEscape(`{
      thrownByHost: () => sys.insert('x'),
      rangeOfScratch: () => sys.scratch(1e15),
      prepare: () => {
        let sites;
        try { Error.prepareStackTrace = (_, list) => { sites = list; return list; }; } catch {}
        try { globalThis.Error.prepareStackTrace = Error.prepareStackTrace; } catch {}
        new Error('x').stack;
        try { null.x; } catch (error) { error.stack; }
        return Array.isArray(sites) ? sites.map((site) => site.getThis() ?? site.getFunction()) : 0;
      },
      prepareGives: () => {
        Error.prepareStackTrace = (error, sites) => sites;
        const { stack } = new Error('x');
        return typeof stack === 'string' ? 0 : stack;
      },
      capture: () => {
        const holder = {};
        Error.captureStackTrace?.(holder);
        return typeof holder.stack === 'string' ? 0 : holder.stack;
      },
      nameGetter: () => {
        class Evil extends Error { get name() { throw this.constructor.constructor; } }
        return new Evil().stack;
      },
      stackGetter: () => Object.getOwnPropertyDescriptor(new Error('x'), 'stack')?.get,
      cause: () => new Error('x', { cause: sys }).cause,
      aggregate: () => new AggregateError([1]).errors,
      syntax: () => { try { eval('%'); } catch (error) { return error; } },
      regexp: () => { try { new RegExp('['); } catch (error) { return error; } },
      uri: () => decodeURIComponent('%'),
      json: () => JSON.parse('{'),
      date: () => new Date(NaN).toISOString(),
      intl: () => new Intl.DateTimeFormat('x-bad-locale-'),
      bigint: () => BigInt('x'),
      array: () => new Array(-1),
      bufferTooLarge: () => new ArrayBuffer(2 ** 53),
      revoked: () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy.x; },
    }`));

  it('through what host functions do with their arguments', () =>
    expectNoEscape(`{
      valueOf: () => sys.insert({ valueOf() { return 1; } }, 12),
      toPrimitive: () => sys.insert({ [Symbol.toPrimitive]: () => 1 }, 12),
      toString: () => sys.table_id({ toString: () => 'account' }),
      boxed: () => sys.table_id(new String('account')),
      array: () => sys.find([1], [2]),
      proxyNumber: () => sys.row_count(new Proxy(function () {}, { get: () => 1 })),
      many: () => sys.insert(...new Array(10000).fill(1)),
      logProxy: () => sys.log(1, new Proxy({}, { get() { throw sys; } })),
      species: () => {
        class Evil extends Uint8Array { static get [Symbol.species]() { throw sys; } }
        return new Evil(sys.scratch(0)).slice(0, 4);
      },
      applied: () => Reflect.apply(sys.insert, globalThis, [1, 12]),
      constructed: () => new sys.insert(1, 12),
      called: () => sys.insert.call(sys, 1, 12),
    }`));

  it('by changing the functions and objects it was handed', async () => {
    const { messages, store } = await runRaw(
      `const attempt = (run) => { try { run(); return 'changed'; } catch (error) { return error.name; } };
       console.log([
         attempt(() => { sys.insert = () => 1; }),
         attempt(() => { sys.extra = 1; }),
         attempt(() => { delete sys.insert; }),
         attempt(() => { Object.setPrototypeOf(sys, {}); }),
         attempt(() => { sys.insert.call = 1; }),
         attempt(() => { sys.insert.extra = 1; }),
         attempt(() => { namespace.default = 1; }),
         attempt(() => { Function.prototype.apply = () => 1; }),
         attempt(() => { Object.prototype.polluted = 1; }),
         attempt(() => { Array.prototype.push = () => 1; }),
         attempt(() => { ({}).__proto__.polluted = 1; }),
         attempt(() => { Object.defineProperty(Object.prototype, 'polluted', { value: 1 }); }),
         attempt(() => { Uint8Array.prototype.set = () => 1; }),
         attempt(() => { Reflect.apply = () => 1; }),
         attempt(() => { RangeError.prototype.name = 'x'; }),
       ].join());
       console.log(put(1, 1n));`,
      accountCodecs,
    );
    expect(messages).toEqual([new Array(15).fill('TypeError').join(), '0']);
    expect(store.table(accountTableId)?.rowCount).toBe(1);
  });

  it('by putting its own globals in place of ours', async () => {
    const { call, logs } = await loadProgram(
      rawProgram(
        'console.log(id, String(find(1)), args.byteLength); put(id + 10, 5n);',
        `${accountCodecs}
         for (const name of ['Uint8Array', 'ArrayBuffer', 'DataView', 'Promise', 'Error', 'TypeError',
           'Reflect', 'Object', 'Function', 'Array', 'JSON', 'Proxy', 'eval']) {
           if (name !== 'DataView') globalThis[name] = () => { throw 'replaced'; };
         }
         delete globalThis.Map;`,
      )
        .replace('new Uint8Array([1, 2, 3])', 'new realBytes([1, 2, 3])')
        .replace('class SenderError', 'const realBytes = Uint8Array;\nclass SenderError'),
    );
    expect(call(0, { args: new Uint8Array(5_000) })).toEqual({ kind: 'returned' });
    expect(call(1)).toEqual({ kind: 'returned' });
    expect(logs.map(({ message }) => message)).toEqual(['0 -15 5000', '1 -15 0']);
  });

  it('by taking the buffers away from under the engine', async () => {
    const { messages } = await runRaw(
      `const buffers = [sys.scratch(0), args.buffer];
       for (const buffer of buffers) {
         for (const key of Reflect.ownKeys(ArrayBuffer.prototype)) {
           for (const values of [[], [0], [1e9]]) {
             try { Reflect.apply(buffer[key], buffer, values); } catch {}
           }
         }
         try { buffer.byteLength = 0; } catch {}
         try { Object.defineProperty(buffer, 'byteLength', { value: 1e9 }); } catch {}
         try { Object.setPrototypeOf(buffer, null); } catch {}
         try { Object.freeze(buffer); } catch {}
       }
       console.log(new Uint8Array(sys.scratch(0)).length, new Uint8Array(args.buffer).length);
       console.log(put(1, 7n), String(find(1)), typeof structuredClone, typeof postMessage);`,
      accountCodecs,
    );
    expect(messages).toEqual(['65536 4096', '0 7 undefined undefined']);
  });

  it('anywhere in what it can reach', async () => {
    const { messages } = await runRaw(
      `const seen = new Set();
       const queue = [];
       const found = new Set();
       const add = (value, path) => {
         if (!isObject(value) || seen.has(value)) return;
         seen.add(value);
         queue.push([value, path]);
       };
       const roots = { globalThis, sys, namespace, args, hooks: this, buffer: args.buffer,
         scratch: sys.scratch(0), generator: function* () {}, async: async () => {},
         iterator: [][Symbol.iterator](), map: new Map().entries(), text: ''[Symbol.iterator](),
         match: 'a'.matchAll(/a/g), format: new Intl.NumberFormat('en'), segment: Intl.Segmenter,
         promise: Promise.resolve(), evaluate: eval, error: new Error(), strict: (function () {
           'use strict'; return arguments; })() };
       for (const run of [() => null.x, () => sys.insert('x'), () => eval('%'), () => new Array(-1),
         () => undefinedName, () => decodeURI('%')]) {
         try { run(); } catch (error) { roots['error' + seen.size + run] = error; }
       }
       for (const [name, root] of Object.entries(roots)) add(root, name);
       while (queue.length > 0) {
         const [value, path] = queue.pop();
         add(Reflect.getPrototypeOf(value), path + '.__proto__');
         const root = rootOf(value);
         if (root !== Object.prototype && root !== value) found.add('foreign: ' + path);
         for (const key of Reflect.ownKeys(value)) {
           const { value: inner, get, set } = Reflect.getOwnPropertyDescriptor(value, key);
           const at = path + '.' + String(key);
           add(inner, at); add(get, at + ' getter'); add(set, at + ' setter');
           try { if (get) add(value[key], at); } catch (error) { add(error, at + ' error'); }
           if (['lockdown', 'Compartment', 'repairIntrinsics', 'process'].includes(key)) found.add(at);
         }
         if (Object.prototype.toString.call(value) === '[object Promise]' &&
             !(value instanceof Promise) && value !== Promise.prototype) found.add('promise: ' + path);
       }
       console.log(seen.size > 500, [...found].join(' | '));`,
      `${accountCodecs}\n${attempts}`,
    );
    expect(messages).toEqual(['true ']);
  });
});
