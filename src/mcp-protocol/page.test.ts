import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../values/json.ts';
import { pageOf } from './page.ts';

const paramsOf = (cursor: unknown) => parseJson(JSON.stringify({ cursor }));

describe('pages', () => {
  it('[mcp B8] one after another are the whole list, each item once, in order', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 9 }), (all, itemsMax) => {
        const seen: number[] = [];
        let cursor: string | undefined;
        do {
          const page = pageOf(all, paramsOf(cursor), itemsMax);
          expect(page.items.length).toBeLessThanOrEqual(itemsMax);
          seen.push(...page.items);
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        expect(seen).toEqual(all);
      }),
    );
  });

  it('[mcp B8] begin at the front without a cursor, and with an empty one', () => {
    for (const params of [undefined, paramsOf(undefined), paramsOf(null), paramsOf('')]) {
      expect(pageOf(['a', 'b'], params, 1).items).toEqual(['a']);
    }
  });

  it('[mcp B8] refuse a cursor that was not given out', () => {
    const long = Array(5).fill('a');
    const strange = ['x', '!', 'ZnJvbSA', btoa('2'), btoa('from 2 '), 7, {}];
    const places = ['9', '6', '3', '0', '02', '-1', '1e1'].map((place) => btoa(`from ${place}`));
    const bad = [...strange, ...places];
    for (const cursor of bad) {
      expect(() => pageOf(long, paramsOf(cursor), 2), String(cursor)).toThrow(
        expect.objectContaining({ code: -32602, message: 'invalid cursor' }),
      );
    }
  });
});
