import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../service/harness.ts';
import { readDocuments, readSources } from '../tidy/source-file.ts';

const all = [...readSources(root), ...readSources(root, 'test'), ...readDocuments(root)];
const names = new Set(all.map((file) => path.basename(file.path)));

/**
 * Files and folders that a list of files names and that are not there. Paths are below the project
 * or below `src`; a name without a folder is that of any file, because a list says the folder once.
 */
function missingIn(text: string): string[] {
  const spans = [...text.matchAll(/`([^`\n]+)`|^npx vitest run (.*)$/gm)];
  const words = spans.flatMap(([, span, command]) => (span ?? command ?? '').split(' '));
  return words.filter((word) => {
    if (/[<*]/.test(word)) return false;
    if (!word.includes('/')) return /\w\.(ts|md)$/.test(word) && !names.has(word);
    const isPath = /^[\w-]+(\/[\w.-]+)*\/?$/.test(word);
    return (
      isPath && !existsSync(path.join(root, word)) && !existsSync(path.join(root, 'src', word))
    );
  });
}

it('the lists of what to add name files that are there', () => {
  const text = readFileSync(path.join(root, 'docs/how-to-add.md'), 'utf8');
  expect(missingIn(text)).toEqual([]);
});

it('a file that has moved is noticed', () => {
  const text =
    '| 1 | `sql/functions/text.ts`, `gone.ts` | `a/b` |\n' +
    '`nowhere/text.ts` and `mcp/tools/<name>.ts`\n```sh\nnpx vitest run src/sql src/gone\n```\n';
  expect(missingIn(text)).toEqual(['gone.ts', 'a/b', 'nowhere/text.ts', 'src/gone']);
});
