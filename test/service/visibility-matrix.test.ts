import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Guarded,
  hiddenKey,
  hiddenText,
  type Probe,
  probesForTable,
  probesOf,
} from '../sql/visibility-statements.ts';
import { someOf } from '../support/share.ts';
import { root } from './harness.ts';
import { type Person, Running } from './running.ts';
import { writtenFrom } from './written-module.ts';

/**
 * Twin databases: one with rows and tables that a caller may not see, one in which they never were.
 * Whatever such a caller sends, through every door, the answers must be the same bytes. A share of
 * the probes is sent, another one each time, and all of them by `test/long/visibility.long.ts`.
 */

let running: Running;
let owner: Person;
let alice: Person;
let bob: Person;
let stranger: Person;

const guardedText = readFileSync(
  path.join(root, 'test/fixtures/modules/guarded/src/index.ts'),
  'utf8',
);

beforeAll(async () => {
  running = await Running.start();
  [owner, alice, bob, stranger] = await Promise.all([
    running.person(),
    running.person(),
    running.person(),
    running.person(),
  ]);
  const program = await writtenFrom(guardedText);
  await publish('rows-full', program);
  await publish('rows-bare', program);
  await publish('tables-full', await writtenFrom(small(true)));
  await publish('tables-bare', await writtenFrom(small(false)));
  for (const name of ['rows-full', 'rows-bare']) await addVisibleRows(name);
  await addHiddenRows('rows-full');
  await addHiddenTables();
}, 120_000);
afterAll(() => running.stop());

async function publish(name: string, program: Uint8Array<ArrayBuffer>): Promise<void> {
  const { status, text } = await running.upload(name, program, owner);
  if (status !== 200) throw new Error(`${name}: ${text}`);
}

/** A private table and a private view, or nothing of the kind. */
function small(isWhole: boolean): string {
  const hidden = `
    const secret = table({}, { id: t.u32().primaryKey(), keeper: t.identity(), words: t.string() });`;
  return `
    import { schema, t, table } from 'reducerdb/server';
    const bulletin = table({ public: true }, { id: t.u32().primaryKey(), title: t.string() });
    ${isWhole ? hidden : ''}
    const db = schema({ bulletin${isWhole ? ', secret' : ''} });
    export default db;
    export const addBulletin = db.reducer({ id: t.u32(), title: t.string() }, (ctx, row) => {
      ctx.db.bulletin.insert(row);
    });
    ${isWhole ? hiddenParts : ''}
  `;
}

const hiddenParts = `
  const hidden = { public: false } as unknown as { readonly public: true };
  export const allSecrets = db.anonymousView(hidden, t.array(secret.rowType), (ctx) => {
    return [...ctx.db.secret.iter()];
  });
  export const addSecret = db.reducer(
    { id: t.u32(), keeper: t.identity(), words: t.string() },
    (ctx, row) => { ctx.db.secret.insert(row); },
  );`;

async function add(database: string, reducer: string, ...args: unknown[]): Promise<void> {
  const { status, text } = await running.call(database, reducer, args, owner);
  if (status >= 300) throw new Error(`${database}.${reducer}: ${text}`);
}

const idOf = ({ identity }: Person) => [`0x${identity}`];

/** What alice sees, and what everybody sees. */
async function addVisibleRows(name: string): Promise<void> {
  for (const id of [1, 2, 3, hiddenKey]) await add(name, 'add_bulletin', id, `title ${id}`);
  await add(name, 'add_note', 1, idOf(alice), 1, '10');
  await add(name, 'add_note', 2, idOf(alice), 2, '20');
  await add(name, 'add_letter', 1, idOf(alice), idOf(bob), '10');
  await add(name, 'add_letter', 2, idOf(bob), idOf(alice), '20');
  await add(name, 'add_letter', 3, idOf(alice), idOf(alice), '30');
  await add(name, 'add_member', 1, 1, idOf(alice));
  await add(name, 'add_room', 1, '10');
  await add(name, 'add_secret', 1, idOf(alice), '10');
}

/** What neither alice nor a stranger sees. */
async function addHiddenRows(name: string): Promise<void> {
  for (const id of [3, hiddenKey, 78, 79, 80, 300]) {
    await add(name, 'add_note', id, idOf(bob), id, hiddenText);
    await add(name, 'add_letter', id + 10, idOf(bob), idOf(bob), hiddenText);
    await add(name, 'add_member', id, id, idOf(bob));
    await add(name, 'add_room', id, hiddenText);
    await add(name, 'add_secret', id, idOf(bob), hiddenText);
  }
  await add(name, 'add_letter', hiddenKey, idOf(bob), idOf(bob), hiddenText);
  await add(name, 'add_vault', hiddenKey, 5);
}

async function addHiddenTables(): Promise<void> {
  for (const name of ['tables-full', 'tables-bare']) {
    for (const id of [1, 2, 3]) await add(name, 'add_bulletin', id, `title ${id}`);
  }
  for (const id of [1, hiddenKey])
    await add('tables-full', 'add_secret', id, idOf(bob), hiddenText);
}

/** What a caller is told, durations aside. */
async function httpAnswer(database: string, sql: string, as: Person | undefined): Promise<string> {
  const { status, text, headers } = await running.sql(database, sql, as);
  const told = ['place', 'hint'].map((name) => headers.get(`reducerdb-error-${name}`) ?? '');
  return masked([String(status), ...told, text].join('\n'));
}

async function mcpAnswer(database: string, sql: string, as: Person | undefined): Promise<string> {
  const call = { name: 'sql', arguments: { sql } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call });
  const headers = { 'content-type': 'application/json' };
  const { text } = await running.ask('POST', `/v1/database/${database}/mcp`, { as, body, headers });
  return masked(text);
}

/** Durations, and the identity that a caller without a token has for one request only. */
function masked(answer: string): string {
  return (
    answer
      .replaceAll(/(\\?"total_duration_micros\\?":\s*)\d+/g, '$1…')
      // How many commits there were says nothing about what they hid.
      .replaceAll(/(\\?"offset\\?":)\d+/g, '$1…')
      .replaceAll(/\d+(\.\d+)?\s?(ms|µs|us)\b/g, '… ms')
      .replaceAll(/Caller [0-9a-f]{64}/g, 'Caller …')
  );
}

const doors = { HTTP: httpAnswer, MCP: mcpAnswer };
type Door = keyof typeof doors;

interface Given {
  readonly probes: readonly Probe[];
  /** Who asks; of limited tokens, one for each twin. */
  readonly as: Person | undefined | readonly [Person, Person];
}

/** The probes of which the twins do not say the same, with both answers. */
async function differences(
  door: Door,
  twins: readonly [string, string],
  { probes, as }: Given,
): Promise<string[]> {
  const ask = doors[door];
  const [first, second] = as !== undefined && 'length' in as ? as : [as, as];
  const compare = async ({ kind, sql }: Probe) => {
    const answers = [ask(twins[0], sql, first), ask(twins[1], sql, second)];
    const [full, bare] = await Promise.all(answers);
    if (full === bare) return [];
    return [`${kind}: ${sql}\n  with:    ${full}\n  without: ${bare}`];
  };
  const found: string[] = [];
  for (const group of groupsOf(probes))
    found.push(...(await Promise.all(group.map(compare))).flat());
  return found;
}

/** Probes that only read may be under way together; one that may write has its own turn. */
function groupsOf(probes: readonly Probe[]): Probe[][] {
  const groups: Probe[][] = [];
  let reads: Probe[] = [];
  for (const probe of probes) {
    const isRead = probe.sql.startsWith('SELECT ');
    if (isRead && reads.length > 0 && reads.length < 8) reads.push(probe);
    else {
      groups.push([probe]);
      reads = isRead ? (groups.at(-1) ?? []) : [];
    }
  }
  return groups;
}

const guarded: readonly Guarded[] = [
  { name: 'note', text: 'text' },
  { name: 'letter', text: 'text' },
  { name: 'room', text: 'name' },
  { name: 'member', text: 'room_id' },
  { name: 'vault', text: 'gold' },
  { name: 'my_secrets', text: 'words' },
];

const kinds: Readonly<Record<string, string>> = {
  note: 'a table with one filter',
  letter: 'a table with two filters',
  room: 'a table with a joined filter',
  member: 'the table that another filter joins',
  vault: 'a table whose filter names a private table',
  my_secrets: 'a view for each caller',
};

const callers: Readonly<Record<string, () => Person | undefined>> = {
  'an anonymous caller': () => undefined,
  'a stranger': () => stranger,
  'a caller with rows of their own': () => alice,
};

describe.each(Object.keys(callers))('[sql 10] hidden rows, asked by %s', (caller) => {
  const as = () => callers[caller]?.();

  it.each(guarded)('leave no trace in answers about $name', async (relation) => {
    const probes = someOf(probesOf(relation), 2);
    expect(kinds[relation.name]).toBeDefined();
    const twins = ['rows-full', 'rows-bare'] as const;
    expect(await differences('HTTP', twins, { probes, as: as() })).toEqual([]);
  });

  it.each(guarded)('leave no trace in answers of the tool about $name', async (relation) => {
    const probes = someOf(probesOf(relation), 4);
    const twins = ['rows-full', 'rows-bare'] as const;
    expect(await differences('MCP', twins, { probes, as: as() })).toEqual([]);
  });
});

describe.each(Object.keys(callers))('[sql 4] hidden tables, asked by %s', (caller) => {
  const as = () => callers[caller]?.();

  it.each(['secret', 'all_secrets', 'allSecrets'])('%s is as good as absent', async (name) => {
    const probes = someOf(probesForTable(name), 2);
    const twins = ['tables-full', 'tables-bare'] as const;
    expect(await differences('HTTP', twins, { probes, as: as() })).toEqual([]);
    expect(await differences('MCP', twins, { probes, as: as() })).toEqual([]);
  });
});

describe.each([
  ['reads what it names', { tables: ['bulletin'] }],
  ['writes what it names', { tables: ['bulletin'], sql_writes: true }],
  ['reads what everybody reads', {}],
])('[sql 4] a limited token of the owner that %s', (_does, limits) => {
  it.each(['secret', 'all_secrets', 'allSecrets'])('finds no trace of %s', async (name) => {
    const twins = ['tables-full', 'tables-bare'] as const;
    const as = [
      await running.agent(twins[0], limits, owner),
      await running.agent(twins[1], limits, owner),
    ] as const;
    const probes = someOf(probesForTable(name), 2);
    expect(await differences('HTTP', twins, { probes, as })).toEqual([]);
    expect(await differences('MCP', twins, { probes, as })).toEqual([]);
  });
});

describe('[sql 10.3] what is left to see', () => {
  it('[ease 3.9] is each caller’s own, and a row of two filters once', async () => {
    const counts = async (as: Person | undefined) => {
      const found: Record<string, unknown> = {};
      for (const { name } of guarded.filter(({ name: relation }) => relation !== 'vault')) {
        const rows = await running.rows('rows-full', `SELECT COUNT(*) AS n FROM ${name}`, as);
        found[name] = rows[0]?.[0];
      }
      return found;
    };
    expect(await counts(alice)).toEqual({ note: 2, letter: 3, room: 1, member: 1, my_secrets: 1 });
    expect(await counts(stranger)).toEqual({
      note: 0,
      letter: 0,
      room: 0,
      member: 0,
      my_secrets: 0,
    });
    expect(await counts(undefined)).toEqual(await counts(stranger));
  });

  it('is nothing of a table whose filter names a private one', async () => {
    const { status, text } = await running.sql('rows-full', 'SELECT * FROM vault', alice);
    expect([status, text]).toEqual([
      400,
      'no such table: `secret`. If the table exists, it may be marked private.',
    ]);
  });

  it('answers more than half of the probes without an error', async () => {
    const probes = probesOf({ name: 'note', text: 'text' });
    const answers = await Promise.all(
      probes.map(({ sql }) => running.sql('rows-full', sql, alice)),
    );
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBeGreaterThan(probes.length / 2);
  });
});

describe('the owner', () => {
  it.each(guarded.filter(({ name }) => name !== 'my_secrets'))(
    'sees the rows of $name that others do not, so the twins differ',
    async (relation) => {
      const probes = probesOf(relation).filter(({ kind }) => kind === 'SELECT' || kind === 'COUNT');
      const twins = ['rows-full', 'rows-bare'] as const;
      const found = await differences('HTTP', twins, { probes, as: owner });
      expect(found.length).toBeGreaterThan(probes.length / 2);
    },
  );

  it('sees the table that others do not', async () => {
    const probes = probesForTable('secret');
    const twins = ['tables-full', 'tables-bare'] as const;
    const found = await differences('HTTP', twins, { probes, as: owner });
    expect(found.length).toBeGreaterThan(probes.length / 2);
  });
});

describe('[sql 9] a row limit', () => {
  const limits = [0, 1, 2, 4, 100];
  it.each(limits)('of %i says nothing about hidden rows', async (limit) => {
    const twins = ['rows-full', 'rows-bare'] as const;
    for (const name of twins) {
      await running.sql(name, "DELETE FROM st_var WHERE name = 'row_limit'", owner);
      const { status, text } = await running.sql(name, `SET row_limit = ${limit}`, owner);
      expect([status, status === 200 ? '' : text]).toEqual([200, '']);
    }
    try {
      for (const relation of guarded) {
        const reads = probesOf(relation).filter(({ kind }) => !kind.includes('RETURNING'));
        const probes = someOf(reads, 6);
        for (const as of [undefined, alice]) {
          expect(await differences('HTTP', twins, { probes, as })).toEqual([]);
        }
      }
    } finally {
      for (const name of twins) {
        await running.sql(name, "DELETE FROM st_var WHERE name = 'row_limit'", owner);
      }
    }
  });
});
