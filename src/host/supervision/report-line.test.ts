import { expect, it } from 'vitest';
import { asSentence, lineAbout } from './report-line.ts';

it('parts the name of a database from a sentence, and not from what is said of it', () => {
  expect(lineAbout('Database c2', 'serves again')).toBe('Database c2 serves again');
  const sentence = asSentence('A snapshot of the database is not taken: no space');
  expect(lineAbout('Database c2', sentence)).toBe(
    'Database c2: A snapshot of the database is not taken: no space',
  );
});
