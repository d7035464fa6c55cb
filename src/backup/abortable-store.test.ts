import { expect, it } from 'vitest';
import { archiveSource, BackupStory, storyRepository } from '../../test/support/backup-story.ts';
import { MemoryStore } from '../../test/support/memory-store.ts';
import { abortableStore } from './abortable-store.ts';
import { DatabaseArchive } from './archive.ts';
import type { ObjectStore } from './object-store.ts';
import { openRepository } from './repository.ts';

const operations = ['put', 'get', 'head', 'list', 'delete', 'replace'] as const;
const never = () => new Promise<never>(() => undefined);
const silent = () => ({ [Symbol.asyncIterator]: () => ({ next: never }) });

/** Does not answer this operation any more, whatever its signal says. */
function stalled(store: ObjectStore, operation: (typeof operations)[number], asked: () => void) {
  return new Proxy(store, {
    get(target, name) {
      if (name === operation) {
        return () => {
          asked();
          return name === 'get' || name === 'list' ? silent() : never();
        };
      }
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

it.each(operations)('[history 5.12] a pass ends although %s is never answered', async (name) => {
  const story = await BackupStory.begin(1);
  const store = new MemoryStore();
  await storyRepository(store);
  const stop = new AbortController();
  let isAsked = false;
  const slow = stalled(store, name, () => {
    isAsked = true;
    setImmediate(() => stop.abort());
  });
  const run = async (through: ObjectStore, signal: AbortSignal) => {
    const repository = await openRepository(abortableStore(through, signal));
    const archive = new DatabaseArchive(repository, 'aa'.repeat(16));
    for (let round = 0; round < 10; round++) {
      await story.work(2);
      const nowMicros = 2_000_000_000_000_000 + round * 10_000_000;
      await archive.pass(archiveSource(story), { nowMicros, signal });
    }
  };
  await run(store, new AbortController().signal);
  await expect(run(slow, stop.signal)).rejects.toThrow('it was cancelled');
  expect(isAsked).toBe(true);
});
