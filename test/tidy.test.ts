import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { arrows, folderArrows, surfaces } from './tidy/arrows.ts';
import { circlesOf, recursions } from './tidy/circles.ts';
import { foundPhrases } from './tidy/phrases.ts';
import { unlistedFiles } from './tidy/reading-order.ts';
import {
  checkArrows,
  checkFile,
  checkFolderArrows,
  checkIndexFile,
  checkLength,
  checkMarks,
  checkOrphans,
  checkPackages,
  checkSurfaces,
  unusedSurfaces,
} from './tidy/rules.ts';
import { isTest, loadedWith, readDocuments, readSources, roomOf } from './tidy/source-file.ts';
import { rulesOf, twiceDefined, unknownIds, untestedRules } from './tidy/spec-rules.ts';
import { untested } from './tidy/untested-rules.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

describe('the source tree', () => {
  const files = readSources(root);
  const tests = [...files.filter((file) => isTest(file.path)), ...readSources(root, 'test')];
  const rules = readDocuments(root)
    .filter((document) => /^docs\/spec\/(?!README)/.test(document.path))
    .flatMap(rulesOf);

  it('keeps every rule that looks at one file', () => {
    expect(files.flatMap(checkFile)).toEqual([]);
  });

  it('has no file that nothing imports', () => {
    expect(checkOrphans(files, readSources(root, 'test'))).toEqual([]);
  });

  it('has a README in each room, and a row in the arrow table for each', () => {
    const rooms = readdirSync(path.join(root, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
    const without = rooms.filter((room) => !existsSync(path.join(root, 'src', room, 'README.md')));
    expect(without).toEqual([]);
    expect(rooms.sort()).toEqual(Object.keys(arrows).sort());
  });

  it('has arrow tables without a cycle: each row lists only rows above it', () => {
    for (const table of [arrows, ...Object.values(folderArrows)]) {
      const above = new Set<string>();
      for (const [row, targets] of Object.entries(table)) {
        expect(targets.filter((target) => !above.has(target))).toEqual([]);
        above.add(row);
      }
    }
  });

  it('has a reading order with every file of the room in each README', () => {
    const readmes = Object.keys(arrows).map(
      (room) => [room, readFileSync(path.join(root, 'src', room, 'README.md'), 'utf8')] as const,
    );
    expect(unlistedFiles(files, new Map(readmes))).toEqual([]);
  });

  it('has no files that import each other in a circle, but for those that recur', () => {
    expect(circlesOf(files)).toEqual(recursions.map(({ files: recurring }) => recurring));
  });

  it('[ease 5.1] starts the command without a database in memory', () => {
    const loaded = loadedWith('src/cli/run-command.ts', files);
    expect(loaded).toContain('src/cli/commands/start.ts');
    const ofDatabases = ['store', 'sql', 'live', 'log', 'module', 'codegen'];
    expect(loaded.filter((file) => ofDatabases.includes(roomOf(file) ?? ''))).toEqual([]);
  });

  it('shows the same arrow tables in ARCHITECTURE.md and in the README of a room', () => {
    const shown = Object.entries(folderArrows).map(
      ([room, table]) => [`src/${room}/README.md`, table] as const,
    );
    for (const [document, table] of [['ARCHITECTURE.md', arrows] as const, ...shown]) {
      const text = readFileSync(path.join(root, document), 'utf8');
      const rows = Object.entries(table).map(
        ([row, targets]) =>
          `| \`${row}\` | ${targets.length === 0 ? 'nothing' : targets.join(', ')} |`,
      );
      expect(rows.filter((row) => !text.includes(row))).toEqual([]);
    }
  });

  it('has surfaces that are used, and READMEs that say what each file of them is for', () => {
    expect(unusedSurfaces(files)).toEqual([]);
    for (const [room, names] of Object.entries(surfaces)) {
      const text = readFileSync(path.join(root, 'src', room, 'README.md'), 'utf8');
      const section = text.split('\n## Surface\n')[1]?.split('\n## ')[0] ?? '';
      const shown = [...section.matchAll(/^\| `([^`]+)` \| \S/gm)].map(([, name]) => name);
      expect(shown).toEqual(names);
    }
  });

  it('has a rule for each id that a test names, and each rule once', () => {
    expect(twiceDefined(rules)).toEqual([]);
    expect(unknownIds(tests, rules)).toEqual([]);
  });

  it('has a test for each rule, or a reason why there is none', () => {
    expect(untestedRules(tests, rules).sort()).toEqual(Object.keys(untested).sort());
  });

  it('has none of the listed phrases', () => {
    const literal = ['CONTRIBUTING.md', 'docs/spec/'];
    const read = readDocuments(root).filter(
      (document) => !literal.some((start) => document.path.startsWith(start)),
    );
    expect(foundPhrases([...files.filter((file) => !isTest(file.path)), ...read])).toEqual([]);
  });

  it('has documents whose links lead somewhere', () => {
    const dead = readDocuments(root).flatMap(({ path: document, text }) =>
      [...text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)]
        .map((match) => path.join(path.dirname(document), match[1] ?? ''))
        .filter((target) => !existsSync(path.join(root, target)))
        .map((target) => `${document}: ${target}`),
    );
    expect(dead).toEqual([]);
  });

  it('speaks of the product alone in code and documents', () => {
    const words = /\/work\/|\/root\/|\bhelper-\d|\bhidden (test|check)s?\b/i;
    const all = [...files, ...readDocuments(root)];
    expect(all.filter((file) => words.test(file.text)).map((file) => file.path)).toEqual([]);
  });
});

describe('the tidy rules', () => {
  const file = (name: string, text: string) => ({ path: name, text });

  it('find a forbidden arrow, type-only ones included', () => {
    const text = "import type { Host } from '../host/host.ts';\n";
    expect(checkArrows(file('src/store/page.ts', text))).toHaveLength(1);
    expect(checkArrows(file('src/http/router.ts', text))).toEqual([]);
    expect(checkArrows(file('src/attic/page.ts', ''))).toHaveLength(1);
  });

  it('find a forbidden arrow between folders of a room', () => {
    const above = "import { Registry } from '../registry/registry.ts';\n";
    const beside = "import type { Host } from '../host.ts';\n";
    expect(checkFolderArrows(file('src/host/feeds/outbox.ts', above))).toHaveLength(1);
    expect(checkFolderArrows(file('src/host/feeds/outbox.ts', beside))).toHaveLength(1);
    expect(checkFolderArrows(file('src/host/offline/repair-log.ts', above))).toEqual([]);
    expect(checkFolderArrows(file('src/host/host.ts', above))).toEqual([]);
    expect(checkFolderArrows(file('src/host/attic/page.ts', ''))).toHaveLength(1);
  });

  it('let folders import a file beside them that has a row, which has no other targets', () => {
    const failure = "import { invalid } from '../failure.ts';\n";
    const statement = "import { prepare } from '../statement.ts';\n";
    expect(checkFolderArrows(file('src/sql/check/check.ts', failure))).toEqual([]);
    expect(checkFolderArrows(file('src/sql/check/check.ts', statement))).toHaveLength(1);
    const check = "import { check } from './check/check.ts';\n";
    expect(checkFolderArrows(file('src/sql/failure.ts', check))).toHaveLength(1);
    expect(checkFolderArrows(file('src/sql/statement.ts', check))).toEqual([]);
  });

  it('find an import behind the surface of a room, type-only ones included', () => {
    const behind = "import type { Place } from '../sql/expressions/place.ts';\n";
    const surface = "import { prepare } from '../sql/statement.ts';\n";
    expect(checkSurfaces(file('src/live/fragment.ts', behind))).toHaveLength(1);
    expect(checkSurfaces(file('src/live/fragment.ts', surface))).toEqual([]);
    expect(checkSurfaces(file('src/live/fragment.test.ts', behind))).toEqual([]);
    const own = "import type { Place } from '../expressions/place.ts';\n";
    expect(checkSurfaces(file('src/sql/run/execution.ts', own))).toEqual([]);
    const users = [file('src/live/fragment.ts', surface), file('src/sql/limited-read.ts', behind)];
    expect(unusedSurfaces(users)).not.toContain('src/sql/statement.ts');
    expect(unusedSurfaces(users)).toContain('src/sql/schema.ts');
  });

  it('find an arrow in a re-export and in a multi-line import', () => {
    const reexport = "export { Host } from '../host/host.ts';\n";
    const many = "import {\n  a,\n  type B,\n} from '../host/host.ts';\n";
    expect(checkArrows(file('src/values/value.ts', reexport))).toHaveLength(1);
    expect(checkArrows(file('src/values/value.ts', many))).toHaveLength(1);
  });

  it('find Node and packages in an engine room', () => {
    const text = "import fs from 'node:fs';\nimport 'hono';\n";
    expect(checkPackages(file('src/log/segment.ts', text))).toHaveLength(2);
    expect(checkPackages(file('src/node/disk.ts', text))).toEqual([]);
    expect(checkPackages(file('src/react/hooks.ts', `${text}import 'react';\n`))).toHaveLength(2);
  });

  it('find long files and long lines', () => {
    expect(checkLength(file('src/a/b.ts', 'x\n'.repeat(601)))).toHaveLength(1);
    expect(checkLength(file('src/a/b.ts', `${'x'.repeat(101)}\n`))).toHaveLength(1);
    const written = file('src/module/javascript/guest-text.ts', 'x\n'.repeat(601));
    expect(checkLength(written)).toEqual([]);
  });

  it('find marks, default exports and silenced compilers', () => {
    const text = ['// TO', 'DO: later\nexport ', 'default 1;\n// @ts-', 'ignore\n'].join('');
    expect(checkMarks(file('src/a/b.ts', text))).toHaveLength(3);
  });

  it('find an index file outside an entry, and an orphan', () => {
    expect(checkIndexFile(file('src/store/index.ts', ''))).toHaveLength(1);
    expect(checkIndexFile(file('src/server/index.ts', ''))).toEqual([]);
    expect(checkOrphans([file('src/store/lonely.ts', '')])).toHaveLength(1);
  });

  it('find a circle of files, type-only imports included', () => {
    const circle = [
      file('src/a/one.ts', "import { two } from './two.ts';\n"),
      file('src/a/two.ts', "import type { Three } from './three.ts';\n"),
      file('src/a/three.ts', "export { one } from './one.ts';\n"),
      file('src/a/four.ts', "import { one } from './one.ts';\n"),
    ];
    expect(circlesOf(circle)).toEqual([['src/a/one.ts', 'src/a/three.ts', 'src/a/two.ts']]);
    expect(circlesOf(circle.slice(1))).toEqual([]);
  });

  it('find a file that its README does not name', () => {
    const readme = 'Order: `page.ts` · `tree/*.ts` and `check/type-*.ts`';
    const paths = ['page.ts', 'tree/leaf.ts', 'check/type-case.ts', 'check/names.ts', 'heap.js'];
    const room = paths.map((name) => file(`src/store/${name}`, ''));
    const unlisted = ['src/store/check/names.ts', 'src/store/heap.js'];
    expect(unlistedFiles(room, new Map([['store', readme]]))).toEqual(unlisted);
  });

  it('find ids without a rule, rules without a test, and rules that stand twice', () => {
    const text =
      '## 1. One\n### 1.2 Two\n| 3 | three |\n**P4** four\n- **P5** five\n404 is no id\n';
    const known = rulesOf(file('docs/spec/sql.md', text));
    expect(known.map(({ id }) => id)).toEqual(['1', '1.2', '3', 'P4', 'P5']);
    const titled = (...titles: string[]) =>
      file('test/a.test.ts', titles.map((title) => `it('[${title}] works', () => {});`).join('\n'));
    const named = [titled('sql 1.2', 'sql P4-P5', 'sql 3, P9', 'adr 1')];
    expect(unknownIds(named, known)).toEqual(['test/a.test.ts:3: no rule [sql P9] in docs/spec']);
    expect(untestedRules(named, known)).toEqual([]);
    expect(untestedRules([titled('sql 3')], known)).toEqual([
      ...['sql 1', 'sql 1.2', 'sql P4', 'sql P5'],
    ]);
    expect(twiceDefined([...known, ...known.slice(0, 1)])).toEqual(['sql 1']);
    expect(unknownIds([titled('sql words')], known)).toHaveLength(1);
  });

  it('find listed phrases', () => {
    const bad = ['// made ', 'anew for who', 'ever asks\n'].join('');
    expect(foundPhrases([file('src/a/b.ts', bad)])).toHaveLength(2);
    expect(foundPhrases([file('src/a/b.ts', '// made again for the caller\n')])).toEqual([]);
  });
});
