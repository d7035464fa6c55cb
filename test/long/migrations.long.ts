import { expect, it } from 'vitest';
import { runMigration } from '../simulation/migration-model.ts';

const first = Number(process.env.MIGRATIONS_SEED ?? 1_000);
const count = Number(process.env.MIGRATIONS_COUNT ?? 2_000);

it('random migrations give what each row gives by itself, cut at every write and every slice', async () => {
  const cut = { old: 0, next: 0, cancelled: 0 };
  let updated = 0;
  for (let seed = first; seed < first + count; seed++) {
    const { outcome, old, next, cancelled } = await runMigration(seed, 'every');
    if (outcome === 'updated') updated++;
    cut.old += old;
    cut.next += next;
    cut.cancelled += cancelled;
  }
  console.log(`${count} pairs from seed ${first}, ${updated} updated: ${JSON.stringify(cut)}`);
  expect(updated).toBeGreaterThan(count / 2);
}, 3_600_000);
