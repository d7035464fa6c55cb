import { expect, it } from 'vitest';
import type { EngineCapabilities } from '../shared-log/shared-log.ts';
import { EngineCopies } from './engine-copies.ts';

it('[replication 14.6] warns once when the engine comes to keep only one copy', async () => {
  const told: string[] = [];
  const engine: { copies: EngineCapabilities['copies'] | undefined } = { copies: 2 };
  const watch = new EngineCopies({
    engine: {
      capabilities: async () => {
        if (engine.copies === undefined) throw new Error('away');
        return { copies: engine.copies, entryBytesMax: 1, history: '' };
      },
    },
    report: ({ level }) => told.push(level),
  });
  for (const copies of [2, 1, undefined, 1, 3, 'external', 1] as const) {
    engine.copies = copies;
    await watch.look();
    await watch.look();
  }
  expect(told).toEqual(['warn', 'info', 'warn']);
});
