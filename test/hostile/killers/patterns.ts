import { type Form, type Killer, killersOf, times } from './killer-module.ts';

/** Each is translated when it is first used, and nothing interrupts that. */
const made: readonly Form[] = [
  [
    'a pattern of 500000 alternatives',
    `kept = new RegExp(Array.from({ length: 500000 }, (_, n) => n).join('|')).test('x');`,
  ],
  [
    'a pattern of 500000 alternatives, any case',
    `kept = new RegExp(Array.from({ length: 500000 }, (_, n) => 'k' + n).join('|'), 'i').test('x');`,
  ],
  ['a pattern of 2000000 letters', `kept = new RegExp('a|'.repeat(2000000)).test('x');`],
  ['split by alternatives', `kept = 'x'.split(new RegExp('ab|'.repeat(1000000)));`],
  [
    'replaced by alternatives',
    `kept = 'xyz'.replace(new RegExp('(?:a|b|c)'.repeat(400000)), 'y');`,
  ],
  ['a text as a pattern', `kept = 'xyz'.match('[a-f]+|'.repeat(500000));`],
  ['many classes', `kept = new RegExp('[a-fx-z]'.repeat(500000)).test('x');`],
  ['many letters of any case', `kept = new RegExp('\\\\p{L}|'.repeat(100000), 'iu').test('x');`],
  ['many sets', `kept = new RegExp('[\\\\p{L}--[a-z]]|'.repeat(100000), 'v').test('x');`],
  [
    'many names',
    `kept = new RegExp(Array.from({ length: 30000 }, (_, n) => '(?<g' + n + '>a)').join('|')).test('x');`,
  ],
  ['looked behind', `kept = new RegExp('(?<!ab|cd)'.repeat(300000)).test('x');`],
  ['looked ahead', `kept = new RegExp('(?=a?b|cd)'.repeat(300000)).test('x');`],
  ['sticky', `kept = new RegExp('abc|'.repeat(1000000), 'y').test('x');`],
  ['counted', `kept = new RegExp('(?:a{1,9}|b)'.repeat(300000)).test('x');`],
];

const literal: readonly Form[] = [
  ['a literal of 10^6 alternatives', `kept = /${times(1000000, '@', '|')}/.test('x');`],
];

/** Patterns. The one whose mere text is heavy has a module of its own. */
export const ofPatterns: readonly Killer[] = [...killersOf(made), ...killersOf(literal)];
