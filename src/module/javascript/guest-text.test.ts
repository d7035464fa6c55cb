import { describe, expect, it } from 'vitest';
// @ts-expect-error: a script without types of its own
import * as embedding from '../../../scripts/embed-guest.mjs';

const assemble: (entry: string, read: (name: string) => string) => string = embedding.assemble;

function assembled(files: Readonly<Record<string, string>>): string {
  return assemble('main.js', (name) => files[name] ?? '');
}

describe('the text of the guest', () => {
  it('has each file once, after those that it imports, as it stands in the file', () => {
    const text = assembled({
      'main.js':
        "/** Starts. */\nimport { one } from './one.js';\nimport { two } from './part/two.js';\n" +
        '\nexport const api = { one, two };\n',
      'one.js': 'export const one = /** @type {any} */ (1); // first\n',
      'part/two.js':
        "import { one } from '../one.js';\n\nexport function two() {\n  return `/* one */`;\n}\n",
    });
    expect(text.split('\n')).toEqual([
      'const one =  (1);',
      'function two() {',
      '  return `/* one */`;',
      '}',
      'const api = { one, two };',
      '',
    ]);
  });

  it('is refused where one scope is not what the modules are', () => {
    const refusal = (main: string, other = ''): string => {
      try {
        assembled({ 'main.js': `import './other.js';\n${main}`, 'other.js': other });
        return '';
      } catch (error) {
        return String(error);
      }
    };
    expect(refusal('function a() {}', 'const a = 1;')).toContain('other.js has a name a, too');
    expect(refusal('const { Map: kept, Set } = x;')).toContain('Set hides a global');
    expect(refusal('const { encodeURI } = globalThis;')).toContain('encodeURI hides a global');
    expect(refusal("import { a as b } from './other.js';")).toContain('a renamed import');
    expect(refusal("import * as other from './other.js';")).toContain('a renamed import');
    expect(refusal("import { parse } from 'acorn';")).toContain('an import of acorn');
    expect(refusal('export default 1;')).toContain('not of a declaration');
    expect(refusal('const a = 1;\nexport { a };')).toContain('not of a declaration');
    expect(refusal('var a;')).toContain('var');
    expect(refusal('const a = `1\n2`;')).toContain('several lines');
    expect(refusal("const a = '\u2026';")).toContain('not ASCII');
  });
});
