import { expect, it } from 'vitest';
import { Refusal } from '../database/outcome.ts';
import { replyOfError } from './refusal-status.ts';

it('answers for a database that opens with 503, and when to try again', () => {
  const body = { code: 'database.opening', message: 'half of it', retryAfterSeconds: 7 } as const;
  expect(replyOfError(new Refusal(body))).toMatchObject({
    status: 503,
    body: 'half of it',
    headers: { 'retry-after': '7' },
  });
});

it('leaves that out where it is not known', () => {
  const refused = new Refusal({ code: 'database.overloaded', message: 'full' });
  expect(replyOfError(refused)?.headers).not.toHaveProperty('retry-after');
});
