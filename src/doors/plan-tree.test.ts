import { describe, expect, it } from 'vitest';
import { isExplain, planTree } from './plan-tree.ts';

describe('[http 18.5] a plan as a tree', () => {
  it('has a step for each line, below that which reads it', () => {
    const lines = [
      'limit 10 (about 10 rows)',
      '  output id, text (about 60 rows)',
      "    join by index: message.text = ': (1, 2)' (about 60 rows)",
      '      scan room: room.open = true (about 3 rows)',
      '      look up message by message_room_idx_btree (room = room.id) (about 20 rows)',
      'common table 1',
      '  output id (about all rows)',
    ];
    expect(planTree(lines)).toEqual({
      ...{ operator: 'limit', detail: '10', estimated_rows: 10 },
      children: [
        {
          ...{ operator: 'output', detail: 'id, text', estimated_rows: 60 },
          children: [
            {
              operator: 'join by index',
              detail: "message.text = ': (1, 2)'",
              estimated_rows: 60,
              children: [
                {
                  ...{ operator: 'scan', detail: 'room: room.open = true', estimated_rows: 3 },
                  children: [],
                },
                {
                  operator: 'look up',
                  detail: 'message by message_room_idx_btree (room = room.id)',
                  estimated_rows: 20,
                  children: [],
                },
              ],
            },
          ],
        },
        {
          ...{ operator: 'common table', detail: '1' },
          children: [{ operator: 'output', detail: 'id', children: [] }],
        },
      ],
    });
  });

  it('has what was measured, also where the estimate is hidden', () => {
    const [line] = ['distinct (about 5 rows; really 7 rows in 2 loops, 0.125 ms)'];
    expect(planTree([line ?? ''])).toEqual({
      ...{ operator: 'distinct', detail: '', estimated_rows: 5, rows: 7, loops: 2, millis: 0.125 },
      children: [],
    });
    expect(planTree(['sort, the first rows only: a (really 3 rows in 1 loops, 1.000 ms)'])).toEqual(
      {
        ...{ operator: 'sort, the first rows only', detail: 'a', rows: 3, loops: 1, millis: 1 },
        children: [],
      },
    );
    expect(planTree(['filter: t.a = f(b)'])).toEqual({
      ...{ operator: 'filter', detail: 't.a = f(b)', children: [] },
    });
  });

  it('is of a statement that begins with EXPLAIN', () => {
    expect(isExplain('explain analyze SELECT 1')).toBe(true);
    expect(isExplain('  -- how?\n/* or so */ EXPLAIN\nSELECT 1')).toBe(true);
    expect(isExplain('/* EXPLAIN */ SELECT 1')).toBe(false);
    expect(isExplain('-- EXPLAIN')).toBe(false);
    expect(isExplain('explained')).toBe(false);
    expect(isExplain('/*'.repeat(100_000))).toBe(false);
  });

  it('keeps lines of other kinds whole, and is absent without any', () => {
    const step = planTree(['incremental: each commit is followed by its changed rows', '  more']);
    expect(step).toMatchObject({
      operator: 'incremental',
      detail: 'each commit is followed by its changed rows',
      children: [{ operator: 'more', detail: '' }],
    });
    expect(planTree([])).toBeUndefined();
  });
});
