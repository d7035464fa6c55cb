import { expect, it } from 'vitest';
import { resultOrWords } from '../../test/support/steps.ts';
import { parseJson, parseJsonSteps } from './json.ts';

/** Parsing in steps and at once must agree on every text, in words and places, too. */

function inSteps(text: string) {
  const steps = parseJsonSteps(text);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Long enough that a string of this length is read in several steps. */
const long = 40_000;
const ends = ['"]', '"', '', '\\', '\\u12', '\\u12"]', '\\x"]', '\u0001"]', '\n"]', '\\ud800"]'];
const insides = ['x', '\\n', '\\"', '\\u0041', '\\ud83d\\ude00', '\\\\', 'é', 'x\\/', '\\udead'];

it.each(insides)('[values 4] strings of %j are the same in steps', (inside) => {
  for (const shift of ['', 'x', 'xx', 'xxx', 'xxxx']) {
    for (const end of ends) {
      const text = `["${shift}${inside.repeat(long / inside.length)}${end}`;
      expect(resultOrWords(() => inSteps(text))).toEqual(resultOrWords(() => parseJson(text)));
    }
  }
});

const parts = ['[', ']', '{', '}', ',', ':', '"a"', '"b\\n"', '""', '1', '0', '12', '-', '1.5e3'];
const words = ['true', 'null', 'fals', ' ', '\n', '\\', '"', '01', '1.', 'x'];

it('[values 4] any texts are the same in steps', () => {
  const seed = Date.now() % 2 ** 31;
  let state = seed;
  const pick = <Item>(items: readonly Item[]): Item | undefined => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return items[(state >> 8) % items.length];
  };
  console.info(`seed ${seed}`);
  const tokens = [...parts, ...parts, ...words];
  for (let round = 0; round < 20_000; round += 1) {
    let text = pick(['[', '{"a":', '', '[[1,', '{"a":{"b":1},']) ?? '';
    for (let count = state % 12; count > 0; count -= 1) text += pick(tokens);
    text += pick([']', '}', '', ']}', '1]]']);
    expect(
      resultOrWords(() => inSteps(text)),
      text,
    ).toEqual(resultOrWords(() => parseJson(text)));
  }
});

it('[values 4] keys and texts that were there before are themselves', () => {
  const texts = Array.from({ length: 3_000 }, (_, number) => (number * 7919).toString(36));
  const json = JSON.stringify([...texts, ...texts].map((text) => ({ [text]: [text, 'ß€'] })));
  expect(inSteps(json)).toEqual(parseJson(json));
});

it('[values 4] what a long text repeats is kept once', () => {
  const list = inSteps('[123456,"text",[],{},123456,"text",[],{},-1.5e3,-1.5e3,[1]]') as object[];
  for (const at of [0, 1, 2, 3]) expect(list[at]).toBe(list[at + 4]);
  expect(list[8]).toBe(list[9]);
  // The root object identifies its source text, so two texts never share one.
  for (const root of ['[]', '{}', '123456']) expect(inSteps(root)).not.toBe(inSteps(root));
});
