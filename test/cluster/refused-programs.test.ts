import { expect, it, onTestFinished } from 'vitest';
import { ask } from '../support/asking.ts';
import { buildText } from '../support/build-text.ts';
import { startPair } from '../support/cluster-pair.ts';
import { roleAt } from '../support/cluster-services.ts';
import { readsModule } from './reads-module.ts';

const throwing =
  "import { schema } from 'reducerdb/server'; export default schema({}); throw new Error('no');";

it('[replication 15.1] a program that is refused leaves nothing to be seen of it', async () => {
  const good = new Uint8Array((await buildText(readsModule)).bytes);
  const { services, a, b, owner, identity } = await startPair('notes', good);
  onTestFinished(() => services.close());
  const body = new Uint8Array((await buildText(throwing)).bytes);
  const seen = () => a.part.roles.size;
  const before = seen();
  for (const name of ['first', 'second']) {
    const put = `/v1/database/${name}?host_type=Js`;
    expect((await ask(a, 'PUT', put, { as: owner, body })).status).toBeGreaterThanOrEqual(400);
  }
  expect(seen()).toBe(before);
  const reset = await ask(a, 'PUT', '/v1/database/notes?host_type=Js&clear=true', {
    as: owner,
    body,
  });
  expect(reset.status).toBeGreaterThanOrEqual(400);
  expect([seen(), roleAt(a, identity), roleAt(b, identity)]).toEqual([
    before,
    'leader',
    'follower',
  ]);
});
