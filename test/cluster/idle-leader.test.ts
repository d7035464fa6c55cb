import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { registryIdentity } from '../../src/host/registry/registry.ts';
import { limits } from '../../src/limits.ts';
import { buildText } from '../support/build-text.ts';
import { startPair } from '../support/cluster-pair.ts';
import { roleAt, until } from '../support/cluster-services.ts';
import { readsModule } from './reads-module.ts';

it.each(['local', 'worker'] as const)(
  '[replication 5.4, 5.7] a leader that was silent, and that nobody asks, hears that another one leads (%s)',
  async (placement) => {
    const body = new Uint8Array((await buildText(readsModule)).bytes);
    const { services, a, b, identity } = await startPair('notes', body, { placement });
    onTestFinished(() => services.close());
    // What it has written is told to followers within that: then it has nothing to append.
    await sleep(2 * limits.settleMillis);
    services.engine.cut('a');
    await until(() => roleAt(b, identity) === 'leader');
    expect(roleAt(a, identity)).toBe('leader');
    services.engine.heal('a');
    await until(() => roleAt(a, identity) === 'follower');
    await until(() => roleAt(a, registryIdentity) === 'follower');
    expect(roleAt(b, identity)).toBe('leader');
  },
);
