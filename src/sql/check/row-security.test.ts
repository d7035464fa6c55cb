import { describe, expect, it } from 'vitest';
import type { SampleSchema } from '../../../test/sql/check-statement.ts';
import {
  blockOf,
  checkedBlock,
  checkedRead,
  errorOf,
  named,
  noTable,
  refusal,
  sampleSchema,
  scopeFor,
  type Who,
} from '../../../test/sql/check-statement.ts';
import { sampleTables } from '../../../test/sql/sample-tables.ts';
import { identityType } from '../../values/special-types.ts';

const tables: SampleSchema['tables'] = [
  ...sampleTables,
  {
    name: 'doc',
    columns: { id: { kind: 'u32' }, owner: identityType, folder: { kind: 'u32' } },
    indexes: ['unique:btree:id'],
  },
  {
    name: 'folder',
    columns: { id: { kind: 'u32' }, owner: identityType },
    indexes: ['unique:btree:id'],
  },
];

function scope(filters: Readonly<Record<string, readonly string[]>>, who: Who = 'stranger') {
  return scopeFor(sampleSchema({ tables, filters }), who);
}

const ownDocs = 'SELECT * FROM doc WHERE owner = :sender';
const docsInOwnFolder =
  'SELECT d.* FROM folder AS f JOIN doc AS d ON f.id = d.folder WHERE f.owner = :sender';

describe('row-level security', () => {
  it('[sql 10.3] one filter over one table is a condition of the relation', () => {
    const typed = checkedRead(
      'SELECT x.id FROM doc AS x WHERE x.id = 5',
      scope({ doc: [ownDocs] }),
    );
    const { relations, where } = blockOf(typed);
    expect(relations).toMatchObject([
      {
        slot: 0,
        name: 'x',
        source: { kind: 'table', table: { name: 'doc' } },
        security: { kind: 'comparison', left: { slot: 0, column: 1 }, right: { parameter: 0 } },
      },
    ]);
    expect(where).toMatchObject({ left: { slot: 0, column: 0 } });
    expect(typed.parameters).toMatchObject([{ name: undefined, type: identityType }]);
  });

  it('[sql 10.3] a filter without condition hides nothing', () => {
    const { relations } = checkedBlock('SELECT * FROM doc', scope({ doc: ['SELECT * FROM doc'] }));
    expect(relations).toMatchObject([{ source: { kind: 'table' }, security: undefined }]);
  });

  it('[sql 10.3] the owner bypasses filters, also those that could not be typed', () => {
    const filters = { doc: [ownDocs], folder: ['SELECT * FROM nope'] };
    const { relations } = checkedBlock('SELECT * FROM doc', scope(filters, 'owner'));
    expect(relations).toMatchObject([{ source: { kind: 'table' }, security: undefined }]);
    expect(refusal(() => checkedBlock('SELECT * FROM folder', scope(filters, 'owner')))).toBe('ok');
  });

  it('[sql 10.3, ease 3.9] several filters are a union, behind a barrier', () => {
    const filters = { doc: [ownDocs, 'SELECT * FROM doc WHERE id < 10', docsInOwnFolder] };
    const { relations } = checkedBlock('SELECT COUNT(*) AS n FROM doc', scope(filters));
    expect(relations).toMatchObject([
      {
        name: 'doc',
        security: undefined,
        source: {
          kind: 'query',
          isBarrier: true,
          query: {
            columns: [{ name: 'id' }, { name: 'owner' }, { name: 'folder' }],
            body: {
              operator: 'union',
              isAll: false,
              left: { body: { operator: 'union', isAll: false } },
              right: { body: { kind: 'block', relations: [{ name: 'f' }, { name: 'd' }] } },
            },
          },
        },
      },
    ]);
  });

  it('[sql 10.3] a filter with a join is behind a barrier', () => {
    const { relations } = checkedBlock('SELECT * FROM doc', scope({ doc: [docsInOwnFolder] }));
    const source = relations[0]?.source;
    expect(source).toMatchObject({ kind: 'query', isBarrier: true });
    if (source?.kind !== 'query' || source.query.body.kind !== 'block') return;
    // The rows are those of the second relation, column by column.
    const slot = source.query.body.relations[1]?.slot;
    expect(source.query.body.items).toMatchObject([
      { slot, column: 0 },
      { slot, column: 1 },
      { slot, column: 2 },
    ]);
  });

  it('[sql 10.3] other tables in a filter have their own, the table itself has none', () => {
    const filters = {
      doc: [
        'SELECT d.* FROM doc AS d JOIN doc AS e ON d.id = e.folder ' +
          'JOIN folder AS f ON f.id = d.folder',
      ],
      folder: ['SELECT * FROM folder WHERE owner = :sender'],
    };
    const { relations } = checkedBlock('SELECT * FROM doc', scope(filters));
    const source = relations[0]?.source;
    if (source?.kind !== 'query' || source.query.body.kind !== 'block') throw new Error('plain');
    expect(source.query.body.relations).toMatchObject([
      { name: 'd', source: { kind: 'table' }, security: undefined },
      { name: 'e', source: { kind: 'table' }, security: undefined },
      { name: 'f', source: { kind: 'table' }, security: { kind: 'comparison' } },
    ]);
  });

  it('[sql 10.3] every occurrence is filtered: joins, subqueries, common tables, sides', () => {
    const filters = { doc: [ownDocs] };
    const secured = (sql: string) => {
      const text = JSON.stringify(checkedRead(sql, scope(filters)), (key, value) =>
        key === 'table' ? value.name : key === 'function' || typeof value === 'bigint' ? 0 : value,
      );
      const plain = text.match(/"source":\{"kind":"table","table":"doc"\}/g)?.length;
      const withSecurity = text.match(
        /"source":\{"kind":"table","table":"doc"\},"security":\{/g,
      )?.length;
      return [plain, withSecurity];
    };
    expect(secured('SELECT a.id FROM doc AS a JOIN doc AS b ON a.id = b.folder')).toEqual([2, 2]);
    expect(secured('SELECT f.id FROM folder AS f LEFT JOIN doc AS d ON d.folder = f.id')).toEqual([
      1, 1,
    ]);
    expect(secured('SELECT id FROM folder WHERE id IN (SELECT folder FROM doc)')).toEqual([1, 1]);
    expect(secured('SELECT (SELECT MAX(d.id) FROM doc AS d) AS m FROM folder')).toEqual([1, 1]);
    expect(secured('WITH q AS (SELECT id FROM doc) SELECT id FROM q')).toEqual([1, 1]);
    expect(secured('SELECT id FROM folder UNION SELECT id FROM doc')).toEqual([1, 1]);
    expect(secured('SELECT q.id FROM (SELECT id FROM doc) AS q')).toEqual([1, 1]);
  });

  it('[sql 8.4] filters that need each other are refused by the id of the table', () => {
    const filters = {
      doc: ['SELECT d.* FROM doc AS d JOIN folder AS f ON f.id = d.folder'],
      folder: ['SELECT f.* FROM folder AS f JOIN doc AS d ON f.id = d.folder'],
    };
    const { schema, ...rest } = scope(filters);
    const { id } = named(schema.tables, 'doc');
    const cycle = `Discovered cyclic dependency when resolving RLS rules for table id \`${id}\``;
    expect(refusal(() => checkedRead('SELECT * FROM doc', { schema, ...rest }))).toBe(cycle);
    expect(refusal(() => checkedRead('SELECT * FROM doc', scope(filters, 'owner')))).toBe('ok');
  });

  it('[sql 10.3] a private table in a filter is absent for all but the owner', () => {
    const filters = {
      doc: ['SELECT d.* FROM doc AS d JOIN secret AS s ON s.id = d.id'],
    };
    const error = errorOf(() => checkedRead('SELECT * FROM doc', scope(filters)));
    expect(error?.message).toBe(noTable('secret'));
    // No place points into a text that the caller cannot see.
    expect(error).not.toHaveProperty('place');
    expect(refusal(() => checkedRead('SELECT * FROM doc', scope(filters, 'owner')))).toBe('ok');
  });

  it('[sql 10.3] names of the caller mean nothing inside a filter', () => {
    const filters = { doc: ['SELECT d.* FROM doc AS d JOIN folder AS f ON f.id = d.folder'] };
    const sql = 'WITH folder AS (SELECT id, owner FROM doc) SELECT id FROM doc';
    const { relations } = checkedBlock(sql, scope({ doc: filters.doc, folder: [] }));
    const source = relations[0]?.source;
    if (source?.kind !== 'query' || source.query.body.kind !== 'block') throw new Error('plain');
    expect(source.query.body.relations[1]).toMatchObject({ source: { kind: 'table' } });
  });

  it('bounds what filters within filters can make of one table', () => {
    const names = Array.from({ length: 12 }, (_, at) => `t${at}`);
    const many = names.map((name) => ({ name, columns: { id: { kind: 'u32' } } }) as const);
    const filters = Object.fromEntries(
      names.slice(0, -1).map((name, at) => {
        const next = names[at + 1];
        return [
          name,
          [
            `SELECT c.* FROM ${name} AS c JOIN ${next} AS a ON a.id = c.id ` +
              `JOIN ${next} AS b ON b.id = c.id`,
          ],
        ];
      }),
    );
    const schema = sampleSchema({ tables: many, filters });
    expect(refusal(() => checkedRead('SELECT * FROM t0', scopeFor(schema, 'stranger')))).toMatch(
      /^The statement has more than 512 relations/,
    );
  });
});

describe('private tables', () => {
  it('[sql 10.1] behave as absent in every position, advice included', () => {
    const shape = (sql: string, name: string) => {
      const error = errorOf(() => checkedRead(sql.replaceAll('@', name), scope({})));
      return JSON.stringify(error)?.replaceAll(name, '@');
    };
    for (const sql of [
      'SELECT * FROM @',
      'SELECT @.id FROM @',
      'SELECT COUNT(*) AS n FROM @',
      'SELECT t.id FROM t JOIN @ ON t.id = @.id',
      'SELECT t.id FROM t LEFT JOIN @ AS q ON t.id = q.id',
      'SELECT id FROM t WHERE id IN (SELECT id FROM @)',
      'SELECT id FROM t WHERE EXISTS (SELECT 1 FROM @)',
      'SELECT id FROM t WHERE id = (SELECT MAX(id) FROM @)',
      'SELECT (SELECT MAX(id) FROM @) AS m FROM t',
      'SELECT q.id FROM (SELECT id FROM @) AS q',
      'WITH q AS (SELECT id FROM @) SELECT 1 AS one FROM t',
      'SELECT id FROM t UNION SELECT id FROM @',
      'SELECT id FROM t ORDER BY (SELECT MAX(id) FROM @)',
      'SELECT id FROM t GROUP BY id HAVING id > (SELECT MAX(id) FROM @)',
      'SELECT nope FROM @ WHERE 1 = 1',
      'SELECT id FROM t WHERE @.id = 1',
      'EXPLAIN SELECT * FROM @',
      'INSERT INTO @ (id, text) SELECT id, name FROM t',
      'INSERT INTO s (id, x) SELECT id, id FROM @',
      'DELETE FROM t WHERE id IN (SELECT id FROM @)',
      'UPDATE @ SET text = 1 RETURNING nope',
    ]) {
      expect(shape(sql, 'secret'), sql).toBe(shape(sql, 'absent'));
    }
  });
});
