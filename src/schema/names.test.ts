import { describe, expect, it } from 'vitest';
import { camelCase, pascalCase, snakeCase, splitWords } from './case-conversion.ts';
import {
  generatedConstraintName,
  generatedIndexName,
  generatedScheduleName,
  generatedSequenceName,
  identifierProblem,
} from './names.ts';
import { quotedName } from './quoted-name.ts';

describe('[module-def 7.1] word splitting', () => {
  it.each([
    ['myTable', 'my_table', 'myTable', 'MyTable'],
    ['HTTPServer', 'http_server', 'httpServer', 'HttpServer'],
    ['userID', 'user_id', 'userId', 'UserId'],
    ['userIDs', 'user_i_ds', 'userIDs', 'UserIDs'],
    ['player1', 'player_1', 'player1', 'Player1'],
    ['player2Score', 'player_2_score', 'player2Score', 'Player2Score'],
    ['u8Col', 'u_8_col', 'u8Col', 'U8Col'],
    ['a1b2', 'a_1_b_2', 'a1B2', 'A1B2'],
    ['_private', 'private', 'private', 'Private'],
    ['a__b', 'a_b', 'aB', 'AB'],
    ['trailing_', 'trailing', 'trailing', 'Trailing'],
    ['ALLCAPS', 'allcaps', 'allcaps', 'Allcaps'],
    ['sha256Hash', 'sha_256_hash', 'sha256Hash', 'Sha256Hash'],
    ['id2', 'id_2', 'id2', 'Id2'],
    ['two-part name', 'two_part_name', 'twoPartName', 'TwoPartName'],
  ])('%s becomes %s, %s and %s', (source, snake, camel, pascal) => {
    expect([snakeCase(source), camelCase(source), pascalCase(source)]).toEqual([
      snake,
      camel,
      pascal,
    ]);
  });

  it('leaves nothing of a name made of separators', () => {
    expect(snakeCase('__')).toBe('');
  });

  it('keeps letters and their combining marks together, by Unicode case', () => {
    expect(splitWords('größeÄndern')).toEqual(['größe', 'Ändern']);
    expect(splitWords('e\u0301E\u0301')).toEqual(['e\u0301', 'E\u0301']);
    expect(splitWords('名前Id')).toEqual(['名前Id']);
  });

  it('takes ASCII digits only for digits', () => {
    expect(splitWords('a٣b')).toEqual(['a٣b']);
  });
});

describe('[module-def 6.1] identifiers', () => {
  it.each(['a', '_', '_9', 'größe', '名前', 'x1', 'type', 'select'])('accepts %s', (name) => {
    expect(identifierProblem(name)).toBeUndefined();
  });

  const annex31 = '(according to Unicode Standard Annex 31, https://www.unicode.org/reports/tr31/)';
  const unusable = 'and cannot be used for entities in a module.';

  it.each([
    ['', 'Empty identifiers are forbidden.'],
    [
      'e\u0301',
      'Identifier `e\u0301` is not in normalization form C according to Unicode Standard ' +
        `Annex 15 (http://www.unicode.org/reports/tr15/) ${unusable}`,
    ],
    [
      '1st',
      "Identifier `1st`'s starting character '1' is neither an underscore ('_') nor a " +
        `Unicode XID_start character ${annex31} ${unusable}`,
    ],
    [
      'a-b',
      "Identifier `a-b` contains a character '-' that is not an XID_continue character " +
        `${annex31} ${unusable}`,
    ],
  ])('refuses %j in these words', (name, message) => {
    expect(identifierProblem(name)).toBe(`module contains invalid identifier: ${message}`);
  });
});

describe('a name in a statement', () => {
  it('is quoted, with what would end it twice', () => {
    expect(quotedName('a "b"')).toBe('"a ""b"""');
  });
});

describe('generated names', () => {
  it('are built from table and columns', () => {
    expect(generatedIndexName('t', ['a', 'b'], 'hash')).toBe('t_a_b_idx_hash');
    expect(generatedConstraintName('t', ['a', 'b'])).toBe('t_a_b_key');
    expect(generatedSequenceName('t', 'a')).toBe('t_a_seq');
    expect(generatedScheduleName('t')).toBe('t_sched');
  });
});
