import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { exampleNames, readmeOfCopy } from './example-project.ts';
import { packageFolder } from './installation.ts';

describe('[ease 5.3] the README of a copied example', () => {
  it('has what is said of a copy, with its database', () => {
    const text = 'a\n<!-- in the repository -->\nb\n<!-- in a copy\nc {{name}}\n-->\nd\n';
    expect(readmeOfCopy(text, 'desk')).toBe('a\nc desk\nd\n');
    expect(readmeOfCopy('a\n', 'desk')).toBe('a\n');
  });

  it.each(exampleNames())('names nothing of the repository: %s', (name) => {
    const text = readFileSync(path.join(packageFolder, 'examples', name, 'README.md'), 'utf8');
    const own = readmeOfCopy(text, 'my-own');
    expect(own).not.toMatch(/root of the (?:repository|clone)|--no-save|\.\.\/\.\.|<!--|-->|\{\{/);
    expect(own).not.toContain(`examples/${name}`);
    const commands = own.matchAll(/reducerdb (?:env set|schedule run|call|sql) (\S+)/g);
    for (const [, database] of commands) expect(database).not.toBe(name);
    expect(own).not.toContain(`database/${name}/`);
  });
});
