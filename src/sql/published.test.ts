import { expect, it } from 'vitest';
import { identityToHex } from '../values/identity.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { sharedViewText } from './published.ts';

it('[ease 3.10] a query of a view has :sender where it names its caller', () => {
  const caller = callerIdentity(0xabn);
  const hex = identityToHex(caller);
  const shared = (text: string) => sharedViewText(text, caller);
  expect(shared(`SELECT * FROM t WHERE a = 0x${hex} AND b <> 0x${hex.toUpperCase()}`)).toBe(
    'SELECT * FROM t WHERE a = :sender AND b <> :sender',
  );
  const others = [
    `SELECT * FROM t WHERE a = '0x${hex}'`,
    `SELECT * FROM "0x${hex}" WHERE a = 0xab`,
    `SELECT * FROM t -- 0x${hex}`,
    `SELECT * FROM t WHERE a = 0x${identityToHex(callerIdentity(0xacn))}`,
  ];
  for (const text of others) expect(shared(text)).toBe(text);
});
