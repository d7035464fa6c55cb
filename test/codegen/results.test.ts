import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { CallError, InternalError, isCallError } from '../../src/client/index.ts';
import { definitionFromSchema } from '../../src/codegen/schema-document.ts';
import type { ModuleDefinition } from '../../src/schema/definition.ts';
import { schemaJson } from '../../src/schema/schema-json.ts';
import { Running } from '../service/running.ts';
import { compilation } from './compilation.ts';
import { definitionOfProgram, root, textsOf } from './described.ts';

// Bindings of a module whose reducers return values: as texts, to the compiler, and at work.

const file = fileURLToPath(new URL('../client/market.ts', import.meta.url));
// Within the project, where the runner of tests compiles what it imports.
const made = path.join(root, 'test/codegen/results/.made');
const { complaints, remove } = compilation();
let program: Uint8Array<ArrayBuffer>;
let definition: ModuleDefinition;

beforeAll(async () => {
  program = new Uint8Array((await buildModule(file)).program);
  definition = await definitionOfProgram(program);
}, 90_000);
afterAll(() => {
  remove();
  rmSync(path.dirname(made), { recursive: true, force: true });
});

const use = `
import { isCallError } from 'reducerdb/client';
import { DbConnection } from './index.js';
import type { TradeError } from './types.js';
import type { TradeError as Thrown, TradeResult } from './types/reducers.js';

export async function use(conn: DbConnection): Promise<void> {
  const trade = { from: 'ada', to: 'bob', gold: 4 };
  const receipt: TradeResult = await conn.reducers.trade(trade);
  const no: bigint = receipt;
  const text: string = await conn.reducers.trade(trade); // not ok
  const gold: number | undefined = await conn.reducers.gold({ of: 'ada' });
  const nothing: void = await conn.reducers.fill({ ownerName: 'ada', gold: 1 });
  await conn.reducers.close().catch((error: unknown) => {
    if (!isCallError(error, conn.reducers.close)) throw error;
    const thrown: Thrown = error.error;
    const same: TradeError = thrown;
    const wrong: string = error.error; // not ok
    if (same.tag === 'TooPoor') return same.value.missing + 1;
    return wrong;
  });
  console.log(no, text, gold, nothing);
}
`;

describe('bindings of reducers that return values', () => {
  const body = (texts: Record<string, string>, name: string) =>
    texts[name]?.split('\n').slice(6).join('\n');

  it('[client-sdk 14] say what each returns and throws; others stay as they were', () => {
    const texts = textsOf(definition);
    expect(body(texts, 'trade_reducer.ts')).toMatchInlineSnapshot(`
      "import { t as __t } from 'reducerdb/client';
      import { TradeError } from './types.js';

      export default {
        from: __t.string(),
        to: __t.string(),
        gold: __t.u32(),
      };

      export const returnType = __t.u64();

      export const errorType = TradeError;
      "
    `);
    expect(body(texts, 'close_reducer.ts')).toMatchInlineSnapshot(`
      "import { TradeError } from './types.js';

      export default {};

      export const errorType = TradeError;
      "
    `);
    const index = texts['index.ts'] ?? '';
    expect(index).toContain("import FillReducer from './fill_reducer.js';");
    expect(index).toContain("__reducerSchema('fill', FillReducer),");
    expect(index).toContain("import * as TradeReducer from './trade_reducer.js';");
    const results = '{ returns: TradeReducer.returnType, throws: TradeReducer.errorType }';
    expect(index).toContain(`__reducerSchema('trade', TradeReducer.default, ${results}),`);
  });

  it('[client-sdk 14] are the same from the schema endpoint', () => {
    const read = definitionFromSchema(schemaJson(definition, 10));
    expect(read.reducers).toEqual(definition.reducers);
    expect(body(textsOf(read), 'trade_reducer.ts')).toBe(
      body(textsOf(definition), 'trade_reducer.ts'),
    );
  });

  it('[client-sdk 14] tell the compiler the types', async () => {
    const lines = use.split('\n').map((line) => {
      return line.endsWith('// not ok') ? `    // @ts-expect-error\n${line}` : line;
    });
    const texts = { ...textsOf(definition), 'use.ts': lines.join('\n') };
    const options = { lib: ['es2023', 'esnext.iterator', 'dom', 'dom.iterable'] };
    expect(await complaints('use', texts, options)).toBe('');
  }, 90_000);

  it('[client-sdk 14] resolve and reject with the values', async () => {
    const style = { extension: '.ts', library: path.join(root, 'src/client/index.ts') } as const;
    for (const [name, text] of Object.entries(textsOf(definition, { style }))) {
      mkdirSync(path.dirname(path.join(made, name)), { recursive: true });
      writeFileSync(path.join(made, name), text);
    }
    const { DbConnection } = await import(path.join(made, 'index.ts'));
    const running = await Running.start();
    try {
      await running.upload('market', program, await running.person());
      const conn = DbConnection.builder()
        .withUri(running.service.url)
        .withDatabaseName('market')
        .build();
      const { reducers } = conn;
      expect(await reducers.fill({ ownerName: 'ada', gold: 10 })).toBeUndefined();
      await reducers.fill({ ownerName: 'bob', gold: 0 });
      expect(await reducers.trade({ from: 'ada', to: 'bob', gold: 4 })).toBe(1n);
      const refused = await reducers
        .trade({ from: 'ada', to: 'bob', gold: 9 })
        .catch((error: unknown) => error);
      expect(isCallError(refused, reducers.trade)).toBe(true);
      expect(isCallError(refused, reducers.close)).toBe(false);
      expect((refused as CallError).error).toEqual({
        tag: 'TooPoor',
        value: { missing: 3, ownerName: 'ada' },
      });
      await expect(reducers.close()).rejects.toThrow(CallError);
      await expect(reducers.askGuard()).rejects.toThrow(InternalError);
      conn.disconnect();
    } finally {
      await running.stop();
    }
  }, 90_000);
});
