import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { MachineDisk } from '../../node/disk.ts';
import { endOfStart } from './start-end.ts';

it('a database whose folder is not there says so, and no path', () => {
  const folder = path.join(tmpdir(), 'reducerdb-no-such-folder');
  let end: unknown;
  try {
    new MachineDisk(folder).list();
  } catch (error) {
    end = endOfStart(error);
  }
  expect(end).toEqual({
    cause: 'log',
    message: 'the folder of its log is missing; restore it from a backup',
    running: undefined,
  });
});
