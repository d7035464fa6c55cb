import { describe, expect, it } from 'vitest';
import { toolNames } from './typed-reducers.ts';

describe('names of the tools of reducers', () => {
  const named = (reducers: readonly string[], taken: readonly string[] = ['sql', 'ping']) => [
    ...toolNames(reducers, new Set(taken)).values(),
  ];

  it('[mcp B20] are those of the reducers, where those are free and allowed', () => {
    expect(named(['add', 'add_2', 'a.b-c'])).toEqual(['add', 'add_2', 'a.b-c']);
    expect(named(['sql', 'add'])).toEqual(['add', 'reducer_sql']);
    expect(named(['größe'])).toEqual(['reducer_gr__e']);
  });

  it('[mcp B20] are different, and at most 64 characters', () => {
    const long = 'x'.repeat(70);
    const names = named(['sql', 'reducer_sql', 'größe', 'grüße', long, `${long}y`, `${long}é`]);
    expect(new Set(names).size).toBe(7);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
    expect(names).toContain('reducer_sql');
    expect(names).toContain('reducer_sql_2');
    const many = Array.from({ length: 20_000 }, (_, at) => String.fromCodePoint(0x4e00 + at));
    expect(new Set(named(many)).size).toBe(many.length);
  });
});
