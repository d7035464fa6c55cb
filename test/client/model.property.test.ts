import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Hero,
  hero,
  liveRig,
  type SetUpdate,
  settled,
  shout,
  tableRows,
  update,
} from './rig.ts';

/**
 * A server that says nothing but the truth, in the smallest form: what each of three sets matches is
 * a bag of row images. Random steps change the bags; the client must know the same.
 */
type Bag = Map<string, number>;

const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('change' as const), seed: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const), seed: fc.nat() }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('toggle' as const), seed: fc.nat({ max: 2 }) }),
    },
  ),
  { maxLength: 40 },
);

/** The database: heroes by id, shouts as texts with the number of sets' derivations fixed. */
class Model {
  readonly heroes = new Map<number, string>();
  readonly shouts = new Set<number>();

  /** The rows of a set as `hero:id:nick` and `shout:n`, with multiplicity. */
  bagOf(set: number): Bag {
    const bag: Bag = new Map();
    for (const [id, nick] of this.heroes) {
      // Set 0 has all, set 1 those with an even length of name, set 2 odd ids, and those twice.
      if (set === 0 || (set === 1 && nick.length % 2 === 0)) bag.set(`hero:${id}:${nick}`, 1);
      if (set === 2 && id % 2 === 1) bag.set(`hero:${id}:${nick}`, 2);
    }
    for (const at of this.shouts) if (set !== 1) bag.set(`shout:${at}`, set === 2 ? 3 : 1);
    return bag;
  }

  change(seed: number): void {
    let state = seed;
    const next = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    for (let count = next(4); count >= 0; count -= 1) {
      const id = next(8);
      const choice = next(3);
      if (choice === 0) this.heroes.delete(id);
      else this.heroes.set(id, `n${'x'.repeat(next(3))}${id}`);
      if (choice === 1 && !this.shouts.delete(id)) this.shouts.add(id);
    }
  }
}

function rowOf(key: string): { table: string; row: object } {
  const [table = '', first = '', nick = ''] = key.split(':');
  return table === 'hero'
    ? { table, row: hero(Number(first), { nick }) }
    : { table, row: shout('hall', Number(first)) };
}

function rowsIn(bag: Bag, table: string): object[] {
  return [...bag].flatMap(([key, count]) => {
    const { table: of, row } = rowOf(key);
    return of === table ? Array.from({ length: count }, () => row) : [];
  });
}

function updatesBetween(querySetId: number, before: Bag, after: Bag): SetUpdate[] {
  return ['hero', 'shout'].flatMap((table) => {
    const surplus = (from: Bag, other: Bag): Bag =>
      new Map(
        [...from].flatMap(([key, count]) => {
          const more = count - (other.get(key) ?? 0);
          return more > 0 ? [[key, more] as const] : [];
        }),
      );
    const inserts = rowsIn(surplus(after, before), table);
    const deletes = rowsIn(surplus(before, after), table);
    if (inserts.length + deletes.length === 0) return [];
    return [{ querySetId, table, inserts, deletes }];
  });
}

describe('the cache against a model', () => {
  it('[client-sdk 5] knows what the sets match after any changes, losses and unsubscribes', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (given) => {
        const rig = await liveRig();
        const { client } = rig;
        const model = new Model();
        const live = new Map<number, { set: number; unsubscribe: () => void }>();
        let nextId = 0;
        // What callbacks say adds up to the rows: followed by hand.
        const followed = new Map<number, string>();
        client.db.hero.onInsert((_ctx, row) => {
          expect(followed.has(row.id)).toBe(false);
          followed.set(row.id, row.nick);
        });
        client.db.hero.onUpdate((_ctx, old, row) => {
          expect(followed.get(row.id)).toBe(old.nick);
          followed.set(row.id, row.nick);
        });
        client.db.hero.onDelete((_ctx, row) => {
          expect(followed.get(row.id)).toBe(row.nick);
          followed.delete(row.id);
        });
        const apply = async (id: number, set: number) => {
          const bag = model.bagOf(set);
          const tables = ['hero', 'shout'].map((name) => tableRows(name, ...rowsIn(bag, name)));
          await rig.socket.apply(id, ...tables);
        };
        for (const { kind, seed } of given) {
          if (kind === 'toggle') {
            const open = [...live].find(([, { set }]) => set === seed);
            if (open === undefined) {
              const id = nextId;
              nextId += 1;
              const { unsubscribe } = client.subscribe(`set ${seed}`);
              live.set(id, { set: seed, unsubscribe });
              await settled();
              await apply(id, seed);
            } else {
              const [querySetId, { unsubscribe }] = open;
              unsubscribe();
              await settled();
              live.delete(querySetId);
              const tables = undefined;
              await rig.socket.send({
                kind: 'unsubscribeApplied',
                requestId: 0,
                querySetId,
                tables,
              });
            }
          } else if (kind === 'change') {
            const before = new Map([...live].map(([id, { set }]) => [id, model.bagOf(set)]));
            model.change(seed);
            const updates = [...live].flatMap(([id, { set }]) => {
              return updatesBetween(id, before.get(id) ?? new Map(), model.bagOf(set));
            });
            if (updates.length > 0) await rig.socket.send(update(...updates));
          } else {
            await rig.socket.drop();
            model.change(seed);
            await rig.platform.advance(20_000);
            await rig.socket.open();
            await rig.socket.welcome();
            for (const [id, { set }] of live) await apply(id, set);
          }
          const expected = new Set(
            [...live.values()].flatMap(({ set }) => [...model.bagOf(set).keys()]),
          );
          const heroes = [...client.db.hero].map((row: Hero) => `hero:${row.id}:${row.nick}`);
          const shouts = [...client.db.shout].map(
            (row) => `shout:${row.sentAt.microsSinceUnixEpoch}`,
          );
          expect(rig.platform.reported).toEqual([]);
          expect([...heroes, ...shouts].sort()).toEqual([...expected].sort());
          expect([...followed].map(([id, nick]) => `hero:${id}:${nick}`).sort()).toEqual(
            heroes.sort(),
          );
          for (const row of client.db.hero) expect(client.db.hero.nick.find(row.nick)).toBe(row);
        }
        client.disconnect();
      }),
      { numRuns: 150 },
    );
  });
});
