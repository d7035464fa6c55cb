import { expect, it } from 'vitest';
import { TurnWriter } from './turn-writer.ts';

it('has no sync in flight when one has failed, so that a database that closes ends', async () => {
  const failures: unknown[] = [];
  const log = {
    hasUnwritten: true,
    write: () => undefined,
    sync: () => Promise.reject(new Error('the engine is gone')),
  };
  const core = {
    clock: { monotonicMillis: () => 0 },
    log,
    store: { takeSequenceMarks: () => [], offset: 1 },
    full: undefined,
  } as unknown as ConstructorParameters<typeof TurnWriter>[0];
  const writer = new TurnWriter(core, {
    owner: { durable: () => undefined },
    progress: { writing: () => undefined },
    isOver: () => failures.length > 0,
    failed: (error) => failures.push(error),
    wake: () => undefined,
  });
  writer.write(undefined);
  writer.startSync();
  await writer.settled();
  expect(failures).toEqual([new Error('the engine is gone')]);
  expect(writer.isDurable).toBe(false);
});
