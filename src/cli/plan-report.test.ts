import { describe, expect, it } from 'vitest';
import { type Trial, trialText } from './plan-report.ts';

const nothing: Trial = {
  tables: [],
  conflicts: [],
  assertions: [],
  failure: null,
  clients_disconnected: 0,
  memory_bytes: 0,
  seconds: 0.001,
  online: false,
};

describe('a trial run as people see it', () => {
  it('[living 5.10] shows rows before and after, also of several tables', () => {
    const split = {
      before: 'user',
      after: 'person',
      rows_before: 2,
      rows_after: 1,
      samples: [
        {
          before: { id: 1, name: 'Ada L' },
          after: [
            { table: 'person', row: { id: 1, first: 'Ada' } },
            { table: 'surname', row: null },
          ],
        },
        { before: { id: 2, name: '' }, after: [] },
      ],
    };
    const made = { before: null, after: 'surname', rows_before: 0, rows_after: 1, samples: [] };
    const gone = { before: 'log', after: null, rows_before: 7, rows_after: 0, samples: [] };
    expect(trialText({ ...nothing, tables: [split, made, gone] })).toBe(
      `Tried on the rows of this moment, and thrown away:
  user → person: 2 rows, 1 row afterwards
    {"id":1,"name":"Ada L"}
      → {"id":1,"first":"Ada"}
      → surname (a long row)
    {"id":2,"name":""}
      → no row
  surname: new, 1 row
  log: 7 rows, dropped

0 clients are disconnected. It takes about 0 bytes of memory and 0.001 s; calls wait meanwhile.`,
    );
  });

  it('[living 5.10] counts no rows afterwards where it failed', () => {
    const counts = { rows_before: 3, rows_after: 0, samples: [] };
    const changed = { before: 'user', after: 'person', ...counts };
    const made = { before: null, after: 'surname', ...counts };
    const gone = { before: 'log', after: null, ...counts };
    const text = trialText({ ...nothing, tables: [changed, made, gone], failure: 'no name' });
    expect(text.split('\n').slice(1, 4)).toEqual([
      '  user → person: 3 rows',
      '  surname: new',
      '  log: 3 rows, dropped',
    ]);
  });

  it('[living 5.10] shows conflicts, assertions and the failure', () => {
    const conflict = {
      table: 'user',
      constraint: 'user_email_key',
      columns: ['email'],
      groups: [{ value: '"a@b"', rows: 3 }],
      more: 2,
    };
    const text = trialText({
      ...nothing,
      conflicts: [conflict],
      assertions: [
        { migration: '0002-a', text: 'all have a name', holds: true },
        { migration: '0003-b', text: 'no sum has changed', holds: false },
      ],
      failure: 'no sum has changed: it does not hold',
      clients_disconnected: 1,
      memory_bytes: 2048,
      online: true,
    });
    expect(text.split('\n').slice(1)).toEqual([
      '  no rows are touched',
      '',
      'Rows that are equal where none may be:',
      '  user_email_key, [email] of table user',
      '    "a@b" appears 3 times',
      '    and 2 more',
      '',
      'Assertions:',
      '  ✓ 0002-a: all have a name',
      '  ✗ 0003-b: no sum has changed',
      '',
      expect.stringMatching(/^1 client is disconnected\. .* 2 KiB .* 0.001 s; calls go on mean/),
      '',
      'It would fail: no sum has changed: it does not hold',
    ]);
  });

  it('[living 5.10] shows whether going back works, loses or changes rows', () => {
    const back = {
      ...{ possible: true, reason: null, tried: true, migrations: ['0002-b', '0001-a'] },
      ...{ tables: [], conflicts: [], assertions: [], lost: [], changed: [], seconds: 0 },
    };
    const linesOf = (more: Partial<typeof nothing.back>) =>
      trialText({ ...nothing, back: { ...back, ...more } })
        .split('\n')
        .slice(5);
    const tried = [
      'Then the `down` steps of 0002-b, 0001-a were tried on that, and thrown away:',
      '  no rows are touched',
      '',
    ];
    const all = 'Going back works. All rows come back as they are.';
    expect(linesOf({})).toEqual([...tried, all]);
    expect(linesOf({ changed: [{ table: 'user', rows: 1 }] })).toEqual([
      ...tried,
      'Going back works, but these rows do not come back as they are:',
      '  user: 1 row',
    ]);
    expect(linesOf({ changed: null })).toEqual([
      ...tried,
      'Going back works. There are too many rows to compare those that come back.',
    ]);
    expect(linesOf({ possible: false, reason: 'no' })).toEqual([
      ...tried,
      'Going back would fail: no',
    ]);
    const lost = [
      { table: 'user', column: 'age', rows: 2 },
      { table: 'log', column: null, rows: 1 },
    ];
    expect(linesOf({ possible: false, tried: false, lost })).toEqual([
      'Going back would lose:',
      '  column age of table user: 2 rows',
      '  table log: 1 row',
    ]);
    expect(linesOf({ tried: false })).toEqual(['Going back would lose nothing.']);
  });

  it('[living 5.10] compares the numbers of rows where there are too many to compare', () => {
    const renamed = { before: 'user', after: 'person', samples: [] };
    const kept = { before: 'note', after: 'note', rows_before: 5, rows_after: 5, samples: [] };
    const backwards = {
      before: 'person',
      after: 'user',
      rows_before: 9,
      rows_after: 4,
      samples: [],
    };
    const back = {
      ...{ possible: true, reason: null, tried: true, migrations: ['0001-a'] },
      ...{ tables: [backwards, kept], conflicts: [], assertions: [], lost: [] },
      ...{ changed: null, seconds: 0 },
    };
    const tables = [{ ...renamed, rows_before: 9, rows_after: 9 }, kept];
    expect(
      trialText({ ...nothing, tables, back })
        .split('\n')
        .slice(-2),
    ).toEqual([
      'Going back works, but not with the rows of now:',
      '  user: 9 rows now, 4 rows then',
    ]);
  });
});
