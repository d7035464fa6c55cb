import { expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import type { Value } from '../../src/values/value.ts';
import { someSeeds } from '../support/share.ts';
import { LiveLab, owner } from './live-lab.ts';

const string = { kind: 'string' } as const;
const u32 = { kind: 'u32' } as const;

/** Watched with an index of the elements, which finds the first rows, while rows come and go. */
const queries = [
  "SELECT * FROM ticket WHERE labels @> ARRAY['a']",
  "SELECT * FROM ticket WHERE labels @> ARRAY['a', 'b'] AND id < 30",
  "SELECT * FROM ticket WHERE NOT (labels @> ARRAY['c'])",
  "SELECT ticket.* FROM tag JOIN ticket ON tag.id = ticket.id WHERE ticket.labels @> ARRAY['b']",
  "SELECT id FROM ticket WHERE 'a' = ANY(labels)",
  "SELECT id FROM ticket WHERE labels && ARRAY['b', 'c'] ORDER BY id LIMIT 5",
  'SELECT tag.name, ticket.id FROM tag JOIN ticket ON tag.name = ANY(ticket.labels)',
  "SELECT COUNT(*) AS n FROM ticket WHERE labels @> ARRAY['c']",
];

const labels = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

it.each(someSeeds(1, 12))(
  '[ease 3.3] watched lists are kept as they are asked (seed %s)',
  (seed) => {
    const random = new Random(seed);
    const lab = new LiveLab([
      {
        name: 'ticket',
        columns: { id: u32, labels: { kind: 'array', element: string } },
        indexes: ['unique:btree:id', 'inverted:labels'],
      },
      {
        name: 'tag',
        columns: { id: u32, name: string },
        indexes: ['unique:btree:id', 'btree:name'],
      },
    ]);
    const rowOf = (id: number): [number, Value] => [
      id,
      Array.from({ length: random.below(4) }, () => random.pick(labels)),
    ];
    const rows = new Map<number, [number, Value]>();
    const step = (count: number) =>
      lab.transact((transaction) => {
        for (let left = count; left > 0; left--) {
          const id = random.below(60);
          const known = rows.get(id);
          if (known !== undefined) lab.remove(transaction, 'ticket', ...known);
          rows.delete(id);
          if (random.chance(0.3)) continue;
          rows.set(id, rowOf(id));
          lab.insert(transaction, 'ticket', ...(rows.get(id) as [number, Value]));
        }
      }, 'commit');
    lab.transact((transaction) => {
      labels.forEach((name, id) => {
        lab.insert(transaction, 'tag', id * 5, name);
      });
    });
    step(80);
    const watched = queries.map((sql) => lab.watch(sql, owner, 'full'));
    for (let turn = 0; turn < 20; turn++) {
      for (const one of watched) lab.requireExact(one);
      step(1 + random.below(6));
    }
    expect(rows.size).toBeGreaterThan(0);
  },
);
