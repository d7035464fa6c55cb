import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { badLiteral, itAnswers, mismatch, noTable, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
  await db.fill();
});
afterAll(() => db.stop());

const option = (of: string) => `(some: ${of} | none: ())`;
const moment = '(__timestamp_micros_since_unix_epoch__: I64)';
const duration = '(__time_duration_micros__: I64)';
const privateOnes = [
  'st_connection_credentials',
  'st_schedule',
  'st_migration',
  'st_deploy',
  'st_idempotency',
  'st_cluster',
];
const columnsOf = (list: string) => list.trim().split(/\s*,\s+(?![^(]*\))/);

/** Id, name and columns of each table. */
const tables: readonly (readonly [number, string, string])[] = [
  [
    1,
    'st_table',
    `table_id U32, table_name String, table_type String, table_access String,
      table_primary_key ${option('Array<U16>')}`,
  ],
  [2, 'st_column', 'table_id U32, col_pos U16, col_name String, col_type Array<U8>'],
  [
    3,
    'st_sequence',
    `sequence_id U32, sequence_name String, table_id U32, col_pos U16, increment I128, start I128,
      min_value I128, max_value I128, allocated I128`,
  ],
  [
    4,
    'st_index',
    `index_id U32, table_id U32, index_name String, index_algorithm (Unused: U128 | BTree: (columns: Array<U16>) | Direct: (column: U16) | Hash: (columns: Array<U16>))`,
  ],
  [
    5,
    'st_constraint',
    `constraint_id U32, constraint_name String, table_id U32,
      constraint_data (Unused: U128 | Unique: (columns: Array<U16>))`,
  ],
  [
    6,
    'st_module',
    `database_identity U256, owner_identity U256, program_kind U8, program_hash U256,
      program_bytes Array<U8>, module_version String`,
  ],
  [7, 'st_client', 'identity U256, connection_id U128'],
  [
    8,
    'st_var',
    `name String, value (Bool: Bool | I8: I8 | U8: U8 | I16: I16 | U16: U16 | I32: I32 | U32: U32 | I64: I64 | U64: U64 | I128: I128 | U128: U128 | F32: F32 | F64: F64 | String: String)`,
  ],
  [
    9,
    'st_scheduled',
    `schedule_id U32, table_id U32, reducer_name String, schedule_name String, at_column U16`,
  ],
  [10, 'st_row_level_security', 'table_id U32, sql String'],
  [11, 'st_connection_credentials', 'connection_id U128, jwt_payload String'],
  [
    12,
    'st_view',
    `view_id U32, view_name String, table_id ${option('U32')}, is_public Bool, is_anonymous Bool`,
  ],
  [13, 'st_view_param', 'view_id U32, param_pos U16, param_name String, param_type Array<U8>'],
  [14, 'st_view_column', 'view_id U32, col_pos U16, col_name String, col_type Array<U8>'],
  [
    15,
    'st_view_sub',
    `view_id U32, arg_id U64, identity U256, num_subscribers U64, has_subscribers Bool,
      last_called I64`,
  ],
  [16, 'st_view_arg', 'id U64, bytes Array<U8>'],
  [17, 'st_event_table', 'table_id U32'],
  [18, 'st_table_accessor', 'table_name String, accessor_name String'],
  [19, 'st_index_accessor', 'index_name String, accessor_name String'],
  [20, 'st_column_accessor', 'table_name String, col_name String, accessor_name String'],
  [
    23,
    'st_schedule',
    `name String, table_name ${option('String')}, function_name String, kind String, target String,
      expression ${option('String')}, time_zone ${option('String')}, catch_up String, state String,
      row_key ${option('U64')}, armed_rows U64, next_due ${option(moment)},
      last_due ${option(moment)}, last_run ${option(moment)}, last_outcome ${option('String')},
      runs U64, failures U64, lateness_p50 ${option(duration)}, lateness_p99 ${option(duration)},
      last_error ${option('String')}`,
  ],
  [24, 'st_migration', `id String, hash Array<U8>, offset U64, time ${moment}`],
  [
    25,
    'st_deploy',
    `deploy U64, kind String, time ${option(moment)}, by ${option('U256')}, program U256,
      offset U64, generation U64, message String, plan String, migrations Array<String>,
      static Bool, of ${option('U64')}, running Bool, canary ${option('String')},
      canary_reason ${option('String')}`,
  ],
  [
    26,
    'st_idempotency',
    `identity U256, function_name String, key String, at ${moment}, offset U64, body U256,
      returns U256, value ${option('Array<U8>')}`,
  ],
  [
    32,
    'st_cluster',
    `kind String, name String, id String, state String, address ${option('String')},
      client_address ${option('String')}, zone ${option('String')}, version ${option('String')},
      seen_seconds ${option('F64')}, leads ${option('U64')}, leader ${option('String')},
      term ${option('U64')}, copies ${option('U64')}, wishes Array<String>`,
  ],
];

type TypeJson = Readonly<Record<string, unknown>>;
interface ElementJson {
  readonly name: { readonly some: string };
  readonly algebraic_type: TypeJson;
}

/** A type of the JSON form as messages write it. */
function textOf(type: TypeJson): string {
  const [[kind = '', body] = []] = Object.entries(type);
  const parts = (elements: unknown) =>
    (elements as ElementJson[]).map((part) => `${part.name.some}: ${textOf(part.algebraic_type)}`);
  if (kind === 'Array') return `Array<${textOf(body as TypeJson)}>`;
  if (kind === 'Product') return `(${parts((body as TypeJson).elements).join(', ')})`;
  if (kind === 'Sum') return `(${parts((body as TypeJson).variants).join(' | ')})`;
  return kind;
}

describe('the tables', () => {
  for (const [id, name, columns] of tables) {
    it(`[sql 11] ${id} ${name}: names and types of the columns`, async () => {
      const { schema } = await db.result(`SELECT * FROM ${name} LIMIT 0`);
      const actual = (schema.elements as unknown as ElementJson[]).map(
        (column) => `${column.name.some} ${textOf(column.algebraic_type)}`,
      );
      expect(actual).toEqual(columnsOf(columns));
    });
    it(`[sql 11, tables 13] ${id} ${name} is described as a system table`, async () => {
      const sql = `SELECT table_id, table_type, table_access FROM st_table
        WHERE table_name = '${name}'`;
      const access = privateOnes.includes(name) ? 'private' : 'public';
      expect(await db.rows(sql)).toEqual([[id, 'system', access]]);
      const described = await db.rows(
        `SELECT col_name FROM st_column WHERE table_id = ${id} ORDER BY col_pos`,
      );
      const names = columnsOf(columns).map((column) => column.split(' ')[0]);
      expect(described.map(([column]) => column)).toEqual(names);
    });
    it(`[sql 11] ${id} ${name}: who may read it`, async () => {
      const answer = await db.refusal(`SELECT * FROM ${name}`, 'nobody');
      expect(answer).toBe(privateOnes.includes(name) ? noTable(name) : 'ok');
      expect(await db.refusal(`SELECT * FROM ${name}`)).toBe('ok');
    });
    it(`[sql 11] ${id} ${name} is readable with every surface`, () => {
      expect(db.subscription(`SELECT * FROM ${name}`)).toBe('ok');
    });
  }

  it('[sql 11, rulings 2.3] the owner can read the program, others its hash', async () => {
    const ask = 'SELECT program_kind, program_hash, program_bytes FROM st_module';
    const [[kind, hash, bytes] = []] = await db.rows(ask);
    expect(kind).toBe(1);
    expect(String(bytes).length).toBeGreaterThan(1_000);
    expect(await db.rows(ask, 'nobody')).toEqual([[kind, hash, '']]);
  });

  it('[sql 11] ids of user objects start at 4096 and are of one series', async () => {
    const sql = "SELECT MIN(table_id) AS low FROM st_table WHERE table_type = 'user'";
    const [[low] = []] = await db.rows(sql);
    expect((low as number[])[1]).toBeGreaterThanOrEqual(4096);
    const lists = [
      "SELECT table_id FROM st_table WHERE table_type = 'user'",
      'SELECT index_id FROM st_index WHERE index_id >= 4096',
      'SELECT constraint_id FROM st_constraint WHERE constraint_id >= 4096',
      'SELECT sequence_id FROM st_sequence WHERE sequence_id >= 4096',
    ];
    const ids: unknown[] = [];
    for (const list of lists) ids.push(...(await db.rows(list)).map(([id]) => id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(Math.min(...ids.map(Number))).toBe(4096);
  });

  const keys: readonly (readonly [string, string])[] = [
    ['st_column', 'table_id, col_pos'],
    ['st_view_column', 'view_id, col_pos'],
    ['st_client', 'identity, connection_id'],
    ['st_column_accessor', 'table_name, col_name'],
    ['st_column_accessor', 'table_name, accessor_name'],
    ['st_table', 'table_name'],
    ['st_view', 'view_name'],
    ['st_row_level_security', 'sql'],
  ];
  for (const [table, columns] of keys) {
    it(`[sql 11] ${columns} are unique in ${table}`, async () => {
      const sql = `SELECT ${columns} FROM ${table} GROUP BY ${columns} HAVING COUNT(*) > 1`;
      expect(await db.rows(sql)).toEqual([]);
      expect(await db.rows(`SELECT * FROM ${table} LIMIT 1`)).toHaveLength(1);
    });
  }

  const counted: readonly (readonly [string, string])[] = [
    ['st_table', 'table_id'],
    ['st_index', 'index_id'],
    ['st_constraint', 'constraint_id'],
    ['st_sequence', 'sequence_id'],
    ['st_view', 'view_id'],
  ];
  for (const [table, key] of counted) {
    it(`[sql 11] ${key} is the key of ${table}`, async () => {
      const rows = await db.rows(`SELECT ${key} FROM ${table}`);
      expect(new Set(rows.map(([id]) => id)).size).toBe(rows.length);
    });
  }
});

describe('what they tell', () => {
  const answer = (sql: string) => db.answer(sql);
  itAnswers(
    '[sql 11] st_table: type, access and primary key, views too as user tables',
    {
      "SELECT table_type, table_access, table_primary_key FROM st_table WHERE table_name = 's'":
        '[["user","public",[0,[0]]]]',
      "SELECT table_access, table_primary_key FROM st_table WHERE table_name = 'one'":
        '[["public",[1,[]]]]',
      "SELECT table_access FROM st_table WHERE table_name = 'secret'": '[["private"]]',
      "SELECT table_type, table_access FROM st_table WHERE table_name = 'my_notes'":
        '[["user","public"]]',
      "SELECT table_access FROM st_table WHERE table_name = 'hidden_notes'": '[["private"]]',
    },
    answer,
  );
  const ofTable = (table: string) =>
    `(SELECT table_id FROM st_table WHERE table_name = '${table}')`;
  itAnswers(
    '[sql 11] st_column: the binary encoding of each type',
    {
      [`SELECT col_name, col_type FROM st_column WHERE table_id IN ${ofTable('numbered')}`]:
        '[["id","0d"],["text","04"]]',
    },
    answer,
  );
  itAnswers(
    '[sql 11] st_index: btree, direct and hash',
    {
      [`SELECT index_name, index_algorithm FROM st_index WHERE table_id IN ${ofTable('indexed')}`]:
        '[["indexed_a_b_idx_btree",[1,[[1,2]]]],["indexed_hashed_idx_hash",[3,[[3]]]],' +
        '["indexed_id_idx_btree",[1,[[0]]]],["indexed_slot_idx_direct",[2,[5]]],' +
        '["indexed_tree_idx_btree",[1,[[4]]]]]',
    },
    answer,
  );
  itAnswers(
    '[sql 11] st_constraint: the unique ones',
    {
      [`SELECT constraint_name, constraint_data FROM st_constraint
        WHERE table_id IN ${ofTable('pair')}`]: '[["pair_a_b_key",[1,[[0,1]]]]]',
    },
    answer,
  );
  itAnswers(
    '[sql 11] st_sequence: those of auto-increment columns',
    {
      [`SELECT sequence_name, col_pos, increment, start FROM st_sequence
        WHERE table_id IN ${ofTable('numbered')}`]: '[["numbered_id_seq",0,1,1]]',
    },
    answer,
  );
  it('[sql 11] st_module: one row, with the identity of the owner', async () => {
    const rows = await db.rows('SELECT owner_identity FROM st_module');
    expect(rows).toEqual([[`0x${db.identity('owner').replace(/^0+/, '')}`]]);
  });
  it('[sql 11] st_client: the connection of this request', async () => {
    const rows = await db.rows('SELECT identity FROM st_client', 'bob');
    expect(rows).toEqual([[`0x${db.identity('bob').replace(/^0+/, '')}`]]);
  });
  it('[sql 11] st_connection_credentials: the token payload of this request', async () => {
    const [[payload] = []] = await db.rows('SELECT jwt_payload FROM st_connection_credentials');
    expect(JSON.parse(String(payload))).toHaveProperty('iss');
  });
  itAnswers('[sql 11] st_var: row_limit is a U64', { 'SELECT * FROM st_var': '[]' }, answer);
  itAnswers(
    '[sql 11] st_scheduled: none, since no table is scheduled',
    { 'SELECT * FROM st_scheduled': '[]' },
    answer,
  );
  itAnswers(
    '[sql 11] st_row_level_security: table and text',
    {
      [`SELECT sql FROM st_row_level_security WHERE table_id IN ${ofTable('note')}`]:
        '[["SELECT * FROM note WHERE owner = :sender"]]',
    },
    answer,
  );
  itAnswers(
    '[sql 11] st_view: with its backing table, always present',
    {
      "SELECT is_public, is_anonymous FROM st_view WHERE view_name = 'my_notes'": '[[true,false]]',
      "SELECT is_public, is_anonymous FROM st_view WHERE view_name = 'hidden_notes'":
        '[[false,true]]',
      'SELECT view_name FROM st_view WHERE table_id IS NULL': '[]',
    },
    answer,
  );
  it('[sql 11] st_view_column: the public columns of each view', async () => {
    const sql = `SELECT c.col_name, c.col_pos FROM st_view_column AS c
      JOIN st_view AS v ON c.view_id = v.view_id WHERE v.view_name = 'keyed'`;
    expect(await db.answer(sql)).toBe('[["key",0],["viewed",1]]');
  });
  for (const table of ['st_view_param', 'st_view_sub', 'st_view_arg']) {
    itAnswers(`[sql 11] ${table} is empty`, { [`SELECT * FROM ${table}`]: '[]' }, answer);
  }
  itAnswers(
    '[sql 11] st_event_table: one row for each event table',
    {
      [`SELECT COUNT(*) AS n FROM st_event_table WHERE table_id IN ${ofTable('event_log')}`]:
        '[[1]]',
      'SELECT COUNT(*) AS n FROM st_event_table': '[[1]]',
    },
    answer,
  );
  itAnswers(
    '[sql 11] st_table_accessor: every user table and view, no system table',
    {
      "SELECT accessor_name FROM st_table_accessor WHERE table_name = 'user_profile'":
        '[["userProfile"]]',
      "SELECT accessor_name FROM st_table_accessor WHERE table_name = 's'": '[["s"]]',
      "SELECT accessor_name FROM st_table_accessor WHERE table_name = 'my_notes'": '[["myNotes"]]',
      "SELECT * FROM st_table_accessor WHERE table_name LIKE 'st_%' AND table_name <> 'stamped'":
        '[]',
    },
    answer,
  );
  itAnswers(
    '[sql 11] st_index_accessor and st_column_accessor',
    {
      "SELECT accessor_name FROM st_index_accessor WHERE index_name LIKE 'user_profile%'":
        '[["userProfile_userId_idx_btree"]]',
      "SELECT col_name, accessor_name FROM st_column_accessor WHERE table_name = 'user_profile'":
        '[["full_name","fullName"],["user_id","userId"]]',
    },
    answer,
  );
  for (const table of ['st_table_accessor', 'st_index_accessor']) {
    it(`[sql 11] both columns of ${table} are unique`, async () => {
      const rows = await db.rows(`SELECT * FROM ${table}`);
      expect(rows.length).toBeGreaterThan(20);
      for (const at of [0, 1]) expect(new Set(rows.map((row) => row[at])).size).toBe(rows.length);
    });
  }
});

describe('identities in system tables', () => {
  const refusal = (sql: string) => db.refusal(sql);
  const sender = '(__identity__: U256)';
  itAnswers(
    '[sql 11] are plain integers: decimal literals, no :sender',
    {
      'SELECT * FROM st_client WHERE identity = :sender': mismatch(sender, 'U256'),
      'SELECT * FROM st_client WHERE identity = 5': 'ok',
      'SELECT * FROM st_client WHERE connection_id = 5': 'ok',
      [`SELECT * FROM st_client WHERE identity = 0x${'ab'.repeat(32)}`]: badLiteral(
        'ab'.repeat(32),
        'U256',
      ),
    },
    refusal,
  );
  it('[sql 11] render as integers and are found by decimal literals', async () => {
    const decimal = BigInt(`0x${db.identity('ada')}`).toString();
    const sql = `SELECT identity FROM st_client WHERE identity = ${decimal}`;
    expect(await db.rows(sql, 'ada')).toHaveLength(1);
    expect(await db.rows(sql, 'bob')).toHaveLength(0);
  });
});
