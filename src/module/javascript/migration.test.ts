import { describe, expect, it } from 'vitest';
import { migrated } from '../../../test/schema/migration-builder.ts';
import { moduleOf, u32 } from '../../../test/schema/module-builder.ts';
import { fill, migrationStore } from '../../../test/support/migration-program.ts';
import { loadProgram } from '../../../test/support/module-under-test.ts';
import { limits } from '../../limits.ts';
import { moduleHooksKey } from '../../protocol/module-abi.ts';
import { emptyCatalog } from '../../schema/build-catalog.ts';
import { encodeWithMigrations } from '../../schema/encode-migrations.ts';
import { validateModule } from '../../schema/validate.ts';
import type { MigrationOutcome } from '../migration-call.ts';

const before = moduleOf([{ name: 'a', columns: { x: u32 } }]);
const reads = { kind: 'mapRows', table: 'a', reads: true } as const;
const run = { kind: 'run' } as const;
const description = encodeWithMigrations(
  migrated(before, { before, steps: [reads] }, { id: '0002-b', before, steps: [run] }),
);

/** A program of the raw boundary whose migration hooks are `hooks`. */
function rawMigration(hooks: string): string {
  return `
class SenderError extends Error {}
let sys;
const view = () => new DataView(sys.scratch(0));
export default {
  [Symbol.for('${moduleHooksKey}')](namespace, given) {
    sys = given;
    return {
      __describe_module__: () => new Uint8Array([${description}]),
      __call_reducer__() {},
      __sender_error_class__: SenderError,
      ${hooks}
    };
  },
};
`;
}

async function called(hooks: string, kind: 'rows' | 'run' | 'assert' = 'rows') {
  const { runner } = await loadProgram(rawMigration(hooks), emptyCatalog);
  const definition = validateModule(before);
  const store = migrationStore(definition, definition);
  fill(store, 'old.a', [Uint8Array.of(7, 0, 0, 0)]);
  const at = { direction: 'up', timestampMicros: 1n, store } as const;
  const rows = { table: 'a', rows: Uint8Array.of(1, 0, 0, 0), count: 1 };
  const transaction = kind === 'run' ? store.begin() : undefined;
  const outcome: MigrationOutcome | undefined = runner.callMigration?.(
    kind === 'rows'
      ? { kind, first: 0, last: 0, ...rows, ...at }
      : { kind, first: 1, last: 1, step: 0, ...at },
    transaction,
  );
  transaction?.commit();
  return { outcome, store };
}

const hook = (body: string) =>
  `__call_migration__(kind, step, count, at, rows, route) { ${body} },`;
const place = (body: string) => `__migration_place__() { ${body} },`;

describe('[abi 16, living 6.3] a hostile program that is asked to migrate', () => {
  it.each([
    ['has no hook', '', 'Uncaught TypeError: Expected module function hook `__call_migration__`'],
    ['answers with no bytes', hook('return {};'), 'must return a Uint8Array'],
    ['answers with nothing', hook(''), 'must return a Uint8Array'],
    ['breaks off', hook('return new Uint8Array(0);'), 'the answer of the program is damaged'],
    [
      'claims many tables',
      hook('return new Uint8Array([255, 255, 255, 255]);'),
      'the answer of the program is damaged',
    ],
    [
      'claims many bytes',
      hook('return new Uint8Array([1,0,0,0, 1,0,0,0,97, 1,0,0,0, 255,255,255,255]);'),
      'the answer of the program is damaged',
    ],
    ['throws', hook('throw new Error("no");'), 'Uncaught Error: no'],
    ['refuses', hook('throw new SenderError("no");'), 'no'],
    ['recurses', hook('return this.__call_migration__();'), 'Uncaught RangeError: Maximum call'],
    ['begins a transaction', hook('if (sys.begin(0) < 0) throw 1;'), 'Uncaught 1'],
    ['sends a request', hook('if (sys.fetch(0, 0) < 0) throw 2;'), 'Uncaught 2'],
  ])('%s: fails', async (_, hooks, message) => {
    const { outcome } = await called(hooks);
    expect(outcome).toMatchObject({ kind: 'failed', message: expect.stringContaining(message) });
  });

  it('cannot answer with more bytes than there is room for', async () => {
    const { outcome } = await called(
      hook(`return new Uint8Array(${limits.migratedBytesMax + 1});`),
    );
    const message = `the rows made of 1 rows of a have ${limits.migratedBytesMax + 1} bytes`;
    expect(outcome).toMatchObject({ kind: 'failed', message: expect.stringContaining(message) });
  });

  it.each([
    ['an object', place('return { toString() { throw 1; } };'), '', undefined],
    ['an error', place('throw new Error();'), '', undefined],
    ['no hook', '', '', undefined],
    ['any text', place('return "x".repeat(100000);'), '', undefined],
    ['no row', place('return "-1\\\\nrun";'), 'run', undefined],
    ['a long step', place('return "5\\\\n" + "x".repeat(100000);'), 'x'.repeat(300), 5],
    ['a large row', place('return "99999999999\\\\nx";'), '', undefined],
  ])('says where it failed by %s', async (_, where, step, row) => {
    const { outcome } = await called(`${hook('throw 1;')}\n${where.replaceAll('\\\\n', '\\n')}`);
    expect(outcome).toMatchObject({ kind: 'failed', message: 'Uncaught 1', step, row });
  });

  it('cannot write while it takes rows or checks, and writes the new tables alone', async () => {
    const write = `
      view().setUint32(0, 9, true);
      const codes = ['old.a', 'a'].map((name) => sys.insert(sys.table_id(name), 4));
      throw JSON.stringify([...codes, sys.clear(sys.table_id('old.a'))]);`;
    for (const kind of ['rows', 'assert'] as const) {
      const { outcome, store } = await called(hook(write), kind);
      expect(outcome).toMatchObject({ message: 'Uncaught [-19,-19,-19]' });
      expect(store.tableByName('old.a')?.rowCount).toBe(1);
    }
    const { outcome, store } = await called(
      hook(
        'view().setUint32(0, 9, true); sys.insert(sys.table_id("a"), 4); return new Uint8Array(1);',
      ),
      'run',
    );
    expect(outcome).toEqual({ kind: 'done' });
    expect(store.tableByName('a')?.rowCount).toBe(1);
  });

  it('does not see the tables of a call in the next one', async () => {
    const { runner, store: served } = await loadProgram(
      rawMigration(hook('return new Uint8Array(sys.table_id("old.a") < 0 ? 0 : 4);')),
      emptyCatalog,
    );
    const definition = validateModule(before);
    const rows = { table: 'a', rows: new Uint8Array(0), count: 0 };
    const call = { kind: 'rows', direction: 'up', first: 0, last: 0, timestampMicros: 1n } as const;
    const store = migrationStore(definition, definition);
    expect(runner.callMigration?.({ ...call, ...rows, store }, undefined)).toMatchObject({
      kind: 'rows',
    });
    expect(runner.callMigration?.({ ...call, ...rows, store: served }, undefined)).toMatchObject({
      kind: 'failed',
    });
  });

  it('that has read is found out, whatever it says', async () => {
    const scan = 'sys.close(sys.scan(sys.table_id("old.a"))); return new Uint8Array(4);';
    expect((await called(hook(scan))).outcome).toMatchObject({ kind: 'rows', hasRead: true });
    const none = hook('return new Uint8Array(4);');
    expect((await called(none)).outcome).toMatchObject({ kind: 'rows', hasRead: false });
  });
});
