import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CodegenError } from '../../src/codegen/codegen-error.ts';
import { recursiveRefs } from '../../src/codegen/recursive-types.ts';
import { definitionFromSchema } from '../../src/codegen/schema-document.ts';
import { schemaModule } from '../../src/codegen/schema-module.ts';
import { marker } from '../../src/codegen/source-file.ts';
import type { ModuleDefinition } from '../../src/schema/definition.ts';
import { schemaJson } from '../../src/schema/schema-json.ts';
import { buildText } from '../support/build-text.ts';
import { compilation } from './compilation.ts';
import {
  definitionOfProgram,
  definitionOfProject,
  plainOptions,
  projects,
  root,
  textsOf,
} from './described.ts';
import { manorText } from './manor.ts';

const { complaints, remove } = compilation();
afterAll(remove);

const definitions = new Map<string, ModuleDefinition>();
const definitionNamed = (name: string) => definitions.get(name) as ModuleDefinition;
const names = [...Object.keys(projects), 'manor'];

beforeAll(async () => {
  for (const [name, project] of Object.entries(projects)) {
    definitions.set(name, await definitionOfProject(project));
  }
  const { bytes } = await buildText(manorText);
  definitions.set('manor', await definitionOfProgram(bytes));
}, 120_000);

describe('bindings', () => {
  it('[cli 5.2] compile in the strictest mode, with and without what is private', async () => {
    const all = names.flatMap((name) => {
      const definition = definitionNamed(name);
      const folders = { [name]: false, [`${name}-all`]: true };
      return Object.entries(folders).flatMap(([place, includePrivate]) => {
        const texts = Object.entries(textsOf(definition, { includePrivate }));
        return texts.map(([file, text]) => [`${place}/${file}`, text]);
      });
    });
    expect(all.length).toBeGreaterThan(200);
    expect(await complaints('every', Object.fromEntries(all))).toBe('');
  }, 90_000);

  it('[cli 5.2, sql 10.2] have no view with parameters, which no client can read', () => {
    const name = names.find((one) => definitionNamed(one).views.length > 0) ?? '';
    const definition = definitionNamed(name);
    const params = { kind: 'product', elements: [{ name: 'at', type: { kind: 'u64' } }] } as const;
    const views = definition.views.map((view) => ({ ...view, params }));
    const filesOf = (all: typeof views) =>
      Object.keys(textsOf({ ...definition, views: all }, plainOptions));
    expect(filesOf([]).length).toBeLessThan(Object.keys(textsOf(definition, plainOptions)).length);
    expect(filesOf(views)).toEqual(filesOf([]));
  });

  it('[cli 5.3] compile where types of the module are called like those of the language', async () => {
    const { bytes } = await buildText(`
      import { schema, t, table } from 'reducerdb/server';
      const Record = t.object('Record', {
        nothing: t.unit(),
        bytes: t.byteArray(),
        get more() { return t.array(Record); },
      });
      const Uint8Array = t.enum('Uint8Array', {
        get Promise() { return Record; },
        get Array() { return t.option(Uint8Array); },
      });
      const Infer = t.object('Infer', { t: t.result(t.unit(), t.string()) });
      const held = { id: t.u32().primaryKey(), record: Record, bytes: Uint8Array, infer: Infer };
      export default schema({ order: table({ public: true }, held) });
    `);
    const texts = textsOf(await definitionOfProgram(bytes));
    expect(texts['types.ts']).toContain('globalThis.Record<never, never>');
    expect(texts['types.ts']).toContain('bytes: globalThis.Uint8Array');
    expect(await complaints('language', texts)).toBe('');
  }, 90_000);

  it('[client-sdk 12] are the schema alone, if wanted: what the endpoint answers', async () => {
    for (const name of names) {
      const answer = schemaJson(definitionNamed(name), 10);
      const { path: file, text } = schemaModule(answer, plainOptions.style);
      expect(text.startsWith(marker)).toBe(true);
      const [, json] = /RawSchema = (.*);\n$/.exec(text) ?? [];
      expect([file, json]).toEqual(['schema.ts', answer]);
    }
    const manor = schemaJson(definitionNamed('manor'), 10);
    const { path: file, text } = schemaModule(manor, plainOptions.style);
    const use = `
      import { connect } from 'reducerdb/client';
      import { schema } from './schema.js';
      export const client = connect<object>({ uri: 'ws://a', database: 'b', schema });
    `;
    expect(await complaints('schema-only', { [file]: text, 'use.ts': use })).toBe('');
  }, 90_000);

  it('[cli 5.3] compile where imports have other endings', async () => {
    const styles = [
      ['', { module: 'esnext', moduleResolution: 'bundler' }],
      ['.ts', {}],
    ] as const;
    for (const [extension, options] of styles) {
      const style = { extension, library: 'reducerdb/client' };
      const texts = textsOf(definitionNamed('manor'), { style });
      expect(await complaints(`manor${extension}`, texts, options)).toBe('');
    }
  }, 90_000);

  it('[cli 9.6] compile with the library of the compatible product, too', async () => {
    // That one takes no unique constraint over several columns, no case that holds its own type, and
    // no reducer with a result.
    const isTaken = (name: string) => {
      const { tables, reducers, typespace } = definitionNamed(name);
      const circles = [...recursiveRefs(typespace).keys()];
      return (
        reducers.every(({ returns, throws }) => returns === undefined && throws === undefined) &&
        tables.every(({ constraints }) => constraints.every((c) => c.columns.length === 1)) &&
        circles.every((ref) => typespace.types[ref]?.kind !== 'sum')
      );
    };
    const taken = names.filter(isTaken);
    expect(taken).toEqual(expect.arrayContaining(['chat', 'kinds', 'views']));
    const style = { extension: '', library: 'spacetimedb' } as const;
    const all = taken.flatMap((name) => {
      const texts = Object.entries(textsOf(definitionNamed(name), { style }));
      return texts.map(([file, text]) => [`${name}/${file}`, text]);
    });
    const paths = { spacetimedb: [path.join(root, 'node_modules/spacetimedb')] };
    // Nor is it written for the strictest mode.
    const lax = { exactOptionalPropertyTypes: false };
    const options = { module: 'esnext', moduleResolution: 'bundler', paths, ...lax };
    expect(await complaints('peer', Object.fromEntries(all), options)).toBe('');
  }, 90_000);

  it.each(names)('are the same from the schema endpoint: %s', (name) => {
    const definition = definitionNamed(name);
    const read = definitionFromSchema(schemaJson(definition, 10));
    // The endpoint does not tell the names that a module gave its indexes.
    const withoutNames = (texts: Record<string, string>) => {
      const { 'index.ts': index = '', ...others } = texts;
      const flat = index.replace(/[\s,]+/g, ' ');
      return { ...others, index: flat.replace(/name: '\w+' algorithm/g, 'algorithm') };
    };
    for (const includePrivate of [false, true]) {
      const texts = textsOf(definition, { includePrivate });
      expect(textsOf(definition, { includePrivate })).toEqual(texts);
      expect(withoutNames(textsOf(read, { includePrivate }))).toEqual(withoutNames(texts));
    }
  });
});

describe('the files of a small module', () => {
  let texts: Record<string, string>;
  beforeAll(async () => {
    const { bytes } = await buildText(`
      import { schema, t, table } from 'reducerdb/server';
      const Mood = t.enum('Mood', { calm: t.unit(), named: t.string() });
      const heroes = table({ public: true }, { heroId: t.u32().primaryKey(), mood: Mood });
      const db = schema({ heroes });
      export default db;
      export const cheerUp = db.reducer({ heroId: t.u32(), mood: Mood }, () => {});
    `);
    texts = textsOf(await definitionOfProgram(bytes));
  });
  const body = (file: string) => texts[file]?.split('\n').slice(6).join('\n');

  it('[cli 5.3] begin with the line by which they are known', () => {
    for (const text of Object.values(texts)) {
      expect(text.split('\n').slice(0, 6).join('\n')).toMatchInlineSnapshot(`
        "// THIS FILE IS AUTOMATICALLY GENERATED BY REDUCERDB. EDITS TO THIS FILE
        // WILL NOT BE SAVED. CHANGE THE MODULE AND RUN \`reducerdb generate\` INSTEAD.

        /* eslint-disable */
        /* tslint:disable */
        "
      `);
    }
  });

  it('[cli 5.3] describe a table', () => {
    expect(body('heroes_table.ts')).toMatchInlineSnapshot(`
      "import { t as __t } from 'reducerdb/client';
      import { Mood } from './types.js';

      export default __t.row({
        heroId: __t.u32().primaryKey().name('hero_id'),
        get mood() {
          return Mood;
        },
      });
      "
    `);
  });

  it('[cli 5.3] describe a type', () => {
    const types = body('types.ts') ?? '';
    expect(types.slice(types.indexOf('export const Mood'))).toMatchInlineSnapshot(`
      "export const Mood = __t.enum('Mood', {
        Calm: __t.unit(),
        Named: __t.string(),
      });
      export type Mood = __Infer<typeof Mood>;
      "
    `);
  });

  it('[cli 5.3] describe a reducer, and the type of its arguments', () => {
    expect(body('cheer_up_reducer.ts')).toMatchInlineSnapshot(`
      "import { t as __t } from 'reducerdb/client';
      import { Mood } from './types.js';

      export default {
        heroId: __t.u32(),
        get mood() {
          return Mood;
        },
      };
      "
    `);
    expect(body('types/reducers.ts')).toMatchInlineSnapshot(`
      "import { type Infer as __Infer } from 'reducerdb/client';
      import CheerUpReducer from '../cheer_up_reducer.js';

      export type CheerUpParams = __Infer<typeof CheerUpReducer>;
      "
    `);
  });

  it('[cli 5.3] are put together in the index', () => {
    const index = texts['index.ts'] ?? '';
    const start = index.indexOf('const tablesSchema');
    const end = index.indexOf('const proceduresSchema');
    expect(index.slice(start, end)).toMatchInlineSnapshot(`
      "const tablesSchema = __schema({
        heroes: __table({
          name: 'heroes',
          indexes: [
            {
              accessor: 'heroId',
              name: 'heroes_hero_id_idx_btree',
              algorithm: 'btree',
              columns: ['heroId'],
            },
          ],
          constraints: [
            { name: 'heroes_hero_id_key', constraint: 'unique', columns: ['heroId'] },
          ],
        }, HeroesRow),
      });

      const reducersSchema = __reducers(
        __reducerSchema('cheer_up', CheerUpReducer),
      );

      "
    `);
  });
});

/** A program that uses the bindings of the manor; each line with `not ok` must not compile. */
const use = `
import { DbConnection, reducers, tables, type EventContext, type Tables, type DbView } from './index.js';
import { Mood, Node, Tree } from './types.js';
import type { CountGhostsArgs, CountGhostsResult } from './types/procedures.js';
import type { HauntParams } from './types/reducers.js';

export async function use(conn: DbConnection): Promise<void> {
  const node: Node = {
    height: 1,
    next: undefined,
    below: [],
    tree: Tree.Bare,
    deed: { err: 'none' },
    since: null as never,
  };
  await conn.reducers.haunt({ ghostId: 1, mood: Mood.Calm, node, notes: ['a'] });
  await conn.reducers.haunt({ ghostId: '1', mood: Mood.Calm, node, notes: [] }); // not ok
  await conn.reducers.haunt({ ghostId: 1, mood: { tag: 'Sad' }, node, notes: [] }); // not ok
  await conn.reducers.knockTwice();
  await conn.reducers.ring({}); // not ok
  await conn.reducers.boot({}); // not ok
  const count: bigint = await conn.procedures.countGhosts({});
  const high: Node | undefined = await conn.procedures.tallest();
  const ghost = conn.db.ghost.ghostId.find(1);
  const score: number | undefined = ghost?.player2Score;
  conn.db.ghost.nickName.find('Ada');
  conn.db.ghost.nickName.find(7); // not ok
  conn.db.cellar; // not ok
  for (const row of conn.db.ghost.byMood.filter(Mood.VeryAngry)) row.seenAt.toDate();
  conn.db.knock.onInsert((ctx: EventContext, row) => {
    const door: string = row.door;
    const times: string = row.times; // not ok
    return [ctx.event, door, times];
  });
  for (const row of conn.db.calmGhosts.iter()) row.nickName.length;
  tables.ghost.where((row) => row.ghostId.eq(1));
  tables.ghost.where((row) => row.ghostId.eq('1')); // not ok
  const args: CountGhostsArgs = { mood: Mood.Calm };
  const result: CountGhostsResult = count;
  const params: HauntParams = { ghostId: 1, mood: Mood.Calm, node, notes: [], why: undefined };
  const fork: Tree = { tag: 'Fork', value: [{ tag: 'Leaf', value: node }, Tree.Bare] };
  const wrong: Tree = { tag: 'Fork', value: [7] }; // not ok
  const name: 'haunt' = reducers.haunt.name;
  console.log(high, score, args, result, params, fork, wrong, name);
}
export type { DbView, Tables };
`;

describe('programs that use bindings', () => {
  it('[client-sdk 8, 11.3] are told by the compiler what does not fit', async () => {
    const lines = use.split('\n').map((line) => {
      return line.endsWith('// not ok') ? `  // @ts-expect-error\n${line}` : line;
    });
    const texts = { ...textsOf(definitionNamed('manor')), 'use.ts': lines.join('\n') };
    const options = { lib: ['es2023', 'esnext.iterator', 'dom', 'dom.iterable'] };
    expect(await complaints('use', texts, options)).toBe('');
  }, 90_000);
});

describe('what bindings leave out', () => {
  it('[cli 5.2] is private tables and functions, unless asked for', () => {
    const definition = definitionNamed('manor');
    const shown = Object.keys(textsOf(definition));
    const all = Object.keys(textsOf(definition, { includePrivate: true }));
    expect(all.filter((file) => !shown.includes(file))).toEqual([
      'cellar_table.ts',
      'chime_table.ts',
      'ring_reducer.ts',
    ]);
    expect(all).not.toContain('boot_reducer.ts');
  });
});

describe('names', () => {
  const definitionOf = async (tables: string) => {
    const { bytes } = await buildText(`
      import { CaseConversionPolicy, schema, t, table } from 'reducerdb/server';
      ${tables}
    `);
    return definitionOfProgram(bytes);
  };

  it('that fall together are refused, and both are named', async () => {
    const two = await definitionOf(`
      const row = { id: t.u8().primaryKey() };
      export default schema(
        { a_b: table({ public: true }, row), aB: table({ public: true }, t.row('Other', row)) },
        { CASE_CONVERSION_POLICY: CaseConversionPolicy.None },
      );
    `);
    expect(() => textsOf(two)).toThrow(CodegenError);
    expect(() => textsOf(two)).toThrow(/the tables and views `aB` and `a_b` would both be `aB`/);
  });

  it('that are no identifiers without their separators get one', async () => {
    const odd = await definitionOf(`
      const row = t.row('First', { _2nd: t.u8().primaryKey(), a__b: t.u8() });
      const _1st = table({ public: true }, row);
      export default schema({ _1st }, { CASE_CONVERSION_POLICY: CaseConversionPolicy.None });
    `);
    const texts = textsOf(odd);
    expect(await complaints('odd', texts)).toBe('');
    expect(texts['1_st_table.ts']).toContain('_2nd: __t.u8().primaryKey()');
    expect(texts['1_st_table.ts']).toContain("aB: __t.u8().name('a__b')");
  }, 90_000);
});

describe('a schema document', () => {
  it.each([
    ['[]', /expected an object with sections/],
    ['{"sections":[{"Tables":[{}]}]}', /expected an object with types/],
    ['{"sections":', /at line 1/],
  ])('that is none is refused: %s', (text, message) => {
    expect(() => definitionFromSchema(text)).toThrow(message);
  });

  it('that does not hold together is refused', () => {
    const text = schemaJson(definitionNamed('chat'), 10);
    const broken = text.replaceAll('"product_type_ref":', '"product_type_ref":9');
    expect(() => definitionFromSchema(broken)).toThrow(/Errors occurred/);
  });
});
