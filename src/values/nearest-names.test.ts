import { expect, it } from 'vitest';
import { nearestNames } from './nearest-names.ts';

it('[ease 1.6] the nearest names come first', () => {
  expect(nearestNames('titel', ['title', 'tile', 'owner'])).toEqual(['title', 'tile']);
  expect(nearestNames('titel', ['owner'])).toEqual([]);
});

it('[ease 1.6] names are compared as long as there are not too many', () => {
  const near = `${'a'.repeat(59)}b`;
  const far = Array.from({ length: 200 }, () => 'z'.repeat(60));
  expect(nearestNames('a'.repeat(60), [...far, near])).toEqual([near]);
  expect(nearestNames('a'.repeat(60), [...far, ...far, near])).toEqual([]);
});
