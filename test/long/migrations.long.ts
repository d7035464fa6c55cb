import { expect, it } from 'vitest';
import { runMigration } from '../simulation/migration-model.ts';

const first = Number(process.env.MIGRATIONS_SEED ?? 1_000);
const count = Number(process.env.MIGRATIONS_COUNT ?? 2_000);

it('random migrations give what each row gives by itself, whatever is cut', async () => {
  let updated = 0;
  for (let seed = first; seed < first + count; seed++) {
    const { outcome } = await runMigration(seed, 5);
    if (outcome === 'updated') updated++;
  }
  expect(updated).toBeGreaterThan(count / 2);
}, 3_600_000);
