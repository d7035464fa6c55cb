import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { CoreUnderTest, rowsIn } from '../../../test/support/core-under-test.ts';
import { freshRows } from '../../../test/support/fresh-view.ts';
import { someSeeds } from '../../../test/support/share.ts';
import { buildModule } from '../../bundle/build-module.ts';
import { Random } from '../../testing/random.ts';
import type { ProgramSource } from '../program-source.ts';

const folder = fileURLToPath(new URL('../../../test/fixtures/modules/views', import.meta.url));
let program: ProgramSource;
beforeAll(async () => {
  program = { kind: 'js', bytes: (await buildModule(folder)).program };
});

const callers = [0xa1n, 0xa2n, 0xa3n];
const anonymous = [
  'hero_one',
  'everyone',
  'totals',
  'strong',
  'exact',
  'secrets',
  'keyed',
  'in_zone_two',
  'secret_zones',
];

/** The heroes as texts by id: the simplest model of the changes of a step. */
function heroesOf(database: CoreUnderTest): Map<number, { owner: bigint; text: string }> {
  const table = database.core.store.tableByName('hero');
  if (table === undefined) throw new Error('there is a table');
  const rows = rowsIn(table) as unknown as [number, [bigint], number, number][];
  return new Map(
    rows.map(([id, [owner], zone, level]) => [id, { owner, text: `${owner} ${zone} ${level}` }]),
  );
}

type Heroes = ReturnType<typeof heroesOf>;

/** How often each view must have run, given the difference. */
function expectedRuns(before: Heroes, after: Heroes, live: ReadonlySet<string>): string[] {
  const ids = new Set([...before.keys(), ...after.keys()]);
  const changed = [...ids].filter((id) => before.get(id)?.text !== after.get(id)?.text);
  const owners = new Set(changed.flatMap((id) => [before.get(id)?.owner, after.get(id)?.owner]));
  const runs = callers
    .filter((caller) => live.has(`my_heroes ${caller}`) && owners.has(caller))
    .map(() => 'myHeroes runs');
  if (live.has('hero_one') && changed.includes(1)) runs.push('heroOne runs');
  if (live.has('everyone') && changed.length > 0) runs.push('everyone runs');
  return runs.sort();
}

function step(database: CoreUnderTest, random: Random): void {
  const id = random.below(4);
  const owner = callers[random.below(3)] ?? 0n;
  switch (random.below(9)) {
    case 0:
      database.call('refuse', [id]);
      return;
    case 1:
      database.call('remove', [id]);
      return;
    case 2:
      database.call('set_secret', [id, String(random.below(3))]);
      return;
    case 3:
      // Half of the time the view `keyed` makes it fail, if it is live.
      database.call('set_control', ['keyed', random.below(2)]);
      return;
    case 4:
      database.sql(`DELETE FROM hero WHERE zone = ${random.below(3)}`);
      return;
    case 5:
      database.sql(`UPDATE hero SET level = ${random.below(20)} WHERE zone = ${random.below(3)}`);
      return;
    default:
      database.run('put', id, owner, random.below(3), random.below(20));
  }
}

/** One database through `steps` random transactions, checked after each. */
async function wander(seed: number, steps: number): Promise<void> {
  const random = new Random(seed);
  const database = await CoreUnderTest.of(program);
  const live = new Set<string>();
  const ask = (name: string, caller = 0n): void => {
    try {
      database.rows(name, caller);
      live.add(anonymous.includes(name) ? name : `${name} ${caller}`);
    } catch (error) {
      expect(String(error)).toContain('two different rows');
    }
  };
  for (let at = 0; at < steps; at += 1) {
    if (random.below(4) === 0) ask('my_heroes', callers[random.below(3)]);
    if (random.below(4) === 0) ask(anonymous[random.below(anonymous.length)] ?? '');
    const before = heroesOf(database);
    database.takeLines();
    step(database, random);
    const ran = database.takeLines().filter((line) => line.endsWith(' runs'));
    expect(ran.sort()).toEqual(expectedRuns(before, heroesOf(database), live));
    for (const instance of live) {
      const [name = '', caller = '0'] = instance.split(' ');
      const sender = BigInt(caller);
      expect(rowsIn(database.table(name, sender))).toEqual(freshRows(database, name, sender));
    }
  }
  expect(database.core.views.count).toBe(live.size);
}

describe('after random transactions', () => {
  for (const seed of someSeeds(1, 4)) {
    it(`[abi 11.3] every result is that of a fresh evaluation (seed ${seed})`, async () => {
      await wander(seed, 250);
    });
  }
});
