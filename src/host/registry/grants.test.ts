import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostOptions } from '../../../test/support/host-options.ts';
import type { Clock } from '../../database/clock.ts';
import { limits } from '../../limits.ts';
import { MachineClock } from '../../node/clock.ts';
import { asOwner, callerIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import { Host } from '../host.ts';
import type { DatabaseRecord } from './database-record.ts';
import type { Loss } from './grants.ts';
import type { HostCaller } from './host-caller.ts';

const ada: HostCaller = { identity: callerIdentity(0xadan), payload: '{}', isAnonymous: false };
const bob: HostCaller = { identity: callerIdentity(0xb0bn), payload: '{}', isAnonymous: false };

const shop: DatabaseRecord = {
  identity: databaseIdentity(0x5b09n),
  owner: asOwner(ada.identity),
  hostType: 'js',
  initialProgram: '',
  createdMicros: 0n,
  isLocked: false,
};

let host: Host;
/** Microseconds that have passed since the host's start, beyond those of the machine. */
let laterMicros: bigint;
let losses: Loss[];

beforeEach(async () => {
  laterMicros = 0n;
  const machine = new MachineClock();
  const clock: Clock = {
    nowMicros: () => machine.nowMicros() + laterMicros,
    monotonicMillis: () => machine.monotonicMillis(),
  };
  host = await Host.open(hostOptions({ clock }));
  losses = [];
  host.grants.onLoss((loss) => losses.push(loss));
});
afterEach(() => host.close());

const note = (id: string, expiresAt?: number) => {
  const capability = {
    database: shop.identity,
    by: ada.identity,
    readOnly: true,
    sqlWrites: false,
  };
  return host.grants.noteToken(ada, shop, { id, capability, expiresAt });
};

describe('limited tokens of a database', () => {
  it('are so many at most, those that have expired not among them', async () => {
    const inAnHour = Math.floor(Date.now() / 1000) + 3600;
    for (let count = 0; count < limits.databaseTokensMax; count += 1) {
      await note(`token ${count}`, inAnHour);
    }
    await expect(note('one more')).rejects.toThrow(/at most 1024 tokens; revoke some$/);
    expect(host.grants.tokens(ada, shop)).toHaveLength(limits.databaseTokensMax);
    expect(host.grants.expiryOf('token 7')).toBe(BigInt(inAnHour) * 1_000_000n);
    laterMicros = 3_601_000_000n;
    expect(host.grants.tokens(ada, shop)).toEqual([]);
    await note('one more');
    expect(host.grants.tokens(ada, shop).map(({ id }) => id)).toEqual(['one more']);
    expect(host.grants.expiryOf('one more')).toBeUndefined();
  }, 90_000);

  it('are revoked once, by whoever may make them', async () => {
    await note('lent');
    const revoke = (caller: HostCaller) => host.grants.revokeToken(caller, shop, 'lent');
    await expect(revoke(bob)).rejects.toThrow(/: create tokens$/);
    const both = await Promise.allSettled([revoke(ada), revoke(ada)]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(host.grants.isRevoked('lent')).toBe(true);
    expect(losses).toEqual([{ kind: 'token', id: 'lent' }]);
  });
});

describe('roles in a database', () => {
  it('are so many at most; who has one may get another', async () => {
    const grant = (identity: bigint) =>
      host.grants.grant(ada, shop, callerIdentity(identity), 'reader');
    for (let count = 1; count <= limits.databaseGrantsMax; count += 1) await grant(BigInt(count));
    await expect(grant(0n)).rejects.toThrow('A database has at most 1024 grants');
    await host.grants.grant(ada, shop, callerIdentity(1n), 'developer');
    await host.grants.revoke(ada, shop, callerIdentity(2n));
    await grant(0n);
    expect(host.grants.list(ada, shop)).toHaveLength(limits.databaseGrantsMax);
  }, 90_000);

  it('are told of when they change, and not when there was none', async () => {
    await host.grants.grant(ada, shop, bob.identity, 'reader');
    await host.grants.revoke(bob, shop, bob.identity);
    await host.grants.revoke(bob, shop, bob.identity);
    const loss = { kind: 'role', database: shop.identity, identity: bob.identity };
    expect(losses).toEqual([loss, loss]);
  });
});
