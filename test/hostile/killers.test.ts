import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../support/share.ts';
import { KillerArena } from './killer-arena.ts';
import { type Killer, killers } from './killers.ts';

const named = (...names: readonly string[]): readonly Killer[] =>
  names.map((name) => {
    const killer = killers().find((each) => each.name === name);
    if (killer === undefined) throw new Error(`no killer is named ${name}`);
    return killer;
  });

/** Some that are each of another kind; `npm run test:long -- killers` runs all killers. */
const ofEachKind = named(
  '80 of 1n << s in an array literal',
  '80 of x + 1n in consts',
  'hexadecimal digits, 80 times',
  '24 of new Array(33554432)',
  'a getter in a long array',
  'a far element of a long array',
  'JSON of bytes',
  'parsed objects',
  'for in of new Uint8Array(6e7)',
  "object spread of 'x'.repeat(6e7)",
  '24 of t.toUpperCase()',
  'a pattern of 500000 alternatives',
);

/** What guards and pauses hold on a thread, too; without them each ends the service or stays. */
const heldOnThread = named(
  '80 of 1n << s in an array literal',
  '80 of 1n << s in a static block',
  '80 of x + 1n in consts',
  'increments',
  '24 of Array(33554432)',
  'for in of new Uint8Array(6e7)',
  "object spread of Object('x'.repeat(6e7))",
  'a rest in a catch',
  'a pattern of 500000 alternatives',
);

const some = someOf(ofEachKind, 3);
const bounded = someOf(heldOnThread, 3);

describe.runIf(process.platform === 'linux')(
  '[living 6.3] a killer in a process of its own',
  () => {
    const arena = new KillerArena();
    beforeAll(() => arena.open('process', some), 120_000);
    afterAll(() => arena.close());

    for (const killer of some) {
      it(`disturbs nobody: ${killer.name}`, async () => {
        await arena.run(killer);
        await arena.expectUndisturbed(killer.name);
      }, 120_000);
    }

    it('leaves every acknowledged row, and the memory as it was', async () => {
      await arena.expectRows();
      await arena.expectMemoryBack();
    }, 90_000);
  },
);

describe('a killer on a thread, where guards and pauses hold', () => {
  const arena = new KillerArena();
  beforeAll(() => arena.open('thread', bounded), 120_000);
  afterAll(() => arena.close());

  for (const killer of bounded) {
    it(`ends its own call: ${killer.name}`, async () => {
      await arena.run(killer);
    }, 120_000);
  }

  it('leaves every acknowledged row', () => arena.expectRows());
});

describe('the corpus of killers', () => {
  it('has at least sixty forms, each with a name of its own', () => {
    const names = killers().map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(60);
  });
});
