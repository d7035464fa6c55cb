import { describe, expect, it } from 'vitest';
import { ciTokenText, readCiToken } from './ci-token.ts';

const token = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.AA-_A0';

describe('[ease 5.2] one variable with a token and its server', () => {
  it.each(['http://127.0.0.1:3000', 'https://db.example.com', 'https://example.com/db'])(
    'is read as it is written for %s',
    (url) => {
      const text = ciTokenText({ server: { url, name: 'prod' }, token });
      expect(text).toBe(url.replace('://', `://${token}@`));
      expect(readCiToken({ REDUCERDB_TOKEN: text })).toEqual({ server: { url, name: url }, token });
    },
  );

  it('counts as unset when it is empty', () => {
    expect(readCiToken({ REDUCERDB_TOKEN: '' })).toBeUndefined();
    expect(readCiToken({})).toBeUndefined();
  });

  it.each([token, 'https://db.example.com', `ftp://${token}@db.example.com`, 'x y'])(
    'refuses %s without showing it',
    (text) => {
      const read = () => readCiToken({ REDUCERDB_TOKEN: text });
      expect(read).toThrow(
        'REDUCERDB_TOKEN must hold the address of the server, too: https://‹token›@‹host›, or',
      );
      expect(read).not.toThrow(text);
    },
  );
});
