import { expect, it } from 'vitest';
import { envFileFault, parseEnvFile } from './env-file.ts';

it('[living 4.1] an env file has names and values, comments, and quotes over lines', () => {
  const text = [
    ...['# a comment', '', 'URL=https://a.example # for now', 'export MAX = 20\r', 'EMPTY='],
    ...[`KEY='a "b" # c' # whose`, 'PEM="first', 'SECOND=2', 'last"', '  NOTICE="a\\nb"', 'END=1'],
  ].join('\n');
  expect(envFileFault(text)).toBeUndefined();
  expect(Object.fromEntries(parseEnvFile(text))).toEqual({
    ...{ URL: 'https://a.example', MAX: '20', EMPTY: '', KEY: 'a "b" # c' },
    ...{ PEM: 'first\nSECOND=2\nlast', NOTICE: 'a\nb', END: '1' },
  });
});

it.each([
  ['KEY', 'line 1: this is not NAME=value'],
  ['A=1\n\nKEY: secret\n', 'line 3: this is not NAME=value'],
  ['=secret', 'line 1: this is not NAME=value'],
  ['A KEY=secret', 'line 1: this is not NAME=value'],
  ['A=1\nKEY="secret\nB=2', 'line 2: the quote is not closed'],
  [`KEY='se'cret`, 'line 1: something follows the quote'],
  ['KEY="se\ncret" B=2\nC=3', 'line 2: something follows the quote'],
])('[living 4.1] what else is in an env file is a fault: %j', (text, fault) => {
  expect(envFileFault(text)).toBe(fault);
});
