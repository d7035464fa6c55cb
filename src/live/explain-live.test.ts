import { describe, expect, it } from 'vitest';
import { LiveLab } from '../../test/live/live-lab.ts';
import { ownerRights, strangerRights } from '../sql/rights.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { identityType } from '../values/special-types.ts';
import { explainLive } from './explain-live.ts';

const u32 = { kind: 'u32' } as const;
const columns = { id: u32, project: u32 };
const ofMembers = (name: string) =>
  `SELECT ${name}.* FROM ${name} JOIN member ON ${name}.project = member.project ` +
  'WHERE member.who = :sender';
const lab = new LiveLab(
  [
    { name: 'task', columns, indexes: ['unique:hash:id', 'btree:project'] },
    { name: 'note', columns, indexes: ['btree:project'] },
    { name: 'ping', columns, isEvent: true },
    {
      name: 'member',
      columns: { project: u32, who: identityType },
      indexes: ['btree:project', 'btree:who'],
    },
    { name: 'guest', columns: { project: u32, who: identityType }, indexes: ['btree:who'] },
  ],
  { task: [ofMembers('task')], note: [ofMembers('note'), 'SELECT * FROM note WHERE id = 1'] },
);

function explained(sql: string, rights = strangerRights): readonly string[] {
  return explainLive(lab.live, sql, { identity: callerIdentity(7n), rights });
}

const incremental = 'incremental: each commit is followed by its changed rows';
const once = 'kept once for all callers with the same rights';
const forEach = 'kept for each caller';
const full = 'needs a connection with dialect=full';
const again = (tables: string, reason: string) => [
  `run again at each commit that changes ${tables}: ${reason}`,
  once,
  full,
];

describe('[ease 3.10] EXPLAIN LIVE', () => {
  it('tells how changed rows find a query', () => {
    expect(explained('SELECT * FROM guest')).toEqual([
      incremental,
      '  changed rows of guest all concern the query',
      once,
    ]);
    expect(explained('SELECT * FROM guest WHERE who = :sender')).toEqual([
      incremental,
      '  changed rows of guest find the query by the value of guest.who',
      forEach,
    ]);
    const [, byRange] = explained('SELECT * FROM guest WHERE project > 3');
    expect(byRange).toBe('  changed rows of guest find the query by the range of guest.project');
    const [, tested] = explained('SELECT * FROM guest WHERE project = 1 OR project = 2');
    expect(tested).toBe('  changed rows of guest are all tested');
  });

  it('tells that callers behind a filter that joins share its evaluation', () => {
    expect(explained('SELECT * FROM task')).toEqual([
      incremental,
      '  changed rows of task find callers by member.who, once for all of them',
      '  changed rows of member find the query by the value of member.who',
      forEach,
    ]);
    expect(explained('SELECT * FROM task', ownerRights)).toHaveLength(3);
  });

  it('tells so of groups of those rows', () => {
    expect(explained('SELECT project, count(*) AS n FROM task GROUP BY project')).toEqual([
      incremental,
      '  changed rows of task find callers by member.who, once for all of them; ' +
        'the join is evaluated for each caller who is found',
      '  changed rows of member find the query by the value of member.who',
      '  the groups are kept, and changed by those rows',
      forEach,
      full,
    ]);
  });

  it('names the index without which they do not', () => {
    const sql =
      'SELECT member.* FROM member JOIN guest ON member.project = guest.project ' +
      'WHERE guest.who = :sender';
    expect(explained(sql)[1]).toBe(
      '  changed rows of member are joined for each caller alone: no index on guest.project',
    );
  });

  it('tells what is kept', () => {
    const joined = 'FROM task JOIN member ON task.project = member.project';
    const sql = `SELECT task.project, count(*) AS n ${joined} WHERE member.who = :sender
      GROUP BY task.project ORDER BY n LIMIT 3`;
    expect(explained(sql, ownerRights)).toEqual([
      incremental,
      '  changed rows of task find callers by member.who, once for all of them; ' +
        'the join is evaluated for each caller who is found',
      '  changed rows of member find the query by the value of member.who',
      '  the groups are kept, and changed by those rows',
      '  the first rows of the order are kept',
      forEach,
      full,
    ]);
  });

  it.each([
    [
      'SELECT id FROM note UNION SELECT 1',
      'note',
      'it combines queries by UNION, INTERSECT or EXCEPT',
    ],
    ['SELECT id FROM note WHERE id IN (SELECT id FROM task)', 'note, task', 'it has a subquery'],
    ['SELECT a.id FROM note a LEFT JOIN note b ON a.id = b.id', 'note', 'it has an outer join'],
    [
      'SELECT a.id FROM note a JOIN note b ON a.id < b.id',
      'note',
      'its tables are not joined by equal columns, floats and recursive values aside',
    ],
    ['SELECT id FROM note WHERE 1 / id = 1', 'note', 'a condition can fail'],
    ['SELECT median(id) AS m FROM note', 'note', 'median needs all values of a group'],
    ['SELECT row_number() OVER (ORDER BY id) AS n FROM note', 'note', 'it has window functions'],
    ['SELECT n FROM (SELECT id AS n FROM note LIMIT 1) AS s', 'note', 'it has a query in FROM'],
    ['SELECT note.id FROM note, unnest(ARRAY[1, 2]) AS u(n)', 'note', 'it has unnest'],
    [
      'SELECT a.id FROM note a JOIN note b ON a.id = b.id JOIN note c ON c.id = a.id',
      'note',
      'it joins more than two tables',
    ],
  ])('tells why %s is run again', (sql, tables, reason) => {
    expect(explained(sql, ownerRights)).toEqual(again(tables, reason));
  });

  it('tells that a query without tables never changes', () => {
    expect(explained('SELECT 1')).toEqual(['never changes: it reads no table', once, full]);
  });

  it('tells what several filters cost', () => {
    expect(explained('SELECT * FROM note')).toEqual([
      incremental,
      '  changed rows of note find callers by member.who, once for all of them',
      '  changed rows of member find the query by the value of member.who',
      '  changed rows of note find the query by the value of note.id',
      '  rows that several filters let through are kept, and told once',
      forEach,
    ]);
    expect(explained('SELECT count(*) AS n FROM note')[0]).toBe(
      'run again at each commit that changes note, member: ' +
        'note has several row filters, of which one joins',
    );
  });

  it('tells what cannot be watched', () => {
    expect(explained('SELECT now() AS t FROM note')).toEqual([
      'cannot be watched: A watched query cannot use now(): its rows would change without a commit',
    ]);
    expect(explained('SELECT count(*) AS n FROM ping')[0]).toMatch(/^cannot be watched: Rows of /);
  });
});
