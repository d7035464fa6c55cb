import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { publishedRooms } from '../tidy/arrows.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The names that each published entry exports, kept in a file beside this one: a change of the public
 * surface shows as a change of that file. `UPDATE_API=1 npx vitest run test/api` writes it anew.
 */
describe('the published entries', () => {
  it.each(publishedRooms)('%s exports what entries/%s.txt lists', async (room) => {
    const names = Object.keys(await import(path.join(root, 'src', room, 'index.ts'))).sort();
    const types = typeNames(readFileSync(path.join(root, 'src', room, 'index.ts'), 'utf8'));
    const file = path.join(root, 'test/api/entries', `${room}.txt`);
    const text = `${[...names, ...types.map((name) => `type ${name}`)].join('\n')}\n`;
    if (process.env.UPDATE_API === '1') writeFileSync(file, text);
    expect(existsSync(file) ? readFileSync(file, 'utf8') : '').toBe(text);
  });
});

/** Names that an entry exports as types, which leave no trace at run time. */
function typeNames(source: string): string[] {
  const lists = [...source.matchAll(/export (type )?\{([^}]*)\}/g)];
  const names = lists.flatMap(([, isTypeList, list = '']) =>
    list
      .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '' && (isTypeList !== undefined || entry.startsWith('type ')))
      .map((entry) => entry.replace(/^type /, '').replace(/^.* as /, '')),
  );
  return [...new Set(names)].sort();
}
