import { expect, it } from 'vitest';
import { requireRoom } from './restore-room.ts';

const gibibyte = 1024 ** 3;

it('[history 5.27] a restore must not leave the disk nearly full', () => {
  const space = { freeBytes: 6 * gibibyte, totalBytes: 100 * gibibyte };
  expect(() => requireRoom(space, gibibyte)).not.toThrow();
  expect(() => requireRoom(space, gibibyte + 1)).toThrow(
    'restoring needs 1073741825 bytes, 6442450944 bytes are free, and the disk of the service ' +
      'would be nearly full (100 GiB): make room there, or have its operator do so; nothing was ' +
      'changed',
  );
  expect(() => requireRoom({ ...space, freeBytes: gibibyte }, 0)).toThrow('nearly full');
  expect(() => requireRoom(undefined, Number.MAX_SAFE_INTEGER)).not.toThrow();
});
