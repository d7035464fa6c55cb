import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { checkConsoleImports, consoleArrows } from './console-room.ts';
import { foundPhrases } from './phrases.ts';
import { unlistedFiles } from './reading-order.ts';
import { checkLength, checkMarks } from './rules.ts';
import { importsOf, readSources, resolveImport } from './source-file.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('the console', () => {
  const files = readSources(root, 'console/src');
  const readme = readFileSync(path.join(root, 'console/README.md'), 'utf8');
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const packages = Object.keys(manifest.devDependencies);

  it('keeps the rules that look at one file', () => {
    expect(files.flatMap((file) => [...checkLength(file), ...checkMarks(file)])).toEqual([]);
  });

  it('has none of the listed phrases', () => {
    expect(foundPhrases(files)).toEqual([]);
  });

  it('imports public entries and packages, and its folders as the table says', () => {
    expect(files.flatMap((file) => checkConsoleImports(file, packages))).toEqual([]);
  });

  it('shows the table in its README, and every file in a reading order', () => {
    const rows = Object.entries(consoleArrows).map(([row, targets]) => {
      return `| \`${row}\` | ${targets.length === 0 ? 'nothing' : targets.join(', ')} |`;
    });
    expect(rows.filter((row) => !readme.includes(row))).toEqual([]);
    // As if `console/src` were a room, whose files the README names from there.
    const inRoom = files.map(({ path: file, text }) => {
      return { path: file.replace('console/src/', 'src/console/'), text };
    });
    expect(unlistedFiles(inRoom, new Map([['console', readme]]))).toEqual([]);
  });

  it('has no file that nothing imports', () => {
    const imported = new Set(
      files.flatMap((file) => importsOf(file.text).map((name) => resolveImport(file.path, name))),
    );
    const orphans = files.map((file) => file.path).filter((file) => !imported.has(file));
    // Parts and resources may wait for a page that uses them.
    const mayWait = /\/(parts|service)\//;
    expect(orphans.filter((file) => !mayWait.test(file))).toEqual(['console/src/main.tsx']);
  });

  it('has rules that find what they forbid', () => {
    const file = (name: string, text: string) => ({ path: `console/src/${name}`, text });
    const complaints = (name: string, text: string) =>
      checkConsoleImports(file(name, text), ['react']);
    expect(complaints('parts/a.ts', "import { b } from '../shell/b.ts';\n")).toHaveLength(1);
    expect(complaints('shell/a.ts', "import { b } from '../parts/b.ts';\n")).toEqual([]);
    expect(complaints('pages/x/a.ts', "import { b } from '../y/b.ts';\n")).toHaveLength(1);
    expect(complaints('pages/x/a.ts', "import { b } from './b.ts';\n")).toEqual([]);
    expect(complaints('pages/pages.ts', "const p = () => import('./x/a.tsx');\n")).toEqual([]);
    expect(complaints('parts/a.ts', "import { b } from '../../../src/b.ts';\n")).toHaveLength(1);
    expect(complaints('parts/a.ts', "import fs from 'node:fs';\n")).toHaveLength(1);
    expect(complaints('parts/a.ts', "import { a } from 'reducerdb/server';\n")).toHaveLength(1);
    const fine = "import { connect } from 'reducerdb/client';\nimport { useState } from 'react';\n";
    expect(complaints('parts/a.ts', fine)).toEqual([]);
  });
});
