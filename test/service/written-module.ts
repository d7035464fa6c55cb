import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildModule } from '../../src/bundle/build-module.ts';

export type Program = Uint8Array<ArrayBuffer>;

/** A module as a test wants to write it. */
export interface ModuleSketch {
  /** By accessor: the arguments of `table(…)`, such as `{ public: true }, { id: t.u32() }`. */
  readonly tables: Readonly<Record<string, string>>;
  /** Types and the like, before the tables. */
  readonly before?: string;
  /** Exports after the schema, which is called `db`. */
  readonly exports?: string;
  /** What the reducer `which` refuses with, so that a test sees which program answers. */
  readonly says?: string;
}

/** Builds a module from a sketch. */
export function written({ tables, before = '', exports = '', says = 'one' }: ModuleSketch) {
  const names = Object.keys(tables);
  return writtenFrom(`
    import { ScheduleAt, SenderError, schema, TimeDuration, t, table } from 'reducerdb/server';
    ${before}
    ${names.map((name) => `const ${name} = table(${tables[name]});`).join('\n')}
    const db = schema({ ${names.join(', ')} });
    export default db;
    export const which = db.reducer(() => {
      throw new SenderError(${JSON.stringify(says)});
    });
    ${exports}
  `);
}

const built = new Map<string, Promise<Program>>();

/** Builds a module from its whole text; each text once in a process. */
export function writtenFrom(source: string): Promise<Program> {
  const known = built.get(source) ?? build(source);
  built.set(source, known);
  return known;
}

async function build(source: string): Promise<Program> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-written-'));
  try {
    const file = path.join(folder, 'index.ts');
    writeFileSync(file, source);
    return new Uint8Array((await buildModule(file)).program);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
