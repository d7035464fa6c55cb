import { describe, expect, it } from 'vitest';
import {
  acceptedEncodings,
  matchesTag,
  rangeOf,
  wantsPage,
  wantsPlainValues,
} from './negotiation.ts';

describe('[living 3.4] the encoding of a file', () => {
  it.each([
    [undefined, []],
    ['', []],
    ['gzip, deflate, br, zstd', ['br', 'gzip']],
    ['GZIP', ['gzip']],
    ['gzip;q=1.0, br;q=0.5', ['gzip', 'br']],
    ['gzip;q=0.5, br;q=0.5', ['br', 'gzip']],
    ['br;q=0, gzip', ['gzip']],
    ['br;q=0.000', []],
    ['*', ['br', 'gzip']],
    ['*;q=0', []],
    ['br, *;q=0', ['br']],
    ['identity, br;q=0.5', []],
    ['identity;q=0.5, br', ['br']],
    ['identity;q=0', []],
    ['br;q=nonsense', []],
    ['br ; q=0.8 , gzip ; q=0.9', ['gzip', 'br']],
    ['x-gzip', []],
  ])('for `%s` is tried in the order %j', (header, encodings) => {
    expect(acceptedEncodings(header)).toEqual(encodings);
  });
});

it.each([
  [undefined, false],
  ['"a"', true],
  ['W/"a"', true],
  ['"b", "a"', true],
  ['*', true],
  ['"a-br"', false],
  ['a', false],
])('[living 3.4] If-None-Match `%s` names the tag "a": %s', (header, isNamed) => {
  expect(matchesTag(header, '"a"')).toBe(isNamed);
});

describe('[living 3.4] a range of 100 bytes', () => {
  const part = (from: number, to: number) => ({ kind: 'part', from, to });
  it.each([
    ['bytes=0-0', part(0, 0)],
    ['bytes=10-19', part(10, 19)],
    ['bytes=10-', part(10, 99)],
    ['bytes=-10', part(90, 99)],
    ['bytes=-1000', part(0, 99)],
    ['bytes=99-1000', part(99, 99)],
    ['bytes=100-', { kind: 'unsatisfiable' }],
    ['bytes=-0', { kind: 'unsatisfiable' }],
    ['bytes=20-10', { kind: 'whole' }],
    ['bytes=0-1,5-6', { kind: 'whole' }],
    ['bytes=-', { kind: 'whole' }],
    ['lines=0-1', { kind: 'whole' }],
    ['bytes=a-b', { kind: 'whole' }],
    [undefined, { kind: 'whole' }],
  ])('%s', (header, answer) => {
    expect(rangeOf(header, 100)).toEqual(answer);
  });

  it('of an empty file is none', () => {
    expect(rangeOf('bytes=0-', 0)).toEqual({ kind: 'unsatisfiable' });
    expect(rangeOf('bytes=-1', 0)).toEqual({ kind: 'unsatisfiable' });
  });
});

it.each([
  [undefined, false],
  ['text/html,application/xhtml+xml,*/*;q=0.8', true],
  ['*/*', false],
  ['text/html;q=0', false],
  ['application/json', false],
])('[living 3.4] `accept: %s` asks for a page: %s', (accept, isPage) => {
  expect(wantsPage(accept)).toBe(isPage);
});

it.each([
  [undefined, false],
  ['application/json', false],
  ['application/json; values=plain', true],
  ['text/html, Application/JSON;q=0.5; Values="plain"', true],
  ['application/json; values=other', false],
  ['text/html; values=plain', false],
])('[ease 2.4] `accept: %s` asks for the plain form: %s', (accept, isPlain) => {
  expect(wantsPlainValues(accept)).toBe(isPlain);
});
