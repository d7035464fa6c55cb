import { describe, expect, it } from 'vitest';
import type { ShownLog } from '../service/repair.ts';
import { keepQuestion, logText } from './repair-text.ts';

const figures = (first: number, last: number) => ({
  commits: last - first + 1,
  rows_inserted: last - first + 1,
  rows_deleted: 0,
  first_offset: first,
  last_offset: last,
  first_time: '2026-01-01T00:00:00.000Z',
  last_time: '2026-01-01T00:00:01.000Z',
});

const tail = (number: number, canBeKept: boolean) => ({
  ...figures(11, 10 + number),
  tail: number,
  can_be_kept: canBeKept,
  is_first: number === 1,
  files: [],
});

const forked = (isPartingKnown: boolean, ...canBeKept: boolean[]): ShownLog => ({
  database: 'c200',
  log: '/data/databases/c200/log-1',
  state: 'forked',
  reason: 'forked history',
  common: { ...figures(1, 10), files: [] },
  parting_known: isPartingKnown,
  tails: canBeKept.map((can, index) => tail(index + 1, can)),
  rest: { ...figures(1, 0), first_offset: null, last_offset: null },
});

const named = { database: 'my-db', folder: '' };

describe('a forked history', () => {
  it('asks before a part is kept, with what goes', () => {
    const log = forked(true, true, true);
    expect(keepQuestion(log, 'common')).toMatch(/^The log will end after offset 10; 3 commits are/);
    expect(keepQuestion(log, 2)).toMatch(/^The log will end after offset 12; 1 commit is/);
    expect(logText(log, named)).toContain('--keep common');
  });

  it('offers no common part, and does not ask, where nothing says where it ends', () => {
    const log = forked(false, true, false);
    expect(logText(log, named)).not.toContain('--keep common');
    expect(logText(log, named)).toContain('--keep 1');
    expect([keepQuestion(log, 'common'), keepQuestion(log, 2)]).toEqual([undefined, undefined]);
    expect(keepQuestion(log, 1)).toContain('after offset 11');
  });

  it('offers the common part where no tail can be kept', () => {
    const log = forked(false, false, false);
    expect(logText(log, named)).toContain('--keep common');
    expect(keepQuestion(log, 'common')).toContain('after offset 10');
  });
});
