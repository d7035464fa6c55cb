import { expect, it } from 'vitest';
import { RowBag } from './row-bag.ts';
import { inRowOrder, type RowSet, RowSetBuilder, rowCountOf } from './row-set.ts';
import { eachPicked } from './source-changes.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);

function textsIn(rows: RowSet): string[] {
  const texts: string[] = [];
  eachPicked(rows, undefined, (start, end) => {
    texts.push(new TextDecoder().decode(rows.data.subarray(start, end)));
  });
  return texts;
}

function bagOf(counts: readonly (readonly [row: string, count: number])[]): RowBag {
  const bag = new RowBag();
  for (const [row, count] of counts) {
    const bytes = bytesOf(row);
    bag.add(count, bytes, 0, bytes.length);
  }
  return bag;
}

it('returns what was gained and lost as it was first added', () => {
  const { gained, lost } = bagOf([
    ['b', 2],
    ['d', -1],
    ['a', 1],
    ['b', -1],
    ['c', 1],
    ['c', -1],
  ]).surplus();
  expect([textsIn(gained), textsIn(lost)]).toEqual([['b', 'a'], ['d']]);
});

it('returns it in the order of its bytes, a row before those that begin with it', () => {
  const rows = ['b', 'ab', '\u{e9}', 'a', 'abc'] as const;
  const orders = [rows, rows.toReversed(), rows.toSorted()].map((order) => {
    const { gained, lost } = bagOf(
      order.map((row) => [row, row === 'b' ? -2 : 1]),
    ).surplusInOrder();
    return [textsIn(gained), textsIn(lost)];
  });
  const inOrder = [
    ['a', 'ab', 'abc', '\u{e9}'],
    ['b', 'b'],
  ];
  expect(orders).toEqual([inOrder, inOrder, inOrder]);
});

it('puts the rows of a set into that order, of one size or of several', () => {
  for (const rows of [
    ['cc', 'aa', 'bb', 'aa'],
    ['c', 'aa', 'b', 'a'],
  ]) {
    const set = new RowSetBuilder();
    for (const row of rows) set.add(bytesOf(row), 0, row.length);
    const before = set.finish();
    const after = inRowOrder(before);
    expect(textsIn(after)).toEqual(rows.toSorted());
    expect([after.kind, rowCountOf(after)]).toEqual([before.kind, rows.length]);
  }
});
