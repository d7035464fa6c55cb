import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { readSourceMap } from './source-map.ts';

const mapOf = (fields: Record<string, unknown>): string =>
  JSON.stringify({ version: 3, ...fields });

describe('a source map', () => {
  it('leads to the author’s position', () => {
    const map = readSourceMap(mapOf({ sources: ['a.ts', 'b.ts'], mappings: 'AAAA,ICEF;;AAAA,K' }));
    expect(map.originalPosition(1, 1)).toEqual({ source: 'a.ts', line: 1, column: 1 });
    expect(map.originalPosition(1, 6)).toEqual({ source: 'b.ts', line: 3, column: -1 });
    expect(map.originalPosition(2, 1)).toBeUndefined();
    expect(map.originalPosition(3, 4)?.source).toBe('b.ts');
    expect(map.originalPosition(3, 9)).toBeUndefined();
  });

  it('has names that are cut', () => {
    const source = 'x'.repeat(2 ** 22);
    const map = readSourceMap(mapOf({ sources: [source], mappings: 'AAAA' }));
    const name = map.originalPosition(1, 1)?.source ?? '';
    expect(name.length).toBe(limits.logNameCharactersMax);
    expect(name.endsWith('…')).toBe(true);
  });

  it('has no names but texts', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const map = readSourceMap(`{"sources":[${deep},{"length":9}],"mappings":"AAAA,CCAA"}`);
    expect(map.originalPosition(1, 1)?.source).toBe('');
    expect(map.originalPosition(1, 2)?.source).toBe('');
  });

  it('maps nothing when it is too large', () => {
    const names = 'y'.repeat(limits.sourceMapCharactersMax);
    const map = readSourceMap(mapOf({ sources: ['a.ts'], mappings: 'AAAA', names: [names] }));
    expect(map.originalPosition(1, 1)).toBeUndefined();
  });

  it('is read up to its bounds of lines and segments', () => {
    const { sourceMapLinesMax, sourceMapSegmentsMax } = limits;
    const tall = readSourceMap(
      mapOf({ sources: ['a.ts'], mappings: `AAAA${';'.repeat(sourceMapLinesMax)}AAAA` }),
    );
    expect(tall.originalPosition(1, 1)?.source).toBe('a.ts');
    expect(tall.originalPosition(sourceMapLinesMax + 1, 1)).toBeUndefined();
    const wide = readSourceMap(
      mapOf({ sources: ['a.ts'], mappings: `${'CAAA,'.repeat(sourceMapSegmentsMax)}CAAA;AAAA` }),
    );
    expect(wide.originalPosition(1, sourceMapSegmentsMax)?.source).toBe('a.ts');
    expect(wide.originalPosition(2, 1)).toBeUndefined();
  });

  it('that is none maps nothing', () => {
    for (const text of [
      '',
      'null',
      '7',
      '{"mappings":7}',
      '{"sources":{"0":"a"},"mappings":"A"}',
    ]) {
      expect(readSourceMap(text).originalPosition(1, 1), text).toBeUndefined();
    }
  });
});
