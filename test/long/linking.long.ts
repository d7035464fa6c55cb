import { afterAll, beforeAll, describe, it } from 'vitest';
import { bombs, deep } from '../service/hard-programs.ts';
import { type GoodPrograms, goodPrograms, LinkingService } from '../service/linking-service.ts';

/** Every program that is hard to link, one after another, to one service. */
describe('linking of a hostile program', () => {
  let linking: LinkingService;
  let good: GoodPrograms;

  beforeAll(async () => {
    good = await goodPrograms();
    linking = await LinkingService.start();
    await linking.publish('neighbour', good.one);
  });
  afterAll(() => linking.end());

  it.each(Object.keys(bombs))('keeps nobody from publishing or calling: %s', async (name) => {
    await linking.withstand(name, bombs[name]?.() ?? '', good);
  });

  it.each(Object.keys(deep))('ends in words, and ends no worker: %s', async (name) => {
    await linking.withstandDeep(name, deep[name] ?? '');
  });

  it('leaves the service and its rows whole', () => linking.expectWhole());
});
