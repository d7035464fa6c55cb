import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programHash } from '../../src/host/program-hash.ts';
import { type Answer, type Person, Running } from './running.ts';
import { type Program, written } from './written-module.ts';

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
});
afterAll(() => running.stop());

const upload = (name: string, program: Program, query = '') =>
  running.upload(name, program, owner, query);
const planOf = async (name: string, program: Program) =>
  JSON.parse((await running.plan(name, program, owner)).text);
const sql = (name: string, statement: string) => running.sql(name, statement, owner);
const rows = (name: string, table: string) => running.rows(name, `SELECT * FROM ${table}`, owner);
const which = async (name: string) => (await running.call(name, 'which', [])).text;
const insert = (name: string, table: string, values: string, columns = 'id, n') =>
  sql(name, `INSERT INTO ${table} (${columns}) VALUES (${values})`);

function expectSuccess({ status, text }: Answer): void {
  if (status !== 200) throw new Error(`${status} ${text}`);
}

/** What becomes of one table; `from` and `to` are the arguments of `table(…)`. */
interface Change {
  readonly from: string;
  readonly to: string;
  /** Values of rows that are there before, and after. */
  readonly rows?: readonly string[];
  readonly columns?: string;
  readonly plan: readonly string[];
  readonly log?: readonly string[];
}

const plain = '{}, { id: t.u32(), n: t.u32() }';

/** Each row of the specification's table of rules that clients do not notice. */
const silent: Readonly<Record<string, Change>> = {
  indexed: {
    from: plain,
    to: '{}, { id: t.u32(), n: t.u32().index() }',
    plan: ['▸ Created index indexed_n_idx_btree on [n] of table indexed'],
    log: ['Creating index `indexed_n_idx_btree` on table `indexed`'],
  },
  unindexed: {
    from: '{}, { id: t.u32(), n: t.u32().index() }',
    to: plain,
    plan: ['▸ Removed index unindexed_n_idx_btree on [n] of table unindexed'],
    log: ['Dropping index `unindexed_n_idx_btree` on table `unindexed`'],
  },
  reindexed: {
    from: "{}, { id: t.u32(), n: t.u32().index('btree') }",
    to: "{}, { id: t.u32(), n: t.u32().index('hash') }",
    plan: [
      '▸ Removed index reindexed_n_idx_btree on [n] of table reindexed',
      '▸ Created index reindexed_n_idx_hash on [n] of table reindexed',
    ],
  },
  keyed: {
    from: plain,
    to: '{}, { id: t.u32(), n: t.u32().unique() }',
    plan: ['▸ Created unique constraint keyed_n_key on [n] of table keyed'],
    log: ['Adding constraint `keyed_n_key` on table `keyed`'],
  },
  unkeyed: {
    from: '{}, { id: t.u32(), n: t.u32().unique() }',
    to: plain,
    plan: ['▸ Removed unique constraint unkeyed_n_key on [n] of table unkeyed'],
    log: ['Dropping constraint `unkeyed_n_key` on table `unkeyed`'],
  },
  counted: {
    from: '{}, { id: t.u32(), n: t.i32() }',
    to: '{}, { id: t.u32(), n: t.i32().autoInc() }',
    rows: ['1, 0', '2, -7'],
    plan: ['▸ Created auto-increment constraint counted_n_seq on column n of table counted'],
    log: ['Adding sequence `counted_n_seq` to table `counted`'],
  },
  uncounted: {
    from: '{}, { id: t.u32(), n: t.u32().autoInc() }',
    to: plain,
    rows: ['1, 70', '2, 80'],
    plan: ['▸ Removed auto-increment constraint uncounted_n_seq on column n of table uncounted'],
    log: ['Dropping sequence `uncounted_n_seq` from table `uncounted`'],
  },
  primed: {
    from: '{}, { id: t.u32().unique(), n: t.u32() }',
    to: '{}, { id: t.u32().primaryKey(), n: t.u32() }',
    plan: ['▸ Changed primary key on table primed (added on column id)'],
    log: ['Changing primary key for table `primed`'],
  },
  unprimed: {
    from: '{}, { id: t.u32().primaryKey(), n: t.u32() }',
    to: '{}, { id: t.u32().unique(), n: t.u32() }',
    plan: ['▸ Changed primary key on table unprimed (removed)'],
    log: ['Changing primary key for table `unprimed`'],
  },
  moved: {
    from: '{}, { id: t.u32().primaryKey(), n: t.u32().unique() }',
    to: '{}, { id: t.u32().unique(), n: t.u32().primaryKey() }',
    plan: ['▸ Changed primary key on table moved (changed to column n)'],
  },
  shown: {
    from: plain,
    to: '{ public: true }, { id: t.u32(), n: t.u32() }',
    plan: ['▸ Changed access for table shown (private → public)'],
  },
  hidden: {
    from: '{ public: true }, { id: t.u32(), n: t.u32() }',
    to: plain,
    plan: ['▸ Changed access for table hidden (public → private)'],
  },
  refilled: {
    from: '{}, { id: t.u32(), n: t.u32().default(1) }',
    to: '{}, { id: t.u32(), n: t.u32().default(2) }',
    plan: [],
  },
  respelled: {
    from: "{ name: 'respelled' }, { id: t.u32(), firstName: t.u32() }",
    columns: 'id, first_name',
    to: "{ name: 'respelled' }, { id: t.u32(), first_name: t.u32() }",
    plan: ['▸ Changed column accessor name for respelled.first_name'],
  },
};

const tablesOf = (changes: Readonly<Record<string, Change>>, side: 'from' | 'to') =>
  Object.fromEntries(Object.entries(changes).map(([name, change]) => [name, change[side]]));

const fillChanged = async (name: string, changes: Readonly<Record<string, Change>>) => {
  for (const [table, { rows: given = ['1, 0', '2, 7'], columns }] of Object.entries(changes)) {
    for (const values of given) expectSuccess(await insert(name, table, values, columns));
  }
};

describe('changes that clients do not notice', () => {
  let plan: { migrate_plan: string; break_clients: boolean; token: string };
  let before: unknown[][][];
  let log: string[];
  let next: Program;
  const tables = Object.keys(silent);
  const allRows = () => Promise.all(tables.map((table) => rows('silent', table)));

  beforeAll(async () => {
    const feel = (more: string) =>
      `const Feel = t.enum('Feel', { Calm: t.unit(), Low: t.u8()${more} });`;
    const mood = '{}, { id: t.u32(), feel: Feel, all: t.array(Feel) }';
    const addMood = (id: number, feeling: string) =>
      `ctx.db.mood.insert({ id: ${id}, feel: ${feeling}, all: [${feeling}] });`;
    const old = await written({
      before: feel(''),
      tables: { ...tablesOf(silent, 'from'), mood, fooBar: plain },
      exports: `
        export const fill = db.init((ctx) => { ${addMood(1, 'Feel.Low(3)')} });
        export const oldName = db.reducer(() => {});`,
    });
    next = await written({
      says: 'two',
      before: feel(', High: t.string()'),
      tables: {
        ...tablesOf(silent, 'to'),
        mood,
        foo_bar: plain,
        fresh: '{ public: true }, { id: t.u64().primaryKey().autoInc(), n: t.u32().index() }',
      },
      exports: `
        export const fill = db.init((ctx) => { ${addMood(9, 'Feel.Calm')} });
        export const newName = db.reducer((ctx) => { ${addMood(2, "Feel.High('!')")} });`,
    });
    expectSuccess(await upload('silent', old));
    await fillChanged('silent', silent);
    before = await allRows();
    plan = (await planOf('silent', next)).AutoMigrate;
    expectSuccess(await upload('silent', next));
    log = await running.messages('silent', owner);
  });

  it('[migrations §1.2] swap the program, and do not run init', async () => {
    expect(plan.break_clients).toBe(false);
    expect(await which('silent')).toBe('two');
    expect((await rows('silent', 'mood')).map(([id]) => id)).not.toContain(9);
  });

  it('[migrations §2.2] leave every row as it was', async () => {
    expect(await allRows()).toEqual(before);
  });

  it.each(Object.entries(silent))('[migrations §2.2, §5, §7] %s', (_, change) => {
    const lines = plan.migrate_plan.split('\n');
    for (const line of change.plan) expect(lines).toContain(line);
    for (const line of change.log ?? []) expect(log).toContain(`Info: ${line}`);
  });

  it('[migrations §2.2] unique columns, generated ones and access are as declared now', async () => {
    expect((await insert('silent', 'keyed', '3, 7')).status).toBe(400);
    expectSuccess(await insert('silent', 'unkeyed', '3, 7'));
    expectSuccess(await insert('silent', 'counted', '3, 0'));
    expect((await rows('silent', 'counted')).at(-1)).toEqual([3, 1]);
    expectSuccess(await insert('silent', 'uncounted', '3, 0'));
    expect((await rows('silent', 'uncounted')).at(-1)).toEqual([3, 0]);
    expect((await running.sql('silent', 'SELECT * FROM shown')).status).toBe(200);
    expect((await running.sql('silent', 'SELECT * FROM hidden')).text).toMatch(/^no such table/);
    for (const table of ['indexed', 'unindexed', 'reindexed']) {
      const found = await running.rows('silent', `SELECT id FROM ${table} WHERE n = 7`, owner);
      expect({ table, found }).toEqual({ table, found: [[2]] });
    }
  });

  it('[migrations §2.2] an enumeration grows at its end', async () => {
    expectSuccess(await running.call('silent', 'new_name', []));
    expect(await rows('silent', 'mood')).toEqual([
      [1, [1, 3], [[1, 3]]],
      [2, [2, '!'], [[2, '!']]],
    ]);
  });

  it('[migrations §2.2] reducers come and go without a word', async () => {
    const gone = await running.call('silent', 'old_name', []);
    expect({ status: gone.status, text: gone.text }).toEqual({
      status: 404,
      text: 'No such procedure',
    });
    expect(plan.migrate_plan).not.toContain('name: ');
  });

  it('[migrations §5] the plan has its header and describes a new table', () => {
    const rule = '━'.repeat(60);
    const header = `${rule}\nDatabase Migration Plan\n${rule}\n\n▸ `;
    expect(plan.migrate_plan.slice(0, header.length)).toBe(header);
    expect(plan.migrate_plan).toContain(
      [
        '▸ Created user table: fresh (public)',
        '    Columns:',
        '        • id: U64',
        '        • n: U32',
        '    Unique constraints:',
        '        • fresh_id_key on [id]',
        '    Indexes:',
        '        • fresh_id_idx_btree on [id]',
        '        • fresh_n_idx_btree on [n]',
        '    Auto-increment constraints:',
        '        • fresh_id_seq on id',
        '',
      ].join('\n'),
    );
    expect(plan.migrate_plan).toContain('▸ Changed columns for table mood\n    ~ Modified: feel (');
    expect(plan.migrate_plan).toContain('▸ Changed table accessor name for foo_bar\n');
  });

  it('[migrations §7] the log tells the steps in the order of §2.1', () => {
    const hash = Buffer.from(programHash(next)).toString('hex');
    const from = log.indexOf(`Info: Updated program to ${hash}`);
    const to = log.indexOf('Info: Database updated');
    const kinds = log.slice(from + 1, to).map((line) => /^Info: (\w+ \w+)/.exec(line)?.[1]);
    expect(kinds.filter((kind, at) => kind !== kinds[at - 1])).toEqual([
      'Dropping index',
      'Dropping constraint',
      'Dropping sequence',
      'Changing columns',
      'Creating table',
      'Creating index',
      'Adding constraint',
      'Adding sequence',
      'Changing primary',
    ]);
  });

  it('[migrations §4] the same program has an empty plan, and its upload does nothing', async () => {
    const { AutoMigrate } = await planOf('silent', next);
    expect(AutoMigrate).toMatchObject({ migrate_plan: '', break_clients: false });
    const again = await upload('silent', next, '&policy=BreakClients&token=0x12');
    expectSuccess(again);
    expect(JSON.parse(again.text).Success.op).toBe('updated');
    expect((await running.messages('silent', owner)).filter((l) => /Updated/.test(l))).toHaveLength(
      1,
    );
  });

  it('[http §6.2] the plan is coloured unless asked otherwise, by either name', async () => {
    const other = await written({ tables: {}, says: 'three' });
    const coloured = async (query: string) => {
      const { text } = await running.plan('silent', other, owner, query);
      return JSON.parse(text).AutoMigrate.migrate_plan.includes('\u001b[');
    };
    expect(await coloured('')).toBe(true);
    expect(await coloured('&style=AnsiColor')).toBe(true);
    expect(await coloured('&style=NoColor')).toBe(false);
    expect(await coloured('&pretty_print_style=NoColor')).toBe(false);
  });
});
