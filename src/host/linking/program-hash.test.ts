import { expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { toHex } from '../../values/hex.ts';
import { programHash, programHashInSlices } from './program-hash.ts';

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));

it('of a program is its Keccak-256, with the padding of the original', () => {
  const ofNothing = 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470';
  const ofAbc = '4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45';
  expect(toHex(programHash(bytesOf('')))).toBe(ofNothing);
  for (let times = 0; times < 3; times += 1) {
    expect(toHex(programHash(bytesOf('abc')))).toBe(ofAbc);
  }
});

it('of a large program is the same in slices, in one go, and when it comes again', async () => {
  const large = 'reducer '.repeat(20_000);
  const inSlices = await programHashInSlices(bytesOf(large));
  expect(programHash(bytesOf(large))).toEqual(inSlices);
  // After so many others it has to be computed again.
  for (let at = 0; at < limits.recentHashesMax; at += 1) programHash(bytesOf(`program ${at}`));
  expect(programHash(bytesOf(large))).toEqual(inSlices);
  expect(programHash(bytesOf(`${large} `))).not.toEqual(inSlices);
});
