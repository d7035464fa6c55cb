import { describe, expect, it } from 'vitest';
import { runRaw } from '../support/module-under-test.ts';

/** What is thrown, as guest text, and the message it must leave in the log. */
const thrown: Readonly<Record<string, string>> = {
  undefined: 'Uncaught undefined',
  null: 'Uncaught null',
  '7': 'Uncaught 7',
  '7n': 'Uncaught 7n',
  '"words"': 'Uncaught words',
  'Symbol("s")': 'Uncaught Symbol(s)',
  '({ a: 1 })': 'Uncaught {"a":1}',
  '({ toString() { throw 1; } })': 'Uncaught a value that cannot be shown',
  '({ toString: () => ({}) })': 'Uncaught a value that cannot be shown',
  '({ [Symbol.toPrimitive]: () => { throw this; } })': 'Uncaught a value that cannot be shown',
  '({ __proto__: null })': 'Uncaught a value that cannot be shown',
  '({ a: 1n, toString: () => "[object Object]" })': 'Uncaught a value that cannot be shown',
  'revoked()': 'Uncaught a value that cannot be shown',
  'trapped()': 'Uncaught a value that cannot be shown',
  'Object.assign(new Error("m"), { name: 5 })': 'Uncaught m',
  'Object.assign(new Error("m"), { message: 5 })': 'Uncaught Error: 5',
  'Object.assign(new Error("m"), { message: { toString() { throw 1; } } })': 'Uncaught Error',
  'Object.assign(new Error("m"), { stack: sys })': 'Uncaught Error: m',
  'getter("message")': 'Uncaught Error',
  'getter("name")': 'Uncaught a value that cannot be shown',
  'getter("stack")': 'Uncaught Error: m',
  'new AggregateError([new Error("a")], "b")': 'Uncaught AggregateError: b',
  'new (class Odd extends Error { name = "Odd" })("x")': 'Uncaught Odd: x',
};

const helpers = `
const revoked = () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; };
const trapped = () => new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } });
const getter = (name) =>
  Object.defineProperty(new Error('m'), name, { get() { throw globalSys; } });
`;

describe('whatever a module throws', () => {
  for (const [expression, message] of Object.entries(thrown)) {
    it(`is an ordinary crash: ${expression}`, async () => {
      const { outcome, call } = await runRaw(`throw ${expression};`, helpers);
      expect(outcome).toMatchObject({ kind: 'crashed', message });
      expect(call(0).kind).toBe('crashed');
    });
  }

  it('is cut when it is long', async () => {
    const { outcome } = await runRaw(
      `const error = new Error('x'.repeat(1e8)); error.name = 'n'.repeat(1e8);
       error.stack = 's'.repeat(1e8); throw error;`,
    );
    expect(outcome.kind).toBe('crashed');
    expect(JSON.stringify(outcome).length).toBeLessThan(100_000);
  });

  it('is a refusal only by the class that the hooks name', async () => {
    const refused = (body: string, top = '') =>
      runRaw(body, top).then(({ outcome }) => outcome.kind);
    expect(await refused('throw new SenderError();')).toBe('refused');
    expect(await refused('throw new (class extends SenderError {})("x");')).toBe('refused');
    expect(await refused('throw { __proto__: SenderError.prototype };')).toBe('refused');
    expect(await refused('throw new Error("SenderError");')).toBe('crashed');
    const hasInstance = (text: string) =>
      `Object.defineProperty(SenderError, Symbol.hasInstance, { value: ${text} });`;
    expect(await refused('throw 1;', hasInstance('() => { throw 1; }'))).toBe('crashed');
    expect(await refused('throw undefined;', hasInstance('() => true'))).toBe('refused');
  });

  it('may be a refusal whose message cannot be read', async () => {
    const { outcome } = await runRaw(
      `throw Object.defineProperty(new SenderError('m'), 'message', { get() { throw 1; } });`,
    );
    expect(outcome).toEqual({ kind: 'refused', message: '' });
  });

  it('may claim frames that are not there, and reaches nothing by that', async () => {
    const { outcome } = await runRaw(
      `const error = new Error('x');
       error.stack = 'at f (reducerdb-program.js:999999999:99999999999999)\\n' +
         'at g (reducerdb-program.js:-1:0)\\nat h (reducerdb-program.js:1e9:1)\\n'.repeat(5000);
       throw error;`,
    );
    expect(outcome).toMatchObject({ kind: 'crashed', trace: [] });
  });
});

describe('whatever a module hands over instead of hooks', () => {
  const program = (schema: string) =>
    runRaw('').then(async () => {
      const { loadProgram } = await import('../support/module-under-test.ts');
      return loadProgram(`class E extends Error {}\nexport default ${schema};`).then(
        ({ runner }) => `loaded ${runner.describe().length}`,
        (error: Error) => error.message.split('\n')[0],
      );
    });
  const key = "[Symbol.for('reducerdb.moduleHooks.v1')]";
  const hooks = (describeHook: string) =>
    `{ ${key}: () => ({ __describe_module__: ${describeHook}, __call_reducer__() {}, ` +
    '__sender_error_class__: E }) }';

  it('is read with care', async () => {
    expect(await program(`new Proxy({}, { get() { throw 1; } })`)).toBe('Uncaught 1');
    expect(await program(`{ get ${key}() { throw new E('x'); } }`)).toBe('Uncaught Error: x');
    expect(await program(`{ ${key}() { throw undefined; } }`)).toBe('Uncaught undefined');
    expect(await program(`{ ${key}: () => null }`)).toContain('Expected module function hook');
    expect(await program(hooks('() => { throw null; }'))).toBe('Uncaught null');
    expect(await program(hooks('() => [1]'))).toContain('must return a Uint8Array');
    expect(await program(hooks('() => new Proxy(new Uint8Array(2), {})'))).toContain(
      'must return a Uint8Array',
    );
    expect(await program(hooks('() => new ArrayBuffer(2)'))).toContain('must return a Uint8Array');
    const lying = '() => Object.defineProperty(new Uint8Array(3), "byteLength", { value: 1e9 })';
    expect(await program(hooks(lying))).toBe('loaded 3');
    const disguised =
      '() => Object.setPrototypeOf(new DataView(new ArrayBuffer(4)), Uint8Array.prototype)';
    expect(await program(hooks(disguised))).toContain('is not a typed array');
    const species =
      '() => new (class extends Uint8Array { static get [Symbol.species]() { throw 1; } })(5)';
    expect(await program(hooks(species))).toBe('loaded 5');
    expect(await program(hooks('() => new Uint8Array(70_000_000)'))).toContain(
      'the description is larger than',
    );
  });
});
