import { expect, it } from 'vitest';
import { tableId } from '../../schema/ids.ts';
import { endLine } from './end-line.ts';

const endOf = (cause: 'full' | 'sync' | 'budget') => ({
  ...{ cause, message: 'it failed', running: undefined },
  reached: () => false,
});

it('[operating] a database that a full disk kept from being created is not called broken', () => {
  const line = endLine(endOf('full'), 'broken', true);
  expect(line).toEqual(['warn', 'was not created: it failed', { reason: 'full' }]);
});

it('[operating] one that a sync kept from being created is an error, and not broken', () => {
  const line = endLine(endOf('sync'), 'broken', true);
  expect(line).toEqual(['error', 'was not created: it failed', { reason: 'sync' }]);
});

it('[operating] says that it was a scheduled run, for which nobody waits', () => {
  const scheduled = { tableId: tableId(4_097), key: 1n, dueMicros: 2n };
  const line = (next: 'reopens' | 'broken') => {
    return endLine({ ...endOf('budget'), scheduled }, next, false)[1];
  };
  expect(line('reopens')).toBe('is reopened after a scheduled run: it failed');
  expect(line('broken')).toBe('no longer serves after a scheduled run: it failed');
});
