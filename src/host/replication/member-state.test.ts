import { expect, it } from 'vitest';
import type { FollowerRole } from './database-role.ts';
import { SeenRole } from './member-state.ts';

const follower = (offset: number, settledOffset: number): FollowerRole => ({
  ...{ kind: 'follower', term: 3, leader: undefined, isLedElsewhere: true, isAtEnd: true },
  ...{ isWarm: true, seq: 9, end: { position: 8 * offset, chain: 1n, offset }, settledOffset },
});
const broken = { kind: 'broken', reason: 'its shared log is damaged' } as const;
const nothing = { offset: undefined, acknowledgedOffset: undefined, term: 0 };

it('[replication 16.4] a broken copy is said to have what it had when it could be read', () => {
  const seen = new SeenRole(() => 0);
  seen.note(broken, 1);
  expect(seen.state(undefined)).toMatchObject({ role: 'broken', ...nothing });
  seen.note(follower(20, 18), 1);
  seen.note({ kind: 'opening' }, 1);
  const had = { offset: 20, acknowledgedOffset: 18, term: 3 };
  expect(seen.state({ offset: 5, durableOffset: 5 })).toMatchObject({ role: 'opening', ...had });
  seen.note(broken, 1);
  expect(seen.state({ offset: 5, durableOffset: 5 })).toMatchObject({ role: 'broken', ...had });
  // What it led with, its database says itself.
  seen.note({ kind: 'leader', term: 4 }, 1);
  seen.note(broken, 1);
  expect(seen.state({ offset: 31, durableOffset: 30 })).toMatchObject({
    ...{ role: 'broken', offset: 31, acknowledgedOffset: 30, term: 4 },
  });
  // Another generation has another log.
  seen.note(broken, 2);
  expect(seen.state({ offset: 31, durableOffset: 30 })).toMatchObject({
    role: 'broken',
    ...nothing,
  });
});
