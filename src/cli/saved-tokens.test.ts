import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limits } from '../limits.ts';
import type { Io } from './io.ts';
import {
  isHeldBack,
  mayHaveMoved,
  savedFor,
  tokenOfMoved,
  unboundToken,
  withAnother,
  withCurrent,
  withoutToken,
  withRotatedKey,
} from './saved-tokens.ts';
import {
  readUserConfig,
  type SavedToken,
  type UserConfig,
  writeUserConfig,
} from './user-config.ts';

const here = 'http://127.0.0.1:3000';
const there = 'https://db.example.com';
const at = (url: string, isOnlyOfProject = false) => ({ url, name: url, isOnlyOfProject });
const of = (token: string, server?: string, key?: string): SavedToken => {
  return { token, server, key, isReplaced: false };
};

function fileWith(text: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-tokens-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'cli.toml');
  writeFileSync(file, text);
  return file;
}

const nobody = () => readUserConfig('/nowhere/cli.toml');
const tokens = ({ saved, kept }: UserConfig) => [
  saved?.token,
  ...kept.map(({ token, isReplaced }) => `${token}${isReplaced ? ' (replaced)' : ''}`),
];

describe('[cli 4.1] the file of the user', () => {
  it('is read as earlier versions have written it', () => {
    for (const key of ['identity_token', 'spacetimedb_token']) {
      const config = readUserConfig(fileWith(`${key} = "t"\ndefault_server = "local"\n`));
      expect(config.saved).toEqual(of('t'));
      expect([unboundToken(config)?.token, config.kept]).toEqual(['t', []]);
    }
  });

  it('keeps tokens with their servers', () => {
    const file = fileWith('');
    let config = withCurrent(readUserConfig(file), of('a', here, 'key'));
    config = withAnother(withCurrent(config, of('b', here)), of('c', there));
    const said: string[] = [];
    writeUserConfig(file, config, { err: (text: string) => said.push(text) } as unknown as Io);
    expect(readUserConfig(file)).toEqual(config);
    expect(readFileSync(file, 'utf8')).toContain('identity_token = "b"');
    expect(tokens(config)).toEqual(['b', 'c', 'a (replaced)']);
    expect(said).toEqual([`Saving config to ${file}.`]);
  });
});

describe('[cli 1.4] a token', () => {
  it('goes to the server that issued it, by whichever name of this machine', () => {
    const config = withAnother(withCurrent(nobody(), of('a', here)), of('b', there));
    const tokenAt = (url: string, isOfProject = false) => {
      return savedFor(config, at(url, isOfProject))?.token;
    };
    expect(tokenAt(here)).toBe('a');
    expect(tokenAt('http://localhost:3000')).toBe('a');
    expect(tokenAt('http://localhost:3000', true)).toBeUndefined();
    expect(tokenAt('http://127.0.0.1:4699')).toBeUndefined();
    expect(tokenAt(there, true)).toBe('b');
    expect(tokenAt('https://db.example.com:444')).toBeUndefined();
    expect(unboundToken(config)).toBeUndefined();
  });

  it('of unknown origin goes to servers that the user has named, before others', () => {
    const config = withCurrent(withCurrent(nobody(), of('a', here)), of('b'));
    expect(savedFor(config, at(here))?.token).toBe('b');
    expect(savedFor(config, at(there))?.token).toBe('b');
    expect(savedFor(config, at(here, true))?.token).toBe('b');
    expect([isHeldBack(config, at(here, true)), isHeldBack(config, at(there, true))]).toEqual([
      false,
      true,
    ]);
    expect(savedFor(config, at(there, true))).toBeUndefined();
  });

  it('is found again when its service was started at another port of this machine', () => {
    const config = withCurrent(nobody(), of('a', here, 'key'));
    expect(mayHaveMoved(config, at('http://127.0.0.1:4000'))).toBe(true);
    expect(mayHaveMoved(config, at('http://127.0.0.1:4000', true))).toBe(false);
    expect(mayHaveMoved(config, at(there))).toBe(false);
    expect([tokenOfMoved(config, 'key')?.token, tokenOfMoved(config, 'other')]).toEqual([
      'a',
      undefined,
    ]);
  });

  it('is replaced by a login at the same server, and kept', () => {
    let config = withCurrent(withCurrent(nobody(), of('a', here)), of('b', there));
    expect(tokens(config)).toEqual(['b', 'a']);
    config = withCurrent(config, of('c', here));
    expect(tokens(config)).toEqual(['c', 'b', 'a (replaced)']);
    expect(tokens(withCurrent(config, of('a', here)))).toEqual(['a', 'c (replaced)', 'b']);
    expect(tokens(withoutToken(config, 'b'))).toEqual(['c', 'a (replaced)']);
    for (let count = 0; count < limits.keptTokensMax + 3; count += 1) {
      config = withCurrent(config, of(`n${count}`, here));
    }
    expect(config.kept).toHaveLength(limits.keptTokensMax);
  });
});

it('[replication 7.6] a token goes to its service also when that has rotated its key', () => {
  const before = withCurrent(nobody(), of('mine', here, 'old'));
  const config = withRotatedKey(withAnother(before, of('other', there, 'another')), 'old', 'new');
  expect(tokenOfMoved(config, 'new')?.token).toBe('mine');
  expect(tokenOfMoved(config, 'old')).toBeUndefined();
  expect(config.kept.map(({ key }) => key)).toEqual(['another']);
});
