import { describe, expect, it } from 'vitest';
import {
  blockOf,
  expectRefusals,
  mismatch,
  noTable,
  refusal,
  type SampleSchema,
  sampleSchema,
  scopeFor,
  type Who,
} from '../../../test/sql/check-statement.ts';
import { sampleTables } from '../../../test/sql/sample-tables.ts';
import { identityType } from '../../values/special-types.ts';
import type { ProductType } from '../../values/type.ts';
import { checkFilter, checkViewQuery } from '../published.ts';
import { parse } from '../syntax/parse.ts';
import { checkSubscription } from './check-subscription.ts';

const u32 = { kind: 'u32' } as const;
const tables: SampleSchema['tables'] = [
  ...sampleTables,
  { name: 'left', columns: { id: u32, a: u32, b: u32 }, indexes: ['unique:btree:id', 'btree:a'] },
  { name: 'right', columns: { id: u32, a: u32, b: u32 }, indexes: ['btree:a,b'] },
  { name: 'shout', isEvent: true, columns: { id: u32 }, indexes: ['btree:id'] },
  { name: 'doc', columns: { id: u32, owner: identityType }, indexes: ['unique:btree:id'] },
  { name: 'ranking', columns: { id: u32 }, indexes: ['unique:btree:id'] },
];

interface Options {
  readonly who?: Who;
  readonly joinRules?: boolean;
  readonly filters?: Readonly<Record<string, readonly string[]>>;
}

function schemaWith(filters: Options['filters'] = {}) {
  return sampleSchema({ tables, views: ['ranking'], filters });
}

function subscribed(sql: string, { who = 'owner', joinRules = true, filters }: Options = {}) {
  return checkSubscription(parse(sql), scopeFor(schemaWith(filters), who), { joinRules });
}

function refused(cases: Readonly<Record<string, string>>, options: Options = {}): void {
  expectRefusals(cases, (sql) => subscribed(sql, options));
}

const select = 'SELECT * FROM t WHERE';

describe('the subscription dialect', () => {
  it('[sql 6] takes whole rows of one relation', () => {
    for (const sql of [
      'SELECT * FROM t',
      'SELECT ALL * FROM t LIMIT ALL',
      'SELECT t.* FROM t',
      'SELECT "t".* FROM "t" WHERE (("t"."a" = 1) AND ("t"."name" <> \'x\'))',
      'SELECT * FROM t WHERE TRUE = TRUE OR NOT (flag)',
      'SELECT * FROM doc WHERE owner = :sender',
      'SELECT "right".* FROM "right" JOIN "left" ON "right"."a" = "left"."a" WHERE "right"."b" = 4',
    ]) {
      expect(
        refusal(() => subscribed(sql)),
        sql,
      ).toBe('ok');
    }
    expect(subscribed('SELECT * FROM UserProfile').table.name).toBe('user_profile');
    expect(subscribed('SELECT r.* FROM left AS l JOIN left AS r ON l.id = r.id').table.name).toBe(
      'left',
    );
  });

  it('[sql 8.2] looks at FROM, then at conditions, then at the list', () => {
    refused({
      'SELECT 1': 'A FROM clause is required',
      'SELECT 1 FROM t, s': 'Implicit joins are not supported',
      'SELECT 1 FROM t WHERE a IN (1)': 'Unsupported expression: a IN (1)',
      'SELECT 1 FROM t': 'Unsupported projection expression: 1',
      'SELECT a, * FROM t': 'Mixed wildcard projections are not supported',
      'SELECT COUNT(*) FROM t': 'Aggregate expressions must have column aliases',
      'SELECT sum(a) AS s FROM t': 'Unsupported aggregate function: sum(a)',
      'SELECT a + 1 FROM t': 'Unsupported projection expression: a + 1',
    });
  });

  it('[sql 6.1] refuses lists of columns once their names are known', () => {
    const columns =
      'Column projections are not supported in subscriptions; ' +
      'Subscriptions must return a table type';
    refused({
      'SELECT a FROM t': columns,
      'SELECT t.a, t.x FROM t': columns,
      'SELECT COUNT(*) AS n FROM t': columns,
      'SELECT nope FROM t': '`nope` is not in scope',
      'SELECT a FROM nope': noTable('nope'),
      'SELECT x.* FROM t': '`x` is not in scope',
      'SELECT * FROM t JOIN s ON t.id = s.id': 'SELECT * is not supported for joins',
    });
  });

  it('[sql 6.1] refuses other statements and clauses', () => {
    const other = 'Unsupported: Non-SELECT queries';
    refused({
      'DELETE FROM t': other,
      'INSERT INTO one (a) VALUES (1)': other,
      'SHOW row_limit': other,
      'EXPLAIN SELECT * FROM t': other,
      'CREATE TABLE t (a INT)': other,
      'SELECT * FROM t LIMIT 5': 'Unsupported: SELECT * FROM t LIMIT 5',
      'SELECT * FROM t ORDER BY a': 'Unsupported: SELECT * FROM t ORDER BY a',
      'SELECT * FROM t OFFSET 1': 'Unsupported: SELECT * FROM t OFFSET 1',
      'WITH q AS (SELECT * FROM t) SELECT * FROM q':
        'Unsupported: WITH q AS (SELECT * FROM t) SELECT * FROM q',
      'SELECT * FROM t UNION SELECT * FROM t':
        'Unsupported set operation: SELECT * FROM t UNION SELECT * FROM t',
      'VALUES (1)': 'Unsupported set operation: VALUES (1)',
      'SELECT DISTINCT * FROM t': 'Unsupported SELECT: SELECT DISTINCT * FROM t',
      'SELECT * FROM t GROUP BY a': 'Unsupported SELECT: SELECT * FROM t GROUP BY a',
      'SELECT * FROM t HAVING a = 1': 'Unsupported SELECT: SELECT * FROM t HAVING a = 1',
      'SELECT * FROM (SELECT * FROM t) AS q': 'Unsupported FROM expression: (SELECT * FROM t) AS q',
      'SELECT * FROM t AS OF 3':
        'AS OF is not supported: this database keeps no history yet. ' +
        'Only current rows can be read',
    });
  });

  it('[ease 3.2] takes IS NULL and LIKE of options and enums alone', () => {
    for (const condition of [
      'opt IS NULL',
      'NOT (opt IS NOT NULL OR opt = 5)',
      "color LIKE 're%'",
      "color = 'red' AND color <> 'Green'",
    ]) {
      const sql = `SELECT * FROM opaque WHERE ${condition}`;
      expect(() => subscribed(sql), condition).not.toThrow();
    }
    for (const condition of ['id IS NULL', 'point IS NULL', 'opt.some IS NULL']) {
      const sql = `SELECT * FROM opaque WHERE ${condition}`;
      const message = `Unsupported expression: ${condition}`;
      expect(
        refusal(() => subscribed(sql)),
        condition,
      ).toBe(message);
    }
  });

  it('[sql 3] refuses every other condition', () => {
    for (const condition of [
      'a IS NULL',
      'a BETWEEN 1 AND 2',
      "name LIKE 'x%'",
      'EXISTS (SELECT * FROM s)',
      'f(a, x)',
      '-a',
      'CASE WHEN a THEN x END',
      '(SELECT a FROM s)',
      'CAST(a AS I64)',
    ]) {
      expect(
        refusal(() => subscribed(`${select} ${condition}`)),
        condition,
      ).toBe(`Unsupported expression: ${condition}`);
    }
    refused({
      [`${select} a + 1 = 2`]: 'Unsupported binary operator: +',
      [`${select} a * 2 + 1 = 3`]: 'Unsupported binary operator: +',
      [`${select} a = NULL`]: 'Unsupported literal expression: NULL',
      [`${select} a = $1`]: 'Unsupported literal expression: $1',
      [`${select} a = x`]: mismatch('I32', 'U32'),
      'SELECT * FROM opaque WHERE point.x = 1': '`point` is not in scope',
    });
  });

  it('[sql 3.1] takes inner joins on one pair of columns', () => {
    const other = 'Non-inner joins are not supported';
    refused(
      {
        'SELECT t.* FROM t LEFT JOIN s ON t.id = s.id': other,
        'SELECT t.* FROM t JOIN s ON (t.id = s.id)': other,
        'SELECT t.* FROM t JOIN s ON t.id = s.id AND t.a = 1': other,
        'SELECT t.* FROM t JOIN s ON t.id < s.id': other,
        'SELECT t.* FROM t JOIN s ON id = s.id': 'Names must be qualified when using joins',
        'SELECT t.* FROM t JOIN t ON t.id = t.id': 'Duplicate name `t`',
        'SELECT t.* FROM t JOIN s ON t.id = t.a':
          'Could not compute positional arguments during query planning',
        'SELECT t.* FROM t CROSS JOIN s': 'ok',
        'SELECT t.* FROM t JOIN s ON t.id = s.id JOIN one ON one.a = t.a': 'ok',
      },
      { joinRules: false },
    );
  });
});

describe('join rules of Subscribe', () => {
  const missing = 'Subscriptions require indexes on join columns';

  it('[sql 6.3] at most two relations', () => {
    refused({
      'SELECT t.* FROM t JOIN s ON t.id = s.id JOIN one ON one.a = t.a':
        'Invalid number of tables in subscription: 3',
    });
  });

  it('[sql 6.3] the second relation is looked up in an index, or the first beside a filter', () => {
    const join = 'SELECT l.* FROM left AS l JOIN right AS r ON';
    refused({
      // `right.a` has no index of its own, `left.a` has one.
      [`${join} l.a = r.a`]: missing,
      [`${join} l.a = r.a WHERE r.b = 1`]: 'ok',
      [`${join} r.a = l.a WHERE r.b > 1`]: 'ok',
      [`${join} l.a = r.a WHERE r.b = 1 AND l.b = 2`]: missing,
      [`${join} l.a = r.a WHERE l.b = 2`]: missing,
      // The index of `right` ends in `b`: its first column must be fixed.
      [`${join} l.a = r.b`]: missing,
      [`${join} l.a = r.b WHERE r.a = 1 AND l.b = 3`]: 'ok',
      [`${join} l.a = r.b WHERE r.a > 1 AND l.b = 3`]: missing,
      [`${join} l.a = r.b WHERE r.a = 1 OR r.a = 2`]: missing,
      [`${join} l.b = r.b WHERE r.a = 1`]: missing,
      'SELECT l.* FROM left AS l CROSS JOIN right AS r': missing,
      'SELECT l.* FROM left AS l CROSS JOIN right AS r WHERE l.a = r.a': missing,
      'SELECT r.* FROM right AS r JOIN left AS l ON r.b = l.id': 'ok',
    });
  });

  it('[sql 6.3] an event table is not looked up', () => {
    refused({
      'SELECT * FROM shout': 'ok',
      'SELECT s.* FROM shout AS s JOIN left AS l ON s.id = l.id': 'ok',
      'SELECT s.* FROM left AS l JOIN shout AS s ON s.id = l.id':
        'Event tables cannot be used as the lookup table in subscription joins',
    });
  });

  it('[sql 6.3] a view is filtered always, and looked up by its key alone', () => {
    // The key of this view is not declared, whatever indexes it has.
    refused({
      'SELECT l.* FROM left AS l JOIN ranking AS r ON l.id = r.id': 'ok',
      'SELECT l.* FROM left AS l JOIN ranking AS r ON l.b = r.id': missing,
      'SELECT l.* FROM ranking AS r JOIN left AS l ON l.id = r.id': 'ok',
      'SELECT l.* FROM left AS l JOIN ranking AS r ON l.id = r.id WHERE l.b = 1': missing,
    });
    expect(subscribed('SELECT * FROM ranking').fragments[0]?.views).toHaveLength(1);
  });
});

describe('filters in subscriptions', () => {
  const filters = {
    doc: ['SELECT * FROM doc WHERE owner = :sender', 'SELECT * FROM doc WHERE id < 10'],
    left: ['SELECT l.* FROM right AS r JOIN left AS l ON r.b = l.id WHERE r.a = 1'],
  };

  it('[sql 10.3, ease 3.9] each filter is a fragment, without the rows of earlier ones', () => {
    const { fragments, table } = subscribed('SELECT * FROM doc WHERE id > 3', {
      who: 'stranger',
      filters,
    });
    expect(table.name).toBe('doc');
    expect(fragments.map((fragment) => blockOf(fragment).where)).toMatchObject([
      { kind: 'and', terms: [{ operator: '=' }, { operator: '>' }] },
      {
        kind: 'and',
        terms: [{ operator: '<' }, { kind: 'not', operand: { operator: '=' } }, { operator: '>' }],
      },
    ]);
    for (const fragment of fragments) {
      const { relations, items } = blockOf(fragment);
      expect(relations).toMatchObject([{ source: { kind: 'table' }, security: undefined }]);
      expect(items).toHaveLength(2);
    }
    expect(subscribed('SELECT * FROM doc', { filters }).fragments).toHaveLength(1);
  });

  it('[sql 10.3] several filtered tables are combined in every way', () => {
    const { fragments } = subscribed('SELECT a.* FROM doc AS a JOIN doc AS b ON a.id = b.id', {
      who: 'stranger',
      filters,
    });
    expect(fragments).toHaveLength(4);
  });

  it('[sql 10.3] a filter with a join brings its relations along', () => {
    const { fragments, table } = subscribed('SELECT x.* FROM left AS x WHERE x.b = 5', {
      who: 'stranger',
      filters,
      joinRules: false,
    });
    expect(table.name).toBe('left');
    const block = blockOf(fragments[0] ?? fail());
    expect(block.relations.map(({ name }) => name)).toEqual(['r', 'l']);
    expect(block.joins).toMatchObject([{ condition: { operator: '=' } }]);
    expect(block.items.every((item) => item.kind === 'column' && item.slot === 1)).toBe(true);
  });

  it('[sql 6.3] the rules hold after the expansion', () => {
    refused(
      {
        'SELECT * FROM left': 'ok',
        'SELECT t.* FROM t JOIN left AS l ON t.id = l.id':
          'Invalid number of tables in subscription: 3',
      },
      { who: 'stranger', filters },
    );
    refused({ 'SELECT t.* FROM t JOIN left AS l ON t.id = l.id': 'ok' }, { filters });
  });
});

describe('texts of a module', () => {
  it('[sql 10.3] a filter returns rows of one public table', () => {
    const schema = schemaWith();
    const filter = (text: string) => checkFilter(text, schema);
    expect(filter('SELECT * FROM doc WHERE owner = :sender').tableId).toBe(
      schema.tables.find(({ name }) => name === 'doc')?.id,
    );
    expectRefusals(
      {
        'SELECT d.* FROM doc AS d JOIN secret AS s ON s.id = d.id JOIN t ON t.id = d.id': 'ok',
        'SELECT * FROM secret':
          'Cannot define RLS rule on private table: secret. ' +
          'Please make table public if you wish to restrict access using RLS.',
        'SELECT id FROM doc':
          'Column projections are not supported in subscriptions; ' +
          'Subscriptions must return a table type',
        'SELECT * FROM nope': noTable('nope'),
        'DELETE FROM doc': 'Unsupported: Non-SELECT queries',
      },
      filter,
    );
  });

  it('[sql 8.4] a view that answers with a query', () => {
    const schema = schemaWith({ left: ['SELECT * FROM left WHERE id = 0'] });
    const row: ProductType = {
      kind: 'product',
      elements: ['id', 'a', 'b'].map((name) => ({ name, type: u32 })),
    };
    const view = (text: string) => checkViewQuery(text, schema, row);
    const { relations } = blockOf(view('SELECT * FROM left'));
    expect(relations).toMatchObject([{ source: { kind: 'table' }, security: undefined }]);
    expectRefusals(
      {
        'SELECT r.* FROM left AS l JOIN right AS r ON l.a = r.a WHERE r.b = 1': 'ok',
        'SELECT l.* FROM left AS l JOIN right AS r ON l.a = r.a':
          'Subscriptions require indexes on join columns',
        'SELECT * FROM doc WHERE owner = :sender':
          'parameterized SQL is not supported for view materialization yet',
        'SELECT l.* FROM left AS l JOIN ranking AS r ON l.id = r.id':
          'view definition cannot read from other views',
        'SELECT * FROM secret':
          'query returns `(id: U32, text: String)` but view expects `(id: U32, a: U32, b: U32)`',
      },
      view,
    );
  });
});

function fail(): never {
  throw new Error('there is a fragment');
}
