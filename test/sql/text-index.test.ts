import { describe, expect, it } from 'vitest';
import { strangerRights } from '../../src/sql/rights.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { identityType } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import { refusal } from './check-statement.ts';
import { type LabOptions, QueryLab } from './query-lab.ts';

const u32 = { kind: 'u32' } as const;
const string = { kind: 'string' } as const;

function labOf(indexes: readonly string[], filters: readonly string[] = []): QueryLab {
  const lab = new QueryLab(
    [
      { name: 'note', columns: { id: u32, owner: identityType, body: string }, indexes },
      { name: 'tag', columns: { name: string, weight: u32 }, indexes: ['unique:btree:name'] },
    ],
    { note: filters },
  );
  // 600 rows: `open` is in half of them, `rareN` in three, foxes in two.
  lab.insert(
    'note',
    Array.from({ length: 600 }, (_, id) => {
      const state = id % 2 === 0 ? 'open' : 'closed';
      const fox = id === 100 ? 'two foxes' : id === 200 ? 'a fox' : '';
      return [id, [BigInt(id % 3)], `A ${state} note, rare${id % 200} ${fox}`];
    }),
  );
  lab.insert('tag', [
    ['rare7', 1],
    ['"a fox"', 2],
    ['none', 3],
  ]);
  return lab;
}

const indexes = ['unique:btree:id', 'text:body:english'];
const notes = labOf(indexes);
const planOf = (where: string, options: LabOptions = {}) =>
  notes.explain(`SELECT id FROM note WHERE ${where}`, options);
const ids = (where: string, options: LabOptions = {}) =>
  notes.rows(`SELECT id FROM note WHERE ${where}`, options).map((row) => (row as Value[])[0]);

describe('[ease 3.11] a text index', () => {
  it.each([
    ["search(body, 'rare7')", [7, 207, 407]],
    ["search(body, 'rare7 open')", []],
    ["search(body, 'foxes')", [100, 200]],
    ["search(body, 'foxes', 'simple')", [100]],
    ['search(body, \'"two fox"\')', [100]],
    ["search(body, 'rare7 OR foxes') AND id < 300", [7, 100, 200, 207]],
    ["search(body, 'foxes NOT two')", [200]],
    ["search(body, 'rare19* NOT open') AND id < 200", [19, 191, 193, 195, 197, 199]],
    ["search(body, 'zebra')", []],
    ["search(body, '')", []],
  ])('serves %s', (where, expected) => {
    expect(planOf(where)).toContain('search note by note_body_idx_text (');
    expect(ids(where)).toEqual(expected);
    expect(ids(where, { isPausing: true })).toEqual(expected);
    expect(ids(where, { useIndexes: false })).toEqual(expected);
    expect(ids(where, { optimise: false })).toEqual(expected);
  });

  it('says what it looks for', () => {
    expect(planOf("search(body, 'rare7')")).toContain(
      'search note by note_body_idx_text ("rare7"): search(note.body, "rare7", "english")',
    );
  });

  it.each([
    ["search(body, 'open')", 300],
    ["search(body, 'NOT closed')", 300],
    ["NOT search(body, 'foxes')", 598],
    ["search(lower(body), 'foxes')", 1],
    ["search(body, 'foxes', 'german')", 2],
    ["search(body, 'foxes') OR id < 2", 4],
  ])('gives all rows where it cannot serve %s, or finds too many', (where, count) => {
    expect(ids(where)).toHaveLength(count);
    expect(ids(where, { useIndexes: false })).toHaveLength(count);
  });

  it('serves parameters, joins, updates and deletes', () => {
    expect(ids('search(body, $1)', { parameters: { 1: 'rare3 open' } })).toEqual([]);
    expect(ids('search(body, $1)', { parameters: { 1: 'rare4 OPEN' } })).toEqual([4, 204, 404]);
    const join =
      'SELECT t.weight, n.id FROM tag AS t JOIN note AS n ON search(n.body, t.name) ORDER BY n.id';
    expect(notes.explain(join)).toContain('search note as n by note_body_idx_text (t.name)');
    expect(notes.rows(join)).toEqual([
      [1, 7],
      [2, 200],
      [1, 207],
      [1, 407],
    ]);
    const own = labOf(indexes);
    expect(own.write("UPDATE note SET body = 'a zebra' WHERE search(body, 'rare7')").updated).toBe(
      3,
    );
    expect(own.rows("SELECT id FROM note WHERE search(body, 'rare7')")).toEqual([]);
    expect(own.rows("SELECT id FROM note WHERE search(body, 'zebras')")).toHaveLength(3);
    expect(own.write("DELETE FROM note WHERE search(body, 'zebras')").deleted).toBe(3);
  });

  it('sees what its own transaction has not committed, and what a paused read began with', () => {
    const own = labOf(indexes);
    const sql = "SELECT id FROM note WHERE search(body, 'rare5 OR gnu')";
    let round = 0;
    const rows = own.rows(sql, {
      isPausing: true,
      duringPause: () => {
        const id = 1_000 + round++;
        own.write(`DELETE FROM note WHERE id = ${round < 10 ? 5 : 205}`);
        own.write(`INSERT INTO note (id, owner, body) VALUES (${id}, :sender, 'gnu')`);
      },
    });
    expect(own.pauseCount).toBeGreaterThan(0);
    expect(rows).toEqual([[5], [205], [405]]);
    expect(own.rows(sql).length).toBeGreaterThan(1);
  });

  it('gives its language to functions that name none', () => {
    const shown = "SELECT highlight(body, 'fox', '<', '>') AS h FROM note WHERE id = 100";
    expect(notes.rows(shown)).toEqual([['A open note, rare100 two <foxes>']]);
    const marked = "SELECT highlight(n.body, 'fox') AS h FROM note AS n WHERE n.id = 100";
    expect(notes.rows(marked)).toEqual([['A open note, rare100 two **foxes**']]);
    expect(notes.rows("SELECT id FROM note WHERE rank(body, 'fox') > 0")).toHaveLength(2);
  });

  it.each(['foxes', 'rare7', 'open rare1*', '"two fox" NOT closed', 'zebra', '', 'NOT fox'])(
    'gives `rank` what all rows give it: %s',
    (query) => {
      const bare = labOf(['unique:btree:id']);
      const parameters = { 1: query };
      const sql = "SELECT id, rank(body, $1, 'english') AS r FROM note ORDER BY id";
      const expected = bare.rows(sql, { parameters });
      expect(notes.rows(sql, { parameters })).toEqual(expected);
      expect(notes.rows(sql, { parameters, isPausing: true })).toEqual(expected);
      const plain = sql.replace(", 'english'", ", 'simple'");
      expect(notes.rows(plain, { parameters })).toEqual(bare.rows(plain, { parameters }));
      const own = labOf(indexes);
      for (const lab of [own, bare]) {
        lab.write('DELETE FROM note WHERE id < 150');
        lab.write("UPDATE note SET body = 'a fox, a fox and rare7' WHERE id % 50 = 0");
      }
      expect(own.rows(sql, { parameters })).toEqual(bare.rows(sql, { parameters }));
    },
  );

  it('gives `rank` the rows of a moment, and those that the caller can read', () => {
    const sql = "SELECT id, rank(body, 'fox') AS r FROM note WHERE search(body, 'fox OR rare7')";
    const expected = notes.rows(sql);
    const own = labOf(indexes);
    let round = 0;
    const duringPause = () => {
      own.write(`UPDATE note SET body = 'foxes' WHERE id = ${300 + round++}`);
    };
    expect(own.rows(sql, { isPausing: true, duringPause })).toEqual(expected);
    expect(round).toBeGreaterThan(0);
    const filters = ['SELECT * FROM note WHERE owner = :sender'];
    const caller = { identity: callerIdentity(1n), rights: strangerRights };
    const seen = labOf(indexes, filters).rows(sql, { caller });
    const bare = labOf(['unique:btree:id'], filters);
    const named = sql.replaceAll(/fox'|rare7'/g, "$&, 'english'");
    expect(seen).toEqual(bare.rows(named, { caller }));
    expect(seen).not.toEqual(expected);
  });

  it('finds only what the caller can read', () => {
    const guarded = labOf(indexes, ['SELECT * FROM note WHERE owner = :sender']);
    const caller = { identity: callerIdentity(1n), rights: strangerRights };
    const sql = "SELECT id FROM note WHERE search(body, 'rare7 OR fox*')";
    expect(guarded.rows(sql, { caller })).toEqual([[7], [100]]);
    expect(guarded.rows(sql).length).toBe(5);
  });

  it('fails for a query beyond its bounds as a scan does', () => {
    const long = `search(body, '${'a'.repeat(5_000)}')`;
    expect(refusal(() => ids(long))).toMatch(/more than 4096 characters/);
    expect(refusal(() => ids(long, { useIndexes: false }))).toMatch(/more than 4096 characters/);
    expect(refusal(() => ids(`${long} AND id = -1`))).toMatch(/literal|ok/);
  });
});
