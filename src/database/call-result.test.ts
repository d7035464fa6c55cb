import { describe, expect, it } from 'vitest';
import type { RunOutcome } from '../module/runner.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { ProgramReducer } from './call-result.ts';
import { checkedOutcome, resultCheckOf } from './call-result.ts';

const u16: AlgebraicType = { kind: 'u16' };
const text: AlgebraicType = { kind: 'string' };

function reducerOf(returns?: AlgebraicType, throws?: AlgebraicType): ProgramReducer {
  return {
    id: 0,
    name: 'trade',
    sourceName: 'trade',
    params: { kind: 'product', elements: [] },
    returns,
    throws,
    lifecycle: undefined,
    visibility: 'clientCallable',
    checkArguments: () => {},
    checkReturned: resultCheckOf(returns, { types: [] }),
    checkThrown: resultCheckOf(throws, { types: [] }),
  };
}

const returned = (...bytes: number[]): RunOutcome => {
  return { kind: 'returned', value: Uint8Array.from(bytes) };
};
const refused = (...bytes: number[]): RunOutcome => {
  return { kind: 'refused', message: 'no', value: Uint8Array.from(bytes) };
};

describe('what a program gives', () => {
  it('[client-sdk 14] passes when it is of the declared type', () => {
    const nothing: RunOutcome = { kind: 'returned' };
    const words: RunOutcome = { kind: 'refused', message: 'no' };
    const crash: RunOutcome = { kind: 'crashed', message: 'x', trace: [] };
    for (const outcome of [nothing, words, crash]) {
      expect(checkedOutcome(reducerOf(), outcome)).toBe(outcome);
    }
    const typed = reducerOf(u16, text);
    for (const outcome of [returned(1, 2), refused(1, 0, 0, 0, 97), words, crash]) {
      expect(checkedOutcome(typed, outcome)).toBe(outcome);
    }
  });

  it.each([
    ['returned a value, and declares none', reducerOf(undefined, text), returned(1)],
    ['threw a value, and declares none', reducerOf(u16), refused(1)],
    ['returned nothing, and declares a value', reducerOf(u16), { kind: 'returned' } as const],
    ['returned a value of another type: 1 bytes are left over', reducerOf(u16), returned(1, 2, 3)],
    ['returned a value of another type: data too short', reducerOf(u16), returned(1)],
    ['threw a value of another type: data too short', reducerOf(u16, text), refused(9, 0, 0, 0)],
    ['threw a value of another type: ', reducerOf(u16, text), refused(1, 0, 0, 0, 0xff)],
  ])('[client-sdk 14] is a crash where it %s', (fault, reducer, outcome) => {
    expect(checkedOutcome(reducer, outcome)).toEqual({
      kind: 'crashed',
      message: expect.stringContaining(`reducer trade ${fault}`),
      trace: [],
    });
  });
});
