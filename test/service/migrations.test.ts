import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programHash } from '../../src/host/linking/program-hash.ts';
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
  labelled: {
    from: '{}, { id: t.u32(), n: t.array(t.string()) }',
    to: "{}, { id: t.u32(), n: t.array(t.string()).index('inverted') }",
    rows: ["1, ['a', 'b']", "2, ['b']"],
    plan: ['▸ Created inverted index labelled_n_idx_inverted on [n] of table labelled'],
    log: ['Creating index `labelled_n_idx_inverted` on table `labelled`'],
  },
  unlabelled: {
    from: "{}, { id: t.u32(), n: t.array(t.string()).index('inverted') }",
    to: '{}, { id: t.u32(), n: t.array(t.string()) }',
    rows: ["1, ['a', 'b']", "2, ['b']"],
    plan: ['▸ Removed inverted index unlabelled_n_idx_inverted on [n] of table unlabelled'],
    log: ['Dropping index `unlabelled_n_idx_inverted` on table `unlabelled`'],
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

type Sides = Pick<Change, 'from' | 'to'>;

const tablesOf = (changes: Readonly<Record<string, Sides>>, side: keyof Sides) =>
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

  it('[migrations 1.2] swap the program, and do not run init', async () => {
    expect(plan.break_clients).toBe(false);
    expect(await which('silent')).toBe('two');
    expect((await rows('silent', 'mood')).map(([id]) => id)).not.toContain(9);
  });

  it('[migrations 2.2] leave every row as it was', async () => {
    expect(await allRows()).toEqual(before);
  });

  it.each(Object.entries(silent))('[migrations 2.2, 5, 7, 12.1] %s', (_, change) => {
    const lines = plan.migrate_plan.split('\n');
    for (const line of change.plan) expect(lines).toContain(line);
    for (const line of change.log ?? []) expect(log).toContain(`Info: ${line}`);
  });

  it('[migrations 2.2] unique and generated columns and access are as declared now', async () => {
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

  it('[migrations 2.2] an enumeration grows at its end', async () => {
    expectSuccess(await running.call('silent', 'new_name', []));
    expect(await rows('silent', 'mood')).toEqual([
      [1, [1, 3], [[1, 3]]],
      [2, [2, '!'], [[2, '!']]],
    ]);
  });

  it('[migrations 2.2] reducers come and go without a word', async () => {
    const gone = await running.call('silent', 'old_name', []);
    expect({ status: gone.status, text: gone.text }).toEqual({
      status: 404,
      text: expect.stringMatching(/^No such procedure\nhint: /),
    });
    expect(plan.migrate_plan).not.toContain('name: ');
  });

  it('[migrations 5] the plan has its header and describes a new table', () => {
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

  it('[migrations 7] the log tells the steps in the order of §2.1', () => {
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

  it('[migrations 1.5, 4] the same program has an empty plan, and is no update', async () => {
    const { AutoMigrate } = await planOf('silent', next);
    expect(AutoMigrate).toMatchObject({ migrate_plan: '', break_clients: false });
    const again = await upload('silent', next, '&policy=BreakClients&token=0x12');
    expectSuccess(again);
    expect(JSON.parse(again.text).Success.op).toBe('updated');
    expect((await running.messages('silent', owner)).filter((l) => /Updated/.test(l))).toHaveLength(
      1,
    );
  });

  it('[http 6.2] the plan is coloured unless asked otherwise, by either name', async () => {
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

describe('changes that break clients', () => {
  let plan: { migrate_plan: string; break_clients: boolean; token: string };
  let next: Program;

  beforeAll(async () => {
    const old = await written({
      tables: {
        grown: '{ public: true }, { id: t.u32().primaryKey().autoInc(), n: t.u32().index() }',
        gone: plain,
        flash: `{ event: true }, { id: t.u32(), n: t.u32() }`,
      },
    });
    next = await written({
      says: 'two',
      tables: {
        grown: `{ public: true }, {
          id: t.u32().primaryKey().autoInc(), n: t.u32().index(),
          score: t.u32().default(5), name: t.string().default('x')
        }`,
        flash: `{ event: true }, { text: t.string(), id: t.u64() }`,
      },
    });
    expectSuccess(await upload('breaking', old));
    for (const n of [70, 71]) expectSuccess(await insert('breaking', 'grown', `0, ${n}`));
    plan = (await planOf('breaking', next)).AutoMigrate;
  });

  it('[migrations 5] are planned with a warning', () => {
    expect(plan.break_clients).toBe(true);
    expect(plan.migrate_plan.split('\n').slice(4)).toEqual([
      '▸ Removed table: gone',
      '▸ Changed schema of event table flash',
      '▸ Created columns in table grown',
      '    + score: U32 (default: 5)',
      '    + name: String (default: "x")',
      '!!! Warning: All clients will be disconnected due to breaking schema changes',
      '',
    ]);
  });

  it.each([
    [
      '',
      'Failed to create or update the database: Migration plan contains a client-breaking change ' +
        'which is disallowed under current policy',
    ],
    [
      '&policy=BreakClients',
      'Migration policy is set to `BreakClients`, but no migration token was provided.',
    ],
    [
      '&policy=BreakClients&token=0x12',
      'Failed to create or update the database: Token provided is invalid or does not match ' +
        'expected hash',
    ],
  ])('[migrations 3] need the consent that the plan asked for: %j', async (query, text) => {
    expect(await upload('breaking', next, query)).toMatchObject({ status: 400, text });
    expect(await which('breaking')).toBe('one');
  });

  it('[migrations 12.2] the consent is for one program only', async () => {
    const other = await written({ tables: {}, says: 'three' });
    const query = `&policy=BreakClients&token=${plan.token}`;
    expect((await upload('breaking', other, query)).text).toMatch(/: Token provided is invalid/);
    expect(await which('breaking')).toBe('one');
  });

  it('[migrations 12.7, tables 7] fill new columns, and generated numbers go on', async () => {
    expectSuccess(await upload('breaking', next, `&policy=BreakClients&token=${plan.token}`));
    expect(await which('breaking')).toBe('two');
    const values = "0, 72, 9, 'z'";
    expectSuccess(await insert('breaking', 'grown', values, 'id, n, score, name'));
    expect(await rows('breaking', 'grown')).toEqual([
      [1, 70, 5, 'x'],
      [2, 71, 5, 'x'],
      [3, 72, 9, 'z'],
    ]);
    expect(await running.rows('breaking', 'SELECT id FROM grown WHERE n = 71')).toEqual([[2]]);
    expect((await sql('breaking', 'SELECT * FROM gone')).text).toMatch(/^no such table: `gone`/);
  });

  it('[migrations 7] are told to the log', async () => {
    expect((await running.messages('breaking', owner)).slice(-6, -1)).toEqual([
      'Info: Dropping table `gone`',
      'Info: Changing schema of event table `flash`',
      'Info: Changing columns of table `grown`',
      'Info: Disconnecting all users',
      'Info: Database updated',
    ]);
  });
});

/** What is refused when it is planned: `says` are all its lines. */
const refused: Readonly<Record<string, Sides & { says: string[] }>> = {
  added: {
    from: plain,
    to: '{}, { id: t.u32(), n: t.u32(), o: t.u32() }',
    says: ['Adding a column o to table added requires a default value annotation'],
  },
  between: {
    from: plain,
    to: '{}, { id: t.u32(), o: t.u32().default(0), n: t.u32() }',
    says: ['Reordering table between requires a manual migration'],
  },
  reordered: {
    from: plain,
    to: '{}, { n: t.u32(), id: t.u32() }',
    says: ['Reordering table reordered requires a manual migration'],
  },
  removed: {
    from: plain,
    to: '{}, { id: t.u32() }',
    says: ['Removing a column n from table removed requires a manual migration'],
  },
  renamed: {
    from: plain,
    to: '{}, { id: t.u32(), o: t.u32() }',
    says: [
      'Removing a column n from table renamed requires a manual migration',
      'Adding a column o to table renamed requires a default value annotation',
    ],
  },
  retyped: {
    from: plain,
    to: '{}, { id: t.u32(), n: t.u64() }',
    says: [
      'Changing the type of column n in table retyped from U32 to U64 requires a manual migration',
    ],
  },
  within: {
    from: '{}, { id: t.u32(), n: t.array(t.u8()) }',
    to: '{}, { id: t.u32(), n: t.array(t.u16()) }',
    says: [
      'Changing a type within column n in table within from U8 to U16 requires a manual migration',
    ],
  },
  fewer: {
    from: '{}, { n: Fewer }',
    to: '{}, { n: Fewer }',
    says: [
      'Changing the type of column n in table fewer from (calm: () | low: U8) to (calm: ()), ' +
        'with fewer variants, requires a manual migration',
    ],
  },
  other: {
    from: '{}, { n: Other }',
    to: '{}, { n: Other }',
    says: [
      'Changing the type of column n in table other from (calm: () | low: U8) to ' +
        '(calm: () | high: U8), with a renamed variant, requires a manual migration',
    ],
  },
  less: {
    from: '{}, { n: Less }',
    to: '{}, { n: Less }',
    says: [
      'Changing the type of column n in table less from (a: U8, b: U8) to (a: U8), ' +
        'with fewer fields, requires a manual migration',
    ],
  },
  field: {
    from: '{}, { n: Field }',
    to: '{}, { n: Field }',
    says: [
      'Changing the type of column n in table field from (a: U8, b: U8) to (a: U8, c: U8), ' +
        'with a renamed field, requires a manual migration',
    ],
  },
  flag: {
    from: plain,
    to: '{ event: true }, { id: t.u32(), n: t.u32() }',
    says: ['Changing the event flag of table flag requires a manual migration'],
  },
};

/** What is planned and then fails because of the rows: `says` is the reason. */
const failing: Readonly<Record<string, Change & { says: string | RegExp }>> = {
  kept: {
    from: plain,
    to: '',
    plan: ['▸ Removed table: kept'],
    says:
      "Cannot remove table `kept`: table contains data. Clear the table's rows (e.g. via a " +
      'reducer) before removing it from your schema.\nDeclare it in a migration, which ' +
      "`reducerdb migrate new` writes: m.dropTable('kept', { rows: 'discard' })",
  },
  doubled: {
    from: '{}, { id: t.u32(), n: t.u32().index() }',
    to: '{}, { id: t.u32(), n: t.u32().unique() }',
    rows: ['1, 7', '2, 7', '3, 8', '4, 8', '5, 8', '6, 9'],
    plan: ['▸ Created unique constraint doubled_n_key on [n] of table doubled'],
    says: new RegExp(
      '^Cannot add unique constraint on table \\d+ column\\(s\\) \\["n"\\] ' +
        '\\(committed state\\):\\n2 duplicate group\\(s\\) found\\.\\n' +
        '  - 7 appears 2 times\\n  - 8 appears 3 times$',
    ),
  },
  twice: {
    from: plain,
    to: '{}, { id: t.u32(), n: t.u32().unique() }',
    rows: ['1, 7', '2, 7'],
    plan: ['▸ Created unique constraint twice_n_key on [n] of table twice'],
    says: new RegExp(
      "^Unique constraint violation 'twice_n_idx_btree' in table 'twice': column\\(s\\): " +
        '\'\\["n"\\]\' value: 7\\nCannot add unique constraint on [\\s\\S]*' +
        '1 duplicate group\\(s\\) found\\.\\n  - 7 appears 2 times$',
    ),
  },
  numbered: {
    from: plain,
    to: '{}, { id: t.u32(), n: t.u32().autoInc() }',
    plan: ['▸ Created auto-increment constraint numbered_n_seq on column n of table numbered'],
    says: 'Precheck failed: added sequence numbered_n_seq already has values in range',
  },
};

describe('changes that are refused', () => {
  const types = (low: string, b: string) => `
    const Fewer = t.enum('Feel', { Calm: t.unit()${low === 'Low' ? ', Low: t.u8()' : ''} });
    const Other = t.enum('Mind', { Calm: t.unit(), ${low}: t.u8() });
    const Less = t.object('Bit', { a: t.u8()${b === 'b' ? ', b: t.u8()' : ''} });
    const Field = t.object('Spot', { a: t.u8(), ${b}: t.u8() });`;
  const before = types('Low', 'b');
  const old = { ...tablesOf(refused, 'from'), ...tablesOf(failing, 'from') };
  let rowsBefore: unknown[][][];
  let info: string;
  const allRows = () => Promise.all(Object.keys(old).map((table) => rows('firm', table)));

  beforeAll(async () => {
    expectSuccess(await upload('firm', await written({ before, tables: old })));
    await fillChanged('firm', failing);
    expectSuccess(await insert('firm', 'removed', '1, 2'));
    rowsBefore = await allRows();
    info = (await running.ask('GET', '/v1/database/firm/schema?version=10')).text;
  });

  /** Data, program and schema are what they were. */
  async function expectUntouched(): Promise<void> {
    expect(await which('firm')).toBe('one');
    expect(await allRows()).toEqual(rowsBefore);
    expect((await running.ask('GET', '/v1/database/firm/schema?version=10')).text).toBe(info);
  }

  it('[migrations 1.1, 2.5, T6, 12.1] are all named, one by one', async () => {
    const tables = { ...old, ...tablesOf(refused, 'to') };
    const next = await written({ before: types('High', 'c'), tables, says: 'two' });
    const { ManualMigrate } = await planOf('firm', next);
    const [first, ...lines] = ManualMigrate.reason.split('\n').filter((line: string) => line);
    expect(first).toBe('Errors occurred:');
    // What follows the reasons says which steps of a migration make the changes.
    expect(lines.pop()).toMatch(/^Declare it in a migration, .*: m\./);
    expect(lines.sort()).toEqual(
      Object.values(refused)
        .flatMap(({ says }) => says)
        .sort(),
    );
    expect(await upload('firm', next)).toMatchObject({
      status: 400,
      text: `Database update rejected: ${ManualMigrate.reason}`,
    });
    await expectUntouched();
  });

  it.each(Object.entries(failing))(
    '[migrations 1.4, 2.4, 12.1] because of rows: %s',
    async (name, change) => {
      const { to, plan, says } = change;
      const { [name]: _, ...others } = old;
      const tables = to === '' ? others : { ...others, [name]: to };
      const next = await written({ before, tables, says: 'two' });
      const { AutoMigrate } = await planOf('firm', next);
      for (const line of plan) expect(AutoMigrate.migrate_plan.split('\n')).toContain(line);
      const query = `&policy=BreakClients&token=${AutoMigrate.token}`;
      const { status, text } = await upload('firm', next, query);
      const words = 'Failed to create or update the database: ';
      expect({ status, words: text.slice(0, words.length) }).toEqual({ status: 400, words });
      expect(text.slice(words.length)).toEqual(
        typeof says === 'string' ? says : expect.stringMatching(says),
      );
      const log = await running.messages('firm', owner);
      expect(log).toContain(`Error: Database update failed: ${text.slice(words.length)}`);
      await expectUntouched();
    },
  );
});
