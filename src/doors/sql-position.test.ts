import { describe, expect, it } from 'vitest';
import { positionIn } from './sql-position.ts';

const at = (sql: string, line: number, column: number) => {
  return positionIn(sql, { code: 'sql.invalid', message: '', place: { line, column } });
};

describe('the position of an error', () => {
  it('[http 18.1] is counted in UTF-16 units from the start, for editors', () => {
    expect(at('SELECT x', 1, 8)).toEqual({ offset: 7, line: 1, column: 8 });
    expect(at("SELECT\n '😀', x", 2, 7)).toEqual({ offset: 14, line: 2, column: 7 });
    expect(at('SELECT', 1, 99)?.offset).toBe(6);
    expect(at('SELECT', 3, 1)?.offset).toBe(6);
  });

  it('[http 18.1] is absent where it is not known', () => {
    expect(positionIn('SELECT', { code: 'sql.invalid', message: '' })).toBeUndefined();
  });
});
