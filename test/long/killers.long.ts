import { afterAll, beforeAll, describe, it } from 'vitest';
import { KillerArena } from '../hostile/killer-arena.ts';
import { killers } from '../hostile/killers.ts';

/** All compiled forms that end a process, or run past every limit, in databases of their own. */
describe('[living 6.3] every killer in a process of its own', () => {
  const arena = new KillerArena();
  beforeAll(() => arena.open('process', killers()));
  afterAll(() => arena.close());

  for (const killer of killers()) {
    it(`disturbs nobody: ${killer.name}`, async () => {
      await arena.run(killer);
      await arena.expectUndisturbed(killer.name);
    });
  }

  it('leaves every acknowledged row, and the memory as it was', async () => {
    await arena.expectRows();
    await arena.expectMemoryBack();
  });
});
