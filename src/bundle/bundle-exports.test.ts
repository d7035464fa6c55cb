import { describe, expect, it } from 'vitest';
import { BundleExports } from './bundle-exports.ts';
import type { SourcePlaces } from './source-places.ts';

/** A map that knows every place. */
const places = { of: () => ({}) } as unknown as SourcePlaces;

/** A program in which a module has itself as a submodule, under these names. */
const endless = (...keys: readonly string[]) => `
var a_exports = {};
__export(a_exports, {
  default: () => a,
  run: () => run
});
var a = schema({ ${keys.map((key) => `${key}: a_exports`).join(', ')} });
var run = a.reducer(() => {});
export {
  a as default
};
`;

describe('[ease 4.9] the submodules of a program', () => {
  it('are looked at up to a number, even if they never end', () => {
    const found = new BundleExports(endless('x', 'y'), places).submoduleFunctions(5);
    const names = found.map(([name]) => name);
    expect(names).toEqual(['x.run', 'y.run', 'x.x.run', 'x.y.run', 'y.x.run']);
  });

  it('have names of some length', () => {
    const key = 'k'.repeat(500);
    const found = new BundleExports(endless(key), places).submoduleFunctions(100);
    expect(found.map(([name]) => name)).toEqual([`${key}.run`, `${key}.${key}.run`]);
  });
});
