import { expect, it } from 'vitest';
import { sizeText } from './static-folder.ts';
import { progressText } from './upload-static.ts';

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.0 kB'],
  [3_400_000, '3.4 MB'],
  [2_000_000_000, '2.0 GB'],
  [2_000_000_000_000, '2000.0 GB'],
])('[living 3.4] %i bytes are %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

it('[living 3.4] the bar of an upload fills with its bytes', () => {
  const at = (sent: number) => progressText({ done: 1, count: 4, sent, total: 3_400_000 });
  expect(at(0)).toBe('static [------------------------] 1/4 files, 0 B of 3.4 MB');
  expect(at(1_700_000)).toBe('static [############------------] 1/4 files, 1.7 MB of 3.4 MB');
  expect(at(3_400_000)).toContain('[########################]');
  expect(progressText({ done: 1, count: 1, sent: 0, total: 0 })).toContain('[####');
});
