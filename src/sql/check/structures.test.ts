import { describe, expect, it } from 'vitest';
import { Structures } from './structures.ts';

describe('Structures', () => {
  it('gives one number to what is built alike', () => {
    const structures = new Structures();
    const tree = (last: unknown) => ({ kind: 'a', parts: [{ at: 1 }, Uint8Array.of(1, 2), last] });
    const number = structures.numberOf(tree(null));
    expect(structures.numberOf(tree(null))).toBe(number);
    for (const last of [undefined, 'null', 0, '0', {}, [], Uint8Array.of(), true]) {
      expect(structures.numberOf(tree(last)), String(last)).not.toBe(number);
    }
    expect(structures.numberOf(tree('x,y'))).not.toBe(structures.numberOf(tree('x')));
    expect(structures.numberOf(tree(() => 1))).toBe(structures.numberOf(tree(() => 2)));
  });
});
