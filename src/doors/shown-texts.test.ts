import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { ShownTexts } from './shown-texts.ts';

/** Texts of one definition, which is not looked into; `built` are the keys that were built. */
function textsOf() {
  const texts = new ShownTexts<string>(({ length }) => length);
  const definition = {} as ModuleDefinition;
  const built: string[] = [];
  const ask = (key: string, text = key, form = 'v') =>
    texts.text({ definition, rights: { key }, form }, function* () {
      yield;
      built.push(`${form} ${key}`);
      return text;
    });
  return { ask, built, texts, definition };
}

describe('[http 18.6] texts that callers are shown', () => {
  it('are built once for callers with the same rights, also while they are asked for', async () => {
    const { ask, built } = textsOf();
    const both = [ask('reader'), ask('reader'), ask('owner'), ask('reader', 'reader', 'w')];
    expect(await Promise.all(both)).toEqual(['reader', 'reader', 'owner', 'reader']);
    expect(await ask('reader', 'other')).toBe('reader');
    expect(built).toEqual(['v reader', 'v owner', 'w reader']);
  });

  it('are kept of the limited tokens that were there last', async () => {
    const { ask, built } = textsOf();
    const tokens = Array.from({ length: limits.limitedTextsMax }, (_, at) => `reader ${at}`);
    await ask('reader');
    for (const token of tokens) await ask(token);
    for (const token of tokens.toReversed()) await ask(token);
    expect(built).toHaveLength(1 + tokens.length);
    await ask('reader more');
    // The last of `tokens` was asked for the longest time ago.
    await ask(tokens[0] ?? '');
    expect(built).toHaveLength(2 + tokens.length);
    await ask(tokens.at(-1) ?? '');
    expect(built).toHaveLength(3 + tokens.length);
    await ask('reader');
    expect(built).toHaveLength(3 + tokens.length);
  });

  it('of limited tokens are bounded in length, all but the last one', async () => {
    const { ask, built } = textsOf();
    const long = 'x'.repeat(limits.limitedTextsCharactersMax);
    for (const token of ['reader 1', 'reader 2', 'reader 2']) await ask(token, long);
    await ask('reader 1', long);
    expect(built).toEqual(['v reader 1', 'v reader 2', 'v reader 1']);
  });

  it('are built one after another, and others are served in between', async () => {
    const { texts, definition } = textsOf();
    let [running, most, isDone] = [0, 0, false];
    const slow = (key: string) =>
      texts.text({ definition, rights: { key }, form: 'v' }, function* () {
        running += 1;
        most = Math.max(most, running);
        for (let step = 0; step < 20; step += 1) {
          const end = performance.now() + 1;
          while (performance.now() < end);
          yield;
        }
        running -= 1;
        return key;
      });
    const all = Promise.all([slow('one'), slow('two'), slow('three x')]).then(() => {
      isDone = true;
    });
    let rounds = 0;
    for (; !isDone; rounds += 1) await nextRound();
    await all;
    expect(most).toBe(1);
    expect(rounds).toBeGreaterThan(3);
  });

  it('that could not be built are built again', async () => {
    const { texts, definition, ask } = textsOf();
    const shown = { definition, rights: { key: 'reader' }, form: 'v' };
    const broken = texts.text(shown, function* () {
      yield;
      throw new Error('a bug');
    });
    await expect(broken).rejects.toThrow('a bug');
    expect(await ask('reader')).toBe('reader');
  });
});
