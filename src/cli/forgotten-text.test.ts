import { expect, it } from 'vitest';
import { forgottenText } from './forgotten-text.ts';

const result = { forgotten: true, begins_at: 7, files: 3, held: [], replaced: 0 };
const elsewhere =
  'Backups, archives, copies and forks made before still have what was deleted, and the disk is ' +
  'not wiped.';

it('[history 3.21] says what a forget has deleted, with the logs that were replaced', () => {
  const begins = 'The history of shop begins at commit 7 now; 3 files were deleted.';
  expect(forgottenText('shop', result)).toBe(`${begins}\n${elsewhere}`);
  expect(forgottenText('shop', { ...result, replaced: 2 })).toBe(
    `${begins}\n2 logs that a restore had replaced were deleted.\n${elsewhere}`,
  );
  const old = { ...result, forgotten: false, files: 0 };
  expect(forgottenText('shop', old)).toBe(
    'Nothing that old is there: the history of shop begins at 7.',
  );
  expect(forgottenText('shop', { ...old, replaced: 1 })).toBe(
    '1 log that a restore had replaced was deleted.\n' +
      `Nothing else that old is there: the history of shop begins at 7.\n${elsewhere}`,
  );
});
