import { describe, expect, it } from 'vitest';
import { moduleOf, problemsOf, reducer, u32 } from '../../test/schema/module-builder.ts';
import { product, unitType } from '../values/special-types.ts';
import { validateModule } from './validate.ts';

describe('functions', () => {
  it('[client-sdk 14] return and throw what they declare when they are reducers', () => {
    const typed = { ...reducer('typed'), okReturnType: u32, errReturnType: unitType };
    const raw = moduleOf([], { reducers: [typed, reducer('plain')] });
    expect(validateModule(raw).reducers).toMatchObject([
      { name: 'typed', returns: u32, throws: unitType },
      { name: 'plain', returns: undefined, throws: undefined },
    ]);
  });

  it('[client-sdk 14] return and throw types that clients can be generated for', () => {
    const inline = product(['a', u32]);
    const typed = { ...reducer('r'), okReturnType: inline, errReturnType: inline };
    expect(problemsOf(moduleOf([], { reducers: [typed] }))).toEqual([
      expect.stringContaining('error at reducer `r` error: internal codegen error'),
      expect.stringContaining('error at reducer `r` return value: internal codegen error'),
    ]);
  });

  it('[client-sdk 14] return nothing when the host runs them', () => {
    const raw = moduleOf([], {
      reducers: [{ ...reducer('r'), okReturnType: u32 }],
      lifecycleReducers: [{ event: 'onConnect', functionName: 'r' }],
    });
    expect(problemsOf(raw)).toEqual([
      'reducer r has invalid return type: found Result<U32, String>',
    ]);
  });

  it('have one reducer for each lifecycle event', () => {
    const raw = moduleOf([], {
      reducers: [reducer('a'), reducer('b')],
      lifecycleReducers: [
        { event: 'onConnect', functionName: 'a' },
        { event: 'onConnect', functionName: 'b' },
        { event: 'onDisconnect', functionName: 'c' },
      ],
    });
    expect(problemsOf(raw)).toEqual([
      'Multiple reducers defined for lifecycle event OnConnect',
      'lifecycle event OnDisconnect without reducer',
    ]);
  });

  it('become private as lifecycle reducers, in version 10 only', () => {
    const raw = moduleOf([], {
      reducers: [reducer('setUp'), reducer('other')],
      lifecycleReducers: [{ event: 'init', functionName: 'setUp' }],
    });
    const { reducers } = validateModule(raw);
    expect(reducers).toMatchObject([
      { name: 'set_up', sourceName: 'setUp', lifecycle: 'init', visibility: 'private' },
      { name: 'other', lifecycle: undefined, visibility: 'clientCallable' },
    ]);
    const nine = validateModule({ ...raw, version: 9, caseConversion: 'none' });
    expect(nine.reducers).toMatchObject([
      { name: 'setUp', lifecycle: 'init', visibility: 'clientCallable' },
      { name: 'other' },
    ]);
  });
});
