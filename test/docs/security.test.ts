import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../service/harness.ts';

const guide = readFileSync(path.join(root, 'docs/guide/security.md'), 'utf8');

/** The rows of the threat table, without its head. */
function threatRows(): string[][] {
  const [, section = ''] = guide.split('\n## Threats and tests\n');
  const [table = ''] = section.split('\n## ');
  return table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
}

/** True if a test of this title is written in a source; rule ids and what follows may differ. */
function hasTest(source: string, title: string): boolean {
  const literal = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/'/g, "\\\\?'");
  return new RegExp(`['"\`](?:\\[[^\\]]+\\] )?${literal}[^\\w]`).test(source);
}

describe('the threat table of the security guide', () => {
  it('names for each threat what holds it in each mode, and a test', () => {
    const rows = threatRows();
    expect(rows.length).toBeGreaterThan(30);
    for (const row of rows) {
      expect(row, row[0]).toHaveLength(4);
      for (const cell of row) expect(cell, row[0]).not.toBe('');
    }
  });

  it.each(threatRows())('names a test that exists: %s', (_threat, _thread, _process, proof) => {
    const [, file = '', title = ''] = /^`(test\/\S+|src\/\S+)`: (.+)$/.exec(proof ?? '') ?? [];
    expect(existsSync(path.join(root, file)), `${proof}`).toBe(true);
    expect(hasTest(readFileSync(path.join(root, file), 'utf8'), title), `${proof}`).toBe(true);
  });

  it('would notice a title that is not there', () => {
    const source = "it('[http 2] holds', () => {}); it('leads on', () => {});";
    expect(hasTest(source, 'holds')).toBe(true);
    expect(hasTest(source, 'leads')).toBe(true);
    expect(hasTest(source, 'lead')).toBe(false);
    expect(hasTest(source, 'on')).toBe(false);
  });
});
