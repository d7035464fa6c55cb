import { expect, it } from 'vitest';
import { callerIdentity } from '../values/identity-roles.ts';
import { payersOf } from './payers.ts';

const known = { identity: callerIdentity(0xabn), isAnonymous: false };

it('charges a known caller by its identity and its network', () => {
  const paying = { identity: 'identity ab', network: 'network 2001:db8:0:0::/64' };
  expect(payersOf(known, '2001:db8::7')).toEqual(paying);
});

it('charges known callers of this machine by their identities alone', () => {
  expect(payersOf(known, '127.0.0.1')).toEqual({ identity: 'identity ab', network: undefined });
});

it.each([{ ...known, isAnonymous: true }, undefined])(
  'charges a caller without a token by its network, also on this machine (%s)',
  (caller) => {
    const paying = { identity: undefined, network: 'network 127.0.0.1' };
    expect(payersOf(caller, '127.0.0.1')).toEqual(paying);
  },
);
