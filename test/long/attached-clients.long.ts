import { expect, it } from 'vitest';
import { killOneOf } from '../support/killed-hosts.ts';

it.each(['other', 'leader'] as const)(
  '[replication 12.7, 12.9] of 1,000 connections over three hosts those of the one that is killed (%s) are disconnected, each once',
  async (which) => {
    expect(await killOneOf(1_000, which)).toEqual({
      gone: ['connected,disconnected'],
      stayed: ['connected'],
      answers: ['here committed'],
    });
  },
  600_000,
);
