import { expect, it } from 'vitest';
import { endLine } from './end-line.ts';

const endOf = (cause: 'full' | 'sync') => ({
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
