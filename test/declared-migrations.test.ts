import { describe, expect, it } from 'vitest';
import type { MigrationOutcome } from '../src/module/migration-call.ts';
import type { ModuleDefinition } from '../src/schema/definition.ts';
import {
  decodeRows,
  encodeRows,
  fill,
  loadMigrated,
  migrateRows,
  migrationStore,
  type ProjectMigration,
} from './support/migration-program.ts';

const module = (tables: string, names: string) => `
import { schema, table, t } from 'reducerdb/server';
${tables}
const db = schema({ ${names} });
export default db;
export const noop = db.reducer({}, () => {});
`;

const before = module(
  `const user = table({}, {
    id: t.u64().primaryKey().autoInc(), fullName: t.string(), age: t.string(), city: t.u32(),
  });
  const city = table({}, { id: t.u32().primaryKey(), label: t.string() });
  const log = table({}, { line: t.string() });`,
  'user, city, log',
);

const after = module(
  `const person = table({}, {
    age: t.u8(), id: t.u64().primaryKey().autoInc(), name: t.string(), initial: t.string(),
    seen: t.timestamp(), rank: t.u32().default(7), note: t.string().optional(),
  });
  const city = table({}, { id: t.u32().primaryKey(), label: t.string() });`,
  'person, city',
);

const steps = `
  steps: (m) => [
    m.renameTable('user', 'person'),
    m.renameColumn('person', 'fullName', 'name'),
    m.changeColumn('person', 'age', { using: (old) => Number(old.age) }),
    m.dropColumn('person', 'city'),
    m.addColumn('person', 'initial', { fill: (old) => old.fullName[0] ?? '' }),
    m.addColumn('person', 'seen', { fill: (_, { timestamp }) => timestamp }),
    m.moveColumns('person', ['age', 'id', 'name', 'initial', 'seen']),
    m.addColumn('person', 'note', { fill: () => undefined }),
    m.moveColumns('person', ['age', 'id', 'name', 'initial', 'seen', 'note']),
    m.dropTable('log', { rows: 'discard' }),
  ],`;

const first = (options: string, id = '0001-people'): ProjectMigration => ({ id, before, options });
const users = [
  { id: 1n, fullName: 'Ann Lee', age: '41', city: 3 },
  { id: 2n, fullName: '', age: '7', city: 4 },
];

function rowsOf(outcome: MigrationOutcome, definition: ModuleDefinition): Record<string, unknown> {
  if (outcome.kind !== 'rows') throw new Error(JSON.stringify(outcome));
  const tables = [...outcome.tables].map(([name, { rows, count }]) => {
    const decoded = decodeRows(definition, name, rows);
    expect(decoded).toHaveLength(count);
    return [name, decoded];
  });
  return Object.fromEntries(tables);
}

describe('[living 5.2] the rows of a table', () => {
  it('go through all steps, and defaults are filled in between', async () => {
    const module = after
      .replace(', note: t.string().optional()', '')
      .replace('rank: t.u32().default(7)', 'note: t.string().optional(), rank: t.u32().default(7)');
    const program = await loadMigrated({ module, migrations: [first(steps)] });
    const rows = rowsOf(migrateRows(program, 'user', users), program.definition);
    expect(rows).toMatchObject({
      person: [
        { age: 41, id: 1n, name: 'Ann Lee', initial: 'A', note: undefined, rank: 7 },
        { age: 7, id: 2n, name: '', initial: '' },
      ],
    });
    const [person] = rows.person as { seen: { microsSinceUnixEpoch: bigint } }[];
    expect(String(person?.seen.microsSinceUnixEpoch)).toBe('1800000000000000');
    expect(rowsOf(migrateRows(program, 'log', [{ line: 'x' }]), program.definition)).toEqual({});
  });

  it('become several, or none, or rows of several tables', async () => {
    const next = module(
      `const user = table({}, {
        id: t.u64().primaryKey().autoInc(), fullName: t.string(), kind: t.string().default('-'),
      });
      const city = table({}, { id: t.u32().primaryKey(), label: t.string() });
      const place = table({}, { id: t.u32() }); const word = table({}, { text: t.string() });`,
      'user, city, place, word',
    );
    const options = `
      steps: (m) => [
        m.mapRows('user', (old) => old.fullName.split(' ').filter((word) => word !== '')
          .map((fullName) => ({ fullName }))),
        m.splitTable('city', { into: {
          city: (old) => old,
          place: (old) => (old.id > 1 ? { id: old.id } : undefined),
        } }),
        m.splitTable('log', { into: { word: (old) => [...old.line].map((text) => ({ text })) } }),
      ],`;
    const program = await loadMigrated({ module: next, migrations: [first(options)] });
    const { definition } = program;
    expect(rowsOf(migrateRows(program, 'user', users), definition)).toEqual({
      user: [
        { id: 0n, fullName: 'Ann', kind: '-' },
        { id: 0n, fullName: 'Lee', kind: '-' },
      ],
    });
    const cities = [1, 2].map((id) => ({ id, label: `c${id}` }));
    expect(rowsOf(migrateRows(program, 'city', cities), definition)).toEqual({
      city: cities,
      place: [{ id: 2 }],
    });
    expect(rowsOf(migrateRows(program, 'log', [{ line: 'ab' }]), definition)).toEqual({
      word: [{ text: 'a' }, { text: 'b' }],
    });
  });

  it('go through several migrations at once, and back', async () => {
    const one = module('const a = table({}, { x: t.u8() });', 'a');
    const two = module('const a = table({}, { x: t.string() });', 'a');
    const three = module('const b = table({}, { x: t.string(), y: t.u32() });', 'b');
    const program = await loadMigrated({
      module: three,
      migrations: [
        {
          id: '0001-text',
          before: one,
          options: `
            steps: (m) => [m.changeColumn('a', 'x', { using: (old) => String(old.x) })],
            down: (m) => [m.changeColumn('a', 'x', { using: (old) => Number(old.x) })],`,
        },
        {
          id: '0002-length',
          before: two,
          options: `
            steps: (m) => [
              m.renameTable('a', 'b'),
              m.addColumn('b', 'y', { fill: (old) => old.x.length }),
            ],
            down: (m) => [m.renameTable('b', 'a'), m.dropColumn('a', 'y')],`,
        },
      ],
    });
    const { definition } = program;
    const up = migrateRows(program, 'a', [{ x: 7 }, { x: 123 }]);
    expect(rowsOf(up, definition)).toEqual({
      b: [
        { x: '7', y: 1 },
        { x: '123', y: 3 },
      ],
    });
    const from = definition.migrations[0]?.from ?? definition;
    const down = migrateRows(program, 'b', [{ x: '9', y: 1 }], { direction: 'down' });
    expect(rowsOf(down, from)).toEqual({ a: [{ x: 9 }] });
    const second = migrateRows(program, 'a', [{ x: '55' }], { first: 1 });
    expect(rowsOf(second, definition)).toEqual({ b: [{ x: '55', y: 2 }] });
  });

  it('can be made by what other tables had, which the outcome says', async () => {
    const next = before.replace('city: t.u32(),', 'city: t.string(),');
    const options = `
      steps: (m) => [
        m.mapRows('user', (old, read) => ({
          ...old, city: read.old.city.id.find(old.city)?.label ?? 'none',
        })),
      ],`;
    const program = await loadMigrated({ module: next, migrations: [first(options)] });
    const from = program.definition.migrations[0]?.from ?? program.definition;
    const store = migrationStore(from);
    fill(store, 'old.city', [encodeRows(from, 'city', [{ id: 3, label: 'Ulm' }])]);
    const outcome = migrateRows(program, 'user', users, { store });
    expect(outcome).toMatchObject({ hasRead: true });
    expect(rowsOf(outcome, program.definition)).toMatchObject({
      user: [{ city: 'Ulm' }, { city: 'none' }],
    });
    expect(migrateRows(program, 'log', [{ line: 'x' }], { store })).toMatchObject({
      hasRead: false,
    });
  });
});

describe('[living 5.2] what goes wrong', () => {
  const failure = async (options: string, next = before) => {
    const program = await loadMigrated({ module: next, migrations: [first(options)] });
    return { program, outcome: migrateRows(program, 'user', users) };
  };

  it('names the step and the row, of a throw and of a value that its column cannot hold', async () => {
    const thrown = await failure(
      `steps: (m) => [m.changeColumn('user', 'age', { using: (old) => {
        if (old.id === 2n) throw new RangeError('no age');
        return old.age;
      } })],`,
    );
    expect(thrown.outcome).toMatchObject({
      kind: 'failed',
      message: 'Uncaught RangeError: no age',
      step: 'changeColumn user.age',
      row: 1,
      trace: [{ moduleName: expect.stringContaining('migrations/0001-people.ts:') }],
    });
    const wrong = await failure(
      `steps: (m) => [m.changeColumn('user', 'age', { using: (old) => Number(old.age) })],`,
      before.replace('age: t.string()', 'age: t.u8()'),
    );
    expect(wrong.outcome.kind).toBe('rows');
    const large = await failure(
      `steps: (m) => [m.changeColumn('user', 'age', { using: (old) => 1000 })],`,
      before.replace('age: t.string()', 'age: t.u8()'),
    );
    expect(large.outcome).toMatchObject({
      message: 'Uncaught TypeError: user.age: 1000 is out of range for u8',
      step: 'changeColumn user.age',
      row: 0,
    });
  });

  it('leaves the program as it was: the next call works', async () => {
    const { program, outcome } = await failure(
      `steps: (m) => [m.mapRows('user', (old) => {
        if (old.fullName === '') throw new Error('empty');
        return old;
      })],`,
    );
    expect(outcome).toMatchObject({ kind: 'failed', step: 'mapRows user', row: 1 });
    expect(migrateRows(program, 'user', users.slice(0, 1)).kind).toBe('rows');
  });

  it('is not written: functions that take rows cannot write, nor read what they do not ask for', async () => {
    const { program } = await failure(
      `steps: (m) => [m.mapRows('user', (old, read) => {
        read.old.city.insert({ id: 1, label: '' });
        return old;
      })],`,
    );
    const from = program.definition.migrations[0]?.from ?? program.definition;
    const store = migrationStore(from);
    expect(migrateRows(program, 'user', users, { store })).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('insert is not a function'),
    });
    const blind = await failure(
      `steps: (m) => [m.mapRows('user', (old) => ({ ...old, at: Math.random() + Date.now() }))],`,
    );
    const once = migrateRows(blind.program, 'user', users);
    expect(migrateRows(blind.program, 'user', users)).toEqual(once);
  });
});

describe('[living 5.2] whole steps', () => {
  const next = before.replace('city: t.u32(),', 'city: t.u32(), rank: t.u32().default(0),');
  const options = `
    steps: (m) => [
      m.run((tx) => {
        for (const old of tx.old.user.iter()) {
          const { label } = tx.old.city.id.find(old.city) ?? { label: 'none' };
          tx.new.log.insert({ line: old.fullName + ' ' + label });
          const row = tx.new.user.id.find(old.id);
          if (row) tx.new.user.id.update({ ...row, rank: 9 });
        }
        tx.new.user.insert({ fullName: 'new', age: '0', city: 0 });
        console.log(String(tx.timestamp.microsSinceUnixEpoch));
      }),
      m.assert((tx) => tx.new.user.count() === tx.old.user.count() + 1n, 'one more'),
      m.assert((tx) => tx.new.user.count() === 0n, 'none at all'),
      m.run((tx) => { tx.old.user.insert({}); }),
      m.assert((tx) => { tx.new.log.clear(); return true; }, 'writes'),
      m.run((tx) => { tx.new.city.label.filter('x'); }),
    ],`;

  it('see the tables before and after, and write those after alone', async () => {
    const program = await loadMigrated({ module: next, migrations: [first(options)] });
    const { runner, definition, messages } = program;
    const from = definition.migrations[0]?.from ?? definition;
    const store = migrationStore(from, definition);
    for (const user of users.map((one) => ({ ...one, id: one.id + 20n }))) {
      fill(store, 'old.user', [encodeRows(from, 'user', [user])]);
      fill(store, 'user', [encodeRows(definition, 'user', [{ ...user, rank: 0 }])]);
    }
    fill(store, 'old.city', [encodeRows(from, 'city', [{ id: 3, label: 'Ulm' }])]);
    const call = (kind: 'run' | 'assert', step: number): MigrationOutcome => {
      const asked = { kind, step, direction: 'up', first: 0, last: 0, store } as const;
      const transaction = kind === 'run' ? store.begin() : undefined;
      const whole = { ...asked, timestampMicros: 5n };
      const outcome = runner.callMigration?.(whole, transaction) ?? { kind: 'done' };
      if (outcome.kind === 'done') transaction?.commit();
      else transaction?.rollback();
      return outcome;
    };
    expect(call('run', 0)).toEqual({ kind: 'done' });
    expect(messages()).toContain('5');
    expect(store.tableByName('log')?.rowCount).toBe(2);
    expect(store.tableByName('user')?.rowCount).toBe(3);
    expect(call('assert', 1)).toEqual({ kind: 'done' });
    expect(call('assert', 2)).toEqual({ kind: 'refuted' });
    expect(call('run', 3)).toMatchObject({
      kind: 'failed',
      step: 'run',
      row: undefined,
      message: expect.stringContaining('insert is not a function'),
    });
    expect(call('assert', 4)).toMatchObject({ kind: 'failed', step: 'assert "writes"' });
    expect(call('run', 5)).toMatchObject({
      message: 'Uncaught TypeError: table city has no index on label: go through iter()',
    });
  });
});
