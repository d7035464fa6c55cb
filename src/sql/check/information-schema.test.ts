import { describe, expect, it } from 'vitest';
import { labOwner, QueryLab } from '../../../test/sql/query-lab.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import {
  identityType,
  optionType,
  product,
  sum,
  timestampType,
  unitType,
} from '../../values/special-types.ts';
import { strangerRights } from '../rights.ts';

const stranger = { identity: callerIdentity(7n), rights: strangerRights };

const lab = new QueryLab([
  {
    name: 'ticket',
    columns: {
      id: { kind: 'u64' },
      status: sum(['todo', unitType], ['done', unitType]),
      owner: optionType(identityType),
      due: timestampType,
      place: product(['x', { kind: 'i32' }]),
      tags: { kind: 'array', element: { kind: 'string' } },
    },
    indexes: ['unique:btree:id', 'btree:due', 'unique:btree:due,owner'],
    autoIncrement: 'id',
    primaryKey: 'id',
  },
  { name: 'secret', columns: { key: { kind: 'string' } }, isPrivate: true },
]);

describe('[ease 3.5] SHOW and DESCRIBE', () => {
  it('list the tables of the module that the caller may read', () => {
    expect(lab.rows('SHOW TABLES')).toEqual([
      ['secret', 'table', 'private'],
      ['ticket', 'table', 'public'],
    ]);
    expect(lab.rows('SHOW TABLES', { caller: stranger })).toEqual([['ticket', 'table', 'public']]);
  });

  it('list the columns of a table, with types as they can be read', () => {
    const rows = [
      ['id', 'U64', false, 'primary', 'auto_increment'],
      ['status', "'todo' | 'done'", false, '', ''],
      ['owner', 'Option<Identity>', true, '', ''],
      ['due', 'Timestamp', false, 'index', ''],
      ['place', '(x: I32)', false, '', ''],
      ['tags', 'Array<String>', false, '', ''],
    ];
    for (const sql of [
      'SHOW COLUMNS FROM ticket',
      'SHOW COLUMNS IN ticket',
      'DESCRIBE ticket',
      'DESC ticket;',
    ]) {
      expect(lab.rows(sql, { caller: stranger }), sql).toEqual(rows);
    }
    expect(lab.rows('DESCRIBE secret')).toHaveLength(1);
    const missing = (name: string) =>
      `no such table: \`${name}\`. If the table exists, it may be marked private.`;
    for (const name of ['secret', 'nope']) {
      expect(() => lab.rows(`DESCRIBE ${name}`, { caller: stranger }), name).toThrow(missing(name));
    }
  });

  it('list the functions of SQL, each with what it takes', () => {
    const rows = lab.rows('SHOW FUNCTIONS');
    expect(rows).toContainEqual(['upper', 'function', 'upper(text String) → String']);
    expect(rows).toContainEqual(['median', 'aggregate', 'median(…)']);
    expect(rows).toContainEqual(['lag', 'window', 'lag(…) OVER (…)']);
  });
});

describe('[ease 3.5] information_schema', () => {
  it('has tables, columns and keys, as far as the caller may read', () => {
    const tables =
      "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public'";
    expect(lab.rows(tables)).toHaveLength(2);
    expect(lab.rows(tables, { caller: stranger })).toEqual([['ticket', 'BASE TABLE']]);
    const columns =
      'SELECT c.column_name, c.ordinal_position, c.data_type, c.is_nullable, c.is_identity ' +
      "FROM information_schema.columns AS c WHERE c.table_name = 'ticket' " +
      'AND c.ordinal_position < 4 ORDER BY 2';
    expect(lab.rows(columns, { caller: stranger })).toEqual([
      ['id', 1, 'U64', 'NO', 'YES'],
      ['status', 2, "'todo' | 'done'", 'NO', 'NO'],
      ['owner', 3, 'Option<Identity>', 'YES', 'NO'],
    ]);
    const secret = "SELECT * FROM information_schema.columns WHERE table_name = 'secret'";
    expect(lab.rows(secret, { caller: stranger })).toEqual([]);
    expect(lab.rows(secret)).toHaveLength(1);
    const keys =
      'SELECT k.constraint_name, k.column_name, t.constraint_type ' +
      'FROM information_schema.key_column_usage AS k ' +
      'JOIN information_schema.table_constraints AS t ON t.constraint_name = k.constraint_name ' +
      "WHERE k.table_name = 'ticket' ORDER BY 1, k.ordinal_position";
    expect(lab.rows(keys, { caller: stranger }).map((row) => (row as unknown[]).slice(1))).toEqual([
      ['due', 'UNIQUE'],
      ['owner', 'UNIQUE'],
      ['id', 'PRIMARY KEY'],
    ]);
  });

  it('counts, joins and plans like any other rows', () => {
    const count = 'SELECT COUNT(*) AS n FROM information_schema.columns WHERE table_schema = $1';
    const options = { parameters: { 1: 'public' }, caller: labOwner };
    expect(lab.rows(count, options)).toEqual([[7n]]);
    expect(() => lab.rows('SELECT * FROM information_schema.table')).toThrow(
      'no such table: `information_schema.table`',
    );
    expect(() => lab.write('DELETE FROM information_schema.tables')).toThrow('no such table');
  });
});
