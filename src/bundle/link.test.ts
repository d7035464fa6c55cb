import { describe, expect, it } from 'vitest';
import { guardNames } from '../module/javascript/guard-names.ts';
import { ProgramError } from '../module/runner.ts';
import { linkProgram } from './link.ts';

const link = (text: string) => linkProgram(new TextEncoder().encode(text));

async function linkError(text: string): Promise<string> {
  const error = await link(text).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error, text).toBeInstanceOf(ProgramError);
  return (error as Error).message;
}

/** Runs a script without a sandbox; only for our own scripts. */
function run(script: string): Record<string, unknown> {
  const module: { exports: Record<string, unknown> } = { exports: {} };
  const refuse = () => {
    throw new TypeError('refused');
  };
  const guards = Object.values(guardNames);
  const make = new Function('module', 'require', ...guards, script);
  make(module, refuse, ...guards.map(() => (value: unknown) => value));
  return module.exports;
}

describe('a linked program', () => {
  it('leaves its exports in `module`', async () => {
    const { script, imports } = await link(
      'const two = 2; export { two as b }; export let a = 1; export default class Named {}',
    );
    const exports = run(script);
    expect(Object.keys(exports).sort()).toEqual(['a', 'b', 'default']);
    expect([exports.a, exports.b]).toEqual([1, 2]);
    expect(imports).toEqual([]);
  });

  it('[abi 3.1] names its imports, in order and once', async () => {
    const { imports } = await link(
      "import * as b from 'b'; import 'a'; export { x } from 'b'; b.y; import('c');",
    );
    expect(imports).toEqual(['b', 'a']);
  });

  it('has no async function left', async () => {
    const { script } = await link(`
      export const arrow = async () => await 1;
      export class C { async m() { await super.toString(); } static async *g() { yield 1; } }
      export const o = { async m() {}, async *[Symbol.iterator]() {} };
      export async function f() { for await (const x of []) await x; await using y = null; }
    `);
    const { C, arrow, o, f } = run(script) as {
      C: { new (): { m: object }; g: object };
      arrow: object;
      o: { m: object };
      f: object;
    };
    const kinds = [arrow, new C().m, C.g, o.m, f].map((made) => made.constructor.name);
    expect(kinds).toEqual(new Array(5).fill('Function'));
  });

  it('[abi 1.1] brings new syntax down to the oldest Node', async () => {
    const { script } = await link(`
      const log = [];
      { using a = { [Symbol.dispose]: () => log.push('closed') }; log.push('open'); }
      class P { #x = 1; static has(o) { return #x in o; } }
      export { log }; export const own = P.has(new P());
    `);
    expect(script).not.toMatch(/\busing a\b/);
    expect(run(script)).toMatchObject({ log: ['open', 'closed'], own: true });
  });

  it('does not see the names of its wrapper', async () => {
    const { script } = await link(
      'export default [typeof require, typeof module, typeof exports, this];',
    );
    expect(run(script).default).toEqual(['undefined', 'undefined', 'undefined', undefined]);
  });

  it('may have names of the wrapper as its own', async () => {
    const { script } = await link(
      'const require = () => 1, module = 2; function f(exports) { return exports; }' +
        'export default [require(), module, f(3)];',
    );
    expect(run(script).default).toEqual([1, 2, 3]);
  });

  it('depends on its bytes alone', async () => {
    const [one, two] = await Promise.all([link('export default 1'), link('export default 1')]);
    expect(one).toEqual(two);
    const three = await link('export default 2');
    expect(three.seed).not.toEqual(one.seed);
    expect(three.seed).toHaveLength(32);
  });
});

describe('import() in a program', () => {
  const forms = [
    "import('x')",
    "import('x', { with: { type: 'json' } })",
    "import('x' + y)",
    'import(y)',
    'import(/* c */ y)',
    'import // c\n(y)',
    '[...import(y)]',
    'typeof import(y)',
    'import(import(y))',
    '`$' + '{import(y)}`',
    '((a = import(y)) => a)()',
    'new (class { static x = import(y); })()',
    'y ? import(y) : import(y + 1)',
  ];
  for (const form of forms) {
    it(`becomes a call that the runner refuses: ${form}`, async () => {
      const { script } = await link(`const y = 'x'; export const f = () => ${form};`);
      expect(script).not.toMatch(/\bimport\s*\(/);
    });
  }

  const refused = [
    'import(y, y)',
    "import('x', y)",
    'import(y, { with: y })',
    '[...import(y, y)]',
    '`$' + '{import(y, y)}`',
    'eval("1") + import(y, y)',
    '(function () { eval(y); return import(y, y); })()',
    'import.source(y)',
    "import.source('x')",
    'import.defer(y)',
    "import.defer('x')",
    'import.meta',
    'import.meta.url',
    'new import.meta.x()',
  ];
  for (const form of refused) {
    it(`is refused where it cannot be replaced: ${form}`, async () => {
      await linkError(`const y = 'x'; export const f = () => ${form};`);
    });
  }

  it('is refused in the lax language too', async () => {
    expect(await linkError('with (a) { import(x, y); }')).toContain(
      'With statements cannot be used',
    );
  });

  it('is found in a program that holds every name one might look for it by', async () => {
    const names = Array.from({ length: 60_000 }, (_, index) => `importExpression${index}`);
    const bases = ['importExpression', 'asyncFunction', 'foundExpression'];
    const text = `export const names = ${JSON.stringify([...bases, ...names].join())};`;
    const started = performance.now();
    const { script } = await link(`${text} export const f = (y) => import(y);`);
    // A scan of the program for each name took more than a minute.
    expect(performance.now() - started).toBeLessThan(20_000);
    expect(script).not.toMatch(/\bimport\s*\(/);
    await linkError(`${text} export const f = (y) => import(y, y);`);
  });

  it('is told from the same letters elsewhere', async () => {
    const { script } = await link(`
      // import(x, y)
      /* import(x, y) */
      const importing = 1;
      export const texts = ["import(x, y)", 'import("z")', \`import(\${importing}, y)\`];
      export const pattern = /import\\(x, y\\)/;
      export class Loader { import(x, y) { return [x, y]; } static import = 1; #import = 2; }
      export const object = { import: 3, ['imported']() {} };
      export const property = object.import;
      export const method = new Loader().import(1, 2);
      export const foundExpression = importing, importExpression = importing;
    `);
    const exports = run(script);
    expect(exports.texts).toEqual(['import(x, y)', 'import("z")', 'import(1, y)']);
    expect(exports.method).toEqual([1, 2]);
    expect(exports.property).toBe(3);
  });
});

describe('what cannot be linked', () => {
  it('is what nests too deeply, found before the bundler sees it', async () => {
    const text = await linkError(`export default ${'('.repeat(800_000)}`);
    expect(text).toMatch(/^module\.js:1:\d+: more than \d+ brackets are nested here; /);
  });

  it('[abi 3.1] is told by the texts of the boundary', async () => {
    const pending = 'module has top-level await and is pending';
    expect(await linkError('await 1; export default {};')).toBe(pending);
    expect(await linkError('for await (const x of []) x;')).toBe(pending);
    expect(await linkError('export default import.meta.url;')).toBe(
      'import.meta is not available in modules',
    );
  });

  it('is told with place and line', async () => {
    expect(await linkError('let a = 1;\nlet b = ;')).toBe(
      'module.js:2:9: Unexpected ";"\n\n  2 | let b = ;\n    |         ^',
    );
    expect(await linkError('return 1;')).toContain('module.js:1:1');
  });

  it('is told when it is not text', async () => {
    await expect(linkProgram(new Uint8Array([0xff, 0xfe, 0]))).rejects.toThrow(
      'the program is not UTF-8 text',
    );
  });
});
