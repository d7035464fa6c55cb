import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { CodegenError } from '../../src/codegen/codegen-error.ts';
import type { ModuleDefinition } from '../../src/schema/definition.ts';
import { type Person, Running } from '../service/running.ts';
import { compilation } from './compilation.ts';
import { definitionOfProject, root, textsOf } from './described.ts';

const house = path.join(root, 'test/fixtures/submodules/house.ts');
// Within the project, where the runner of tests compiles what it imports.
const cache = path.join(root, 'test/codegen/.nested');
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(path.join(cache, 'bindings-'));
const { complaints, remove } = compilation();

let definition: ModuleDefinition;
let running: Running;
let owner: Person;
beforeAll(async () => {
  definition = await definitionOfProject(house);
  running = await Running.start();
  owner = await running.person();
}, 90_000);
afterAll(async () => {
  await running.stop();
  rmSync(cache, { recursive: true, force: true });
  remove();
});

describe('bindings of a module in a module', () => {
  it('[cli 5.3, client-sdk 8] have a folder for each, and one index', () => {
    const files = Object.keys(textsOf(definition));
    expect(files).toEqual(
      [
        'furnish_reducer.ts',
        'index.ts',
        'library/count_reducer.ts',
        'library/front_desk/item_table.ts',
        'library/front_desk/labelled_table.ts',
        'library/front_desk/put_item_reducer.ts',
        'library/front_desk/types.ts',
        'library/front_desk/types/procedures.ts',
        'library/front_desk/types/reducers.ts',
        'library/book_table.ts',
        'library/my_books_table.ts',
        'library/shelve_reducer.ts',
        'library/types.ts',
        'library/types/procedures.ts',
        'library/types/reducers.ts',
        'room_table.ts',
        'rooms_table.ts',
        'types.ts',
        'types/procedures.ts',
        'types/reducers.ts',
      ].sort(),
    );
    expect(textsOf(definition)['library/types.ts']).toContain('shelf: __t.u16()');
    expect(textsOf(definition)['library/front_desk/types.ts']).toContain("__t.enum('Kind'");
  });

  it('[client-sdk 8] nest tables, reducers and rows, and the compiler knows', async () => {
    const use = `
      import { DbConnection, reducers, tables } from './index.js';
      import type { Kind } from './library/front_desk/types.js';
      import type { PutItemParams } from './library/front_desk/types/reducers.js';
      export async function use(conn: DbConnection): Promise<bigint> {
        const kind: Kind = { tag: 'Parcel' };
        const args: PutItemParams = { label: 'lamp', kind };
        for (const item of conn.db.library.frontDesk.item) console.log(item.label);
        conn.db.library.book.title.find('Emma')?.kind.shelf.toFixed();
        conn.subscriptionBuilder().subscribe([tables.library.frontDesk.item, tables.room]);
        conn.subscriptionBuilder().subscribe((q) => q.library.book.where((b) => b.title.eq('x')));
        console.log(reducers.library.shelve.name, reducers.furnish.name);
        await conn.reducers.furnish({ title: 'Emma' });
        // @ts-expect-error: a private table of the submodule
        conn.db.library.frontDesk.drawer;
        // @ts-expect-error: it is within the submodule
        conn.reducers.putItem(args);
        // @ts-expect-error: the other Kind
        await conn.reducers.library.shelve({ title: 'x', kind });
        return await conn.reducers.library.frontDesk.putItem(args);
      }
    `;
    expect(await complaints('nested', { ...textsOf(definition), 'use.ts': use })).toBe('');
  }, 90_000);

  it('[client-sdk 8] call and watch what is inside', async () => {
    const style = { extension: '.ts', library: path.join(root, 'src/client/index.ts') } as const;
    for (const [file, text] of Object.entries(textsOf(definition, { style }))) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    }
    const { program } = await buildModule(house);
    const answer = await running.upload('house', new Uint8Array(program), owner);
    expect([answer.status, answer.status === 200 || answer.text]).toEqual([200, true]);
    const { DbConnection, tables } = await import(path.join(folder, 'index.ts'));
    // biome-ignore lint/suspicious/noExplicitAny: its types are checked where it is compiled
    const conn = await new Promise<any>((resolve, reject) => {
      DbConnection.builder()
        .withUri(running.service.url)
        .withDatabaseName('house')
        .onConnect(resolve)
        .onConnectError((_: unknown, error: Error) => reject(error))
        .build();
    });
    await new Promise<void>((resolve) => {
      const { item } = tables.library.frontDesk;
      conn
        .subscriptionBuilder()
        .onApplied(() => resolve())
        .subscribe([item, tables.library.book]);
    });
    const { frontDesk } = conn.reducers.library;
    expect(await frontDesk.putItem({ label: 'lamp', kind: { tag: 'Parcel' } })).toBe(1n);
    await conn.reducers.furnish({ title: 'Emma' });
    const { library } = conn.db;
    expect([...library.frontDesk.item].map(({ label }) => label).sort()).toEqual(['Emma', 'lamp']);
    expect(library.book.title.find('Emma').kind).toEqual({ name: 'novel', shelf: 3 });
    conn.disconnect();
  }, 60_000);

  it('[cli 5.3] are refused where two things would meet', () => {
    const [inner] = definition.submodules;
    const other = { namespace: 'Library', module: inner?.module ?? definition };
    const both = { ...definition, submodules: [...definition.submodules, other] };
    expect(() => textsOf(both)).toThrow(CodegenError);
  });
});
