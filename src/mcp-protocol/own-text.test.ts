import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonObject, parseJson } from '../values/json.ts';
import { ownText } from './own-text.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

describe('a text of its own', () => {
  it('is the same text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(ownText(text)).toBe(text);
        expect(ownText(`\ufeff${text}`)).toBe(`\ufeff${text}`);
      }),
    );
  });

  it('does not keep the request that it was cut out of', () => {
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const kept = Array.from({ length: 20 }, (_, at) => {
      const request = parseJson(
        `{"sql":"SELECT * FROM task ${at}","more":"${'x'.repeat(2 ** 22)}"}`,
      );
      const sql = request instanceof JsonObject ? request.get('sql') : undefined;
      return typeof sql === 'string' ? ownText(sql) : '';
    });
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(2 ** 24);
    expect(kept[7]).toBe('SELECT * FROM task 7');
  });
});
