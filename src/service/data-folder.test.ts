import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { claimFolder } from './data-folder.ts';

it('gives a folder free also where its mark cannot be removed', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'reducerdb-claim-'));
  let isReleased = false;
  const release = () => {
    isReleased = true;
  };
  const lock = { directory, kind: 'flock', isFormerOwnerGone: true, release } as const;
  const claim = await claimFolder(lock);
  rmSync(claim.writer.file);
  mkdirSync(claim.writer.file);
  expect(() => claim.release()).toThrow();
  expect(isReleased).toBe(true);
  rmSync(directory, { recursive: true });
});
