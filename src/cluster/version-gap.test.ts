import { expect, it } from 'vitest';
import { versionGap } from './version-gap.ts';

const other = (version: string) => [{ name: 'b', version }];

it('[replication 9.7] hosts may be one minor version apart, and no more', () => {
  for (const [own, theirs] of [
    ['0.3.1', '0.3.9'],
    ['0.3.1', '0.4.0'],
    ['0.3.1', '0.2.7'],
    ['1.0.0', '1.1.0-rc.1'],
    ['0.3.1', 'of a developer'],
  ] as const) {
    expect(versionGap(own, other(theirs))).toBeUndefined();
  }
  for (const [own, theirs] of [
    ['0.3.1', '0.5.0'],
    ['0.3.1', '0.1.9'],
    ['1.0.0', '0.9.0'],
  ] as const) {
    const text = versionGap(own, other(theirs));
    expect(text).toContain(`of version ${own}`);
    expect(text).toContain(`of version ${theirs}`);
    expect(text).toContain('reducerdb cluster forget b');
  }
  expect(versionGap('0.3.1', other('0.5.0'))).toContain('Start a newer version here');
  expect(versionGap('0.5.0', other('0.3.1'))).toContain('one minor version after the other');
});
