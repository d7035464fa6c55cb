import { type Form, type Killer, killersOf, times } from './killer-module.ts';

/** Texts of up to a gibibyte, made without a loop. */
const makers: readonly string[] = [
  't.toUpperCase()',
  'w.toUpperCase()',
  't.toLowerCase()',
  'flat(t + "@")',
  'escape(w)',
  'unescape(t)',
  'JSON.stringify(t)',
  'JSON.parse(q)',
  'new Error(t).stack',
  'new Error(t).toString()',
  't.anchor(q)',
  't.replace("b", "c")',
  't.replace(/x/, "c")',
  'Symbol.for(t + "@")',
  'Symbol(t).toString()',
  'Symbol(t).description',
  't.split("")',
  '[...t]',
  'Array.from(t)',
  't.match(/x/g)',
  'Object(t)',
  't.padStart(2 ** 29 - 24, "ab").at(7)',
  '"ab".repeat(2 ** 28 - 12).at(7)',
  't.normalize()',
  'encodeURIComponent(t)',
  't.toWellFormed?.()',
  'Number(t)',
  'parseInt(t, 16)',
  'parseFloat(t)',
  'Date.parse(t)',
  't.isWellFormed?.()',
  't.localeCompare(w)',
  't < t2',
  't === t2',
  't.trim()',
  'new Intl.Collator().compare(t, w)',
  'String.raw({ raw: t }, 1)',
];

const count = 24;
const sources: readonly [RegExp, string][] = [
  [/\bt\b/, "const t = 'x'.repeat(2 ** 28);"],
  [/\bt2\b/, "const t2 = 'x'.repeat(2 ** 28 - 1) + 'y';"],
  [/\bw\b/, "const w = '\\u1234'.repeat(2 ** 26);"],
  [/\bq\b/, "const q = '\"' + 'x'.repeat(2 ** 24) + '\"';"],
];
const needs = (make: string) =>
  sources.map(([name, text]) => (name.test(make) ? text : '')).join(' ');

const forms: readonly Form[] = [
  ...makers.map(
    (make): Form => [`24 of ${make}`, `${needs(make)} kept = [${times(count, make)}];`],
  ),
  [
    'flattened where they are read',
    `const t = 'x'.repeat(2 ** 28); ${times(count, "const c@ = t + '@'; c@.charCodeAt(1);", ' ')} kept = () => [${times(count, 'c@')}];`,
  ],
  [
    'keys of an object',
    `const t = 'x'.repeat(2 ** 28); kept = { ${times(count, '[t + "@"]: 1')} };`,
  ],
  [
    'looked up',
    `const t = 'x'.repeat(2 ** 28); const o: any = {}; kept = [${times(count, 'o[t + "@"]')}];`,
  ],
  [
    'a template',
    `const t = 'x'.repeat(2 ** 24); kept = \`${times(30, `\${t}`, '')}\`.charCodeAt(9);`,
  ],
  [
    'digits of base 2',
    `kept = [${times(count, '(2 ** 1023).toString(2)')}]; kept = Number('1'.repeat(2 ** 29 - 24));`,
  ],
  [
    '24 numbers of digits',
    `const t = '1'.repeat(2 ** 29 - 24); kept = [${times(count, 'Number(t)')}];`,
  ],
  [
    '24 parsed floats',
    `const t = '1'.repeat(2 ** 29 - 24); kept = [${times(count, 'parseFloat(t)')}];`,
  ],
  [
    '24 parsed integers',
    `const t = '1'.repeat(2 ** 29 - 24); kept = [${times(count, 'parseInt(t, 2)')}];`,
  ],
  ['24 unary pluses', `const t = '1'.repeat(2 ** 29 - 24); kept = [${times(count, '+t')}];`],
  [
    'a comparison of long texts, 400 times',
    `const t = 'x'.repeat(2 ** 29 - 24); const u = 'x'.repeat(2 ** 29 - 25) + 'y'; kept = [${times(400, 't < u')}];`,
  ],
];

const prelude = `const flat = (text: string) => { text.charCodeAt(1); return text; };
declare function escape(text: string): string;
declare function unescape(text: string): string;`;

/** Texts: copies, keys, digits. */
export const ofTexts: readonly Killer[] = killersOf(forms, prelude);
