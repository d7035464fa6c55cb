import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { buildSync } from 'esbuild';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { float32Bits, writeFloat64Bits } from './float-bits.ts';

describe('computed bits of floats', () => {
  const expectSameBits = (value: number) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value, true);
    const wide = view.getBigUint64(0, true);
    writeFloat64Bits(view, 0, value);
    expect(view.getBigUint64(0, true)).toBe(wide);
    view.setFloat32(0, value, true);
    expect(float32Bits(value)).toBe(view.getUint32(0, true));
  };

  it('are those of the platform at the edges', () => {
    for (const value of [
      0,
      1,
      0.1,
      2,
      0.5,
      2 ** 52,
      2 ** 1023,
      2 ** -1022,
      5e-324,
      Number.MAX_VALUE,
      Infinity,
      2.225073858507201e-308,
      1.401298464324817e-45,
      1.1754943508222875e-38,
      1.1754942106924411e-38,
      3.4028234663852886e38,
      3.5e38,
      7.006492321624085e-46,
    ]) {
      expectSameBits(value);
      expectSameBits(-value);
    }
  });

  it('are the same for every NaN', () => {
    const view = new DataView(new ArrayBuffer(8));
    writeFloat64Bits(view, 0, -Number.NaN);
    expect(view.getBigUint64(0, true)).toBe(0x7ff8_0000_0000_0000n);
    expect(float32Bits(Number.NaN)).toBe(0x7fc0_0000);
  });

  it('are those of the platform for any float', () => {
    fc.assert(fc.property(fc.double({ noNaN: true }), expectSameBits), { numRuns: 5000 });
    fc.assert(fc.property(fc.float({ noNaN: true }), expectSameBits), { numRuns: 5000 });
  });
});

describe('the codecs in a hardened realm', () => {
  let run: (script: string) => unknown;

  beforeAll(() => {
    run = hardenedCompartment();
  });

  it('know where they are', () => {
    expect(run('Object.isFrozen(DataView.prototype)')).toBe(true);
  });

  it('generate code and write the bytes that they write elsewhere', () => {
    const script = `
      const { product, optionType, identityType, Identity, BinaryWriter, BinaryReader } = values;
      const type = product(
        ['id', { kind: 'u64' }], ['x', { kind: 'f32' }], ['y', { kind: 'f64' }],
        ['name', { kind: 'string' }], ['owner', identityType],
        ['tags', optionType({ kind: 'array', element: { kind: 'string' } })]);
      const row = { id: 7n, x: -1.5, y: 0.1, name: 'h\\u00e9 \\u{1f600} ${'x'.repeat(100)}',
        owner: new Identity(9n), tags: ['a', ''] };
      const writer = new BinaryWriter(8);
      values.nativeEncoderOf(type)(writer, row);
      const back = values.nativeDecoderOf(type)(new BinaryReader(writer.finish()));
      const again = new BinaryWriter();
      values.nativeEncoderOf(type)(again, back);
      Array.from(writer.finish()).join() + '|' + Array.from(again.finish()).join();
    `;
    const [first, second] = String(run(script)).split('|');
    expect(second).toBe(first);
    const elsewhere = vm.runInNewContext(`${bundledValues()}; ${script}`, {});
    expect(`${first}|${second}`).toBe(elsewhere);
  });

  it('refuse values and bytes as elsewhere', () => {
    const message = (expression: string) =>
      run(`(() => { try { ${expression} } catch (error) { return error.message; } })()`);
    expect(message("values.nativeEncoderOf({ kind: 'u8' })(new values.BinaryWriter(), 300)")).toBe(
      'value: 300 is out of range for u8',
    );
    expect(message("values.decodeValue({ kind: 'string' }, Uint8Array.of(1, 0, 0, 0, 255))")).toBe(
      'invalid utf8',
    );
  });
});

/** Evaluates scripts in one compartment of a realm of its own, with the entry as `values`. */
function hardenedCompartment(): (script: string) => unknown {
  const ses = createRequire(import.meta.url).resolve('ses/lockdown');
  const shim = readFileSync(ses.replace(/[^/]*$/, 'lockdown.umd.js'), 'utf8');
  const context = vm.createContext({ console });
  vm.runInContext(shim, context);
  vm.runInContext("lockdown({ errorTaming: 'unsafe' });", context);
  vm.runInContext('globalThis.compartment = new Compartment();', context);
  const evaluate = (script: string): unknown =>
    vm.runInContext(`compartment.evaluate(${JSON.stringify(script)})`, context);
  evaluate(`${bundledValues()}; globalThis.values = values;`);
  return evaluate;
}

function bundledValues(): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL('index.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'values',
    target: 'es2022',
  });
  return outputFiles[0]?.text ?? '';
}
