import { expect, it } from 'vitest';
import { parseSize } from './size.ts';

it.each<[string, number | undefined]>([
  ['0', 0],
  ['512', 512],
  ['1KiB', 1024],
  ['64 MiB', 67_108_864],
  [' 2GiB ', 2_147_483_648],
  ['3TiB', 3_298_534_883_328],
  ['', undefined],
  ['2GB', undefined],
  ['-1', undefined],
  ['1.5GiB', undefined],
  ['9999999TiB', undefined],
])('[history 3.11] the size `%s` is %s', (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
});
