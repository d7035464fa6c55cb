import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildModule } from '../../src/bundle/build-module.ts';
import { root, type Sandbox } from './harness.ts';
import { Remote } from './remote.ts';

/** Makes a module project in the sandbox and gives its folder. */
export function writeModule(sandbox: Sandbox, name: string, source: string): string {
  const folder = path.join(sandbox.folder, name);
  writeFiles(folder, {
    'package.json': JSON.stringify({ name, private: true, type: 'module' }),
    'src/index.ts': source,
  });
  return folder;
}

/**
 * Bundles a module project, so that a test that publishes it often builds it once; gives the file.
 */
export async function writeBundle(sandbox: Sandbox, name: string, source: string): Promise<string> {
  const { program } = await buildModule(writeModule(sandbox, name, source));
  const file = path.join(sandbox.folder, `${name}.js`);
  writeFileSync(file, program);
  return file;
}

/**
 * Logs the sandbox in at its service as a caller who prepares and looks over HTTP, where a test is
 * not about the command: each command is a process of its own.
 */
export async function logIn(sandbox: Sandbox): Promise<Remote> {
  const remote = await Remote.of(sandbox.url);
  await sandbox.ok(['login', '--token', remote.token]);
  return remote;
}

/** Writes files, by their path below `folder`; what is no text is written as JSON. */
export function writeFiles(folder: string, files: Readonly<Record<string, unknown>>): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  }
}

/** One of the module projects of the tests. */
export function fixture(name: string): string {
  return path.join(root, 'test/fixtures/modules', name);
}

/** A table `items` and a reducer that adds to it; `columns` and `options` vary it. */
export function itemsModule(columns = '', options = '', more = ''): string {
  return `
    import { schema, t, table } from 'reducerdb/server';
    const items = table(
      { public: true${options} },
      { id: t.u32().primaryKey().autoInc(), name: t.string()${columns} },
    );
    const db = schema({ items });
    export default db;
    export const add = db.reducer({ name: t.string() }, (ctx, { name }) => {
      ctx.db.items.insert({ id: 0, name${columns === '' ? '' : ', extra: 7'} } as never);
    });
    ${more}
  `;
}
