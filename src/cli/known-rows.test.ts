import { expect, it } from 'vitest';
import { KnownRows } from './known-rows.ts';

it('[cli 3.3] only what changed while the connection was broken is shown', () => {
  const known = new KnownRows();
  known.apply([{ table: 'a', deletes: [], inserts: ['1', '2', '2'] }]);
  known.apply([{ table: 'e', deletes: [], inserts: ['event'], isEvent: true }]);
  known.apply([{ table: 'b', deletes: [], inserts: ['x'] }]);
  known.apply([{ table: 'a', deletes: ['1'], inserts: ['3'] }]);
  const all = [
    { table: 'a', deletes: [], inserts: ['2', '3', '4', '4'] },
    { table: 'b', deletes: [], inserts: ['x'] },
  ];
  expect(known.changesTo(all)).toEqual([{ table: 'a', deletes: ['2'], inserts: ['4', '4'] }]);
  known.apply(known.changesTo(all));
  expect(known.changesTo(all)).toEqual([]);
  expect(known.changesTo([])).toEqual([
    { table: 'a', deletes: ['2', '3', '4', '4'], inserts: [] },
    { table: 'b', deletes: ['x'], inserts: [] },
  ]);
});
