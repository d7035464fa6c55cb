import { afterAll, beforeAll, describe, it } from 'vitest';
import { pages } from '../../console/src/pages/pages.ts';
import { ConsoleStage, hasChromium, someForms, stageMillis } from './console-support.ts';
import { marketModule } from './market-module.ts';

describe.skipIf(!hasChromium)('every page of the console', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    // An operator sees every page.
    await stage.restart(['--operator', stage.ownerIdentity]);
    await stage.publish('market', marketModule);
    for (const name of ['Ada', 'Grace', 'Edsger']) {
      await stage.call('market', 'hire', [name, `${name}@example.com`]);
    }
    await stage.call('market', 'fill', [1, 500]);
    await stage.call('market', 'add_oddity', [1, 'round']);
    await stage.call('market', 'note_down', [1, 'for the owner alone']);
  }, stageMillis);

  afterAll(async () => {
    await stage?.close();
  });

  const looks = pages.flatMap((page) =>
    someForms().map((form) => [page.id, form.name, page, form] as const),
  );

  it.each(looks)(
    '[console 1.2, 1.5, 4.3] %s, %s: no errors, no serious finding, nothing too wide',
    async (_id, _form, page, form) => {
      const place = page.scope === 'host' ? page.path : `db/market/${page.path}`;
      const visitor = await stage.visit(place, { form });
      // An operator is told that no repository of backups is set up.
      if (page.id === 'backups') visitor.expected.push(/status of 400/);
      await visitor.page.getByRole('main').waitFor();
      await visitor.page.getByRole('heading', { level: 1 }).first().waitFor();
      await visitor.untilLoaded();
      await visitor.shoot(`${page.id}-${form.name}`);
      await visitor.expectAccessible();
      await visitor.expectNoOverflow();
      visitor.expectNoTroubles();
      await visitor.leave();
    },
  );
});
