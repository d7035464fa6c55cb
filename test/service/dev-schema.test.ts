import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { DevDesk, type DevRun, devModule, edit } from './dev-support.ts';

const desks: DevDesk[] = [];

async function watching(flags: readonly string[] = []): Promise<readonly [DevDesk, DevRun]> {
  const made = await DevDesk.make();
  desks.push(made);
  const run = await made.watching(flags);
  await run.call('add', ['tea']);
  await run.call('add', ['milk']);
  return [made, run];
}

afterEach(async () => {
  for (const one of desks.splice(0)) await one.remove();
});

const names = [['tea'], ['milk']];
const renamed = devModule(', title: t.string()').replace(', name: t.string()', '');
const dropped = renamed.replace(', title: t.string()', '').replace('title: name', '');
const migrations = (desk: DevDesk) => {
  return readdirSync(path.join(desk.folder, 'migrations')).filter((name) => name.endsWith('.ts'));
};

describe('reducerdb dev and changes of the schema', () => {
  it('[console 3.3] applies what is compatible, and names it in one line', async () => {
    const [desk, run] = await watching();
    desk.write({ 'src/index.ts': devModule(', size: t.u32().default(7)') });
    const line = await run.says('schema: ');
    expect(line).toContain('column in table items (+ size: U32 (default: 7)');
    expect(await run.sql('SELECT name, size FROM items ORDER BY id')).toEqual([
      ['tea', 7],
      ['milk', 7],
    ]);
  });

  it('[console 3.3] asks what became of a column, and renames it with its rows', async () => {
    const [desk, run] = await watching();
    desk.write({ 'src/index.ts': renamed });
    await run.says('the schema has changed in a way that needs a decision:');
    await run.says('Rows at stake: items 2 rows.');
    await run.says('1  write a migration: rename items.name to title');
    await run.says('2  write a migration: drop items.name, of 2 rows; you then write');
    await run.says('3  reset this development database: 2 rows are deleted');
    await run.says('4  keep the old program until the next save');
    expect(await run.sql('SELECT name FROM items ORDER BY id')).toEqual(names);
    run.line('9');
    await run.says('`9` is not one of the numbers.');
    run.line('1');
    await run.says('wrote migrations/0001-rename-name-to-title.ts');
    await run.says(/published shop in \d+ ms/);
    expect(await run.sql('SELECT title FROM items ORDER BY id')).toEqual(names);
  });

  it('[console 3.3] drops a column, or keeps everything, as it is told', async () => {
    const [desk, run] = await watching();
    desk.write({ 'src/index.ts': dropped });
    await run.says('1  write a migration: drop items.name, of 2 rows');
    await run.says('3  keep the old program until the next save');
    run.line('3');
    await run.says('The old program stays in force; no rows were changed.');
    expect(await run.sql('SELECT name FROM items ORDER BY id')).toEqual(names);
    edit(path.join(desk.folder, 'src/index.ts'), "'adding '", "'more '");
    await run.says('1  write a migration: drop items.name, of 2 rows');
    run.line('1');
    await run.says('wrote migrations/0001-drop-name.ts');
    await run.says(/published shop in \d+ ms/);
    expect(await run.sql('SELECT * FROM items ORDER BY id')).toEqual([[1], [2]]);
  });

  it('[console 3.3] takes a question back when the sources change again', async () => {
    const [desk, run] = await watching();
    desk.write({ 'src/index.ts': dropped });
    await run.says('1 to 3:');
    desk.write({ 'src/index.ts': devModule().replace("'adding '", "'again '") });
    await run.says(/published shop in \d+ ms/);
    run.line('1');
    expect(await run.sql('SELECT name FROM items ORDER BY id')).toEqual(names);
  });

  it('[rulings 6.3] changes nothing where nobody can answer', async () => {
    const [desk, run] = await watching();
    run.child.stdin?.end();
    desk.write({ 'src/index.ts': renamed });
    await run.says('--on-conflict=migrate or --on-conflict=reset answers for scripts.');
    await run.says('The old program stays in force; no rows were changed.');
    expect(await run.sql('SELECT name FROM items ORDER BY id')).toEqual(names);
  });

  it('[console 3.3] --on-conflict=migrate renames, and loses no rows', async () => {
    const [desk, run] = await watching(['--on-conflict=migrate']);
    desk.write({ 'src/index.ts': renamed });
    await run.says('wrote migrations/0001-rename-name-to-title.ts');
    await run.says(/published shop in \d+ ms/);
    expect(await run.sql('SELECT title FROM items ORDER BY id')).toEqual(names);
    desk.write({ 'src/index.ts': dropped });
    await run.says(
      '--on-conflict=migrate loses no rows: write the migration that drops items.title',
    );
    await run.says('The old program stays in force; no rows were changed.');
    expect(await run.sql('SELECT title FROM items ORDER BY id')).toEqual(names);
    expect(migrations(desk)).toEqual(['0001-rename-name-to-title.ts']);
  });

  it('[console 3.3] --on-conflict=reset deletes the rows, --on-conflict=stop does nothing', async () => {
    const [desk, run] = await watching(['--on-conflict=stop']);
    desk.write({ 'src/index.ts': renamed });
    await run.says('Rows at stake: items 2 rows.');
    await run.says('The old program stays in force; no rows were changed.');
    expect(await run.sql('SELECT name FROM items ORDER BY id')).toEqual(names);
    await run.quit();
    const again = desk.dev(['--server-only', '--on-conflict=reset']);
    await again.says(/reset and published shop in \d+ ms/);
    expect(await again.sql('SELECT title FROM items')).toEqual([]);
  });

  it('[console 3.3] says which rows stand against a constraint, and keeps them', async () => {
    const [desk, run] = await watching();
    await run.call('add', ['tea']);
    desk.write({
      'src/index.ts': devModule().replace('name: t.string()', 'name: t.string().unique()'),
    });
    await run.says('the schema has changed in a way that needs a decision:');
    await run.says('Rows at stake: items 3 rows.');
    await run.says('2  keep the old program until the next save');
    run.line('2');
    await run.says('The old program stays in force');
    expect(await run.sql('SELECT name FROM items ORDER BY id')).toEqual([...names, ['tea']]);
  });
});
