import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DevPlace } from './dev-place.ts';
import { runningDev } from './running-dev.ts';

let root: string;
let place: DevPlace;
const state = (url: string) => ({ url, pid: process.pid, owner: process.pid, folder: root });

beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'reducerdb-place-')));
  place = new DevPlace(root);
});
afterEach(() => rmSync(root, { recursive: true }));

describe('[console 3.1] the notes of dev in a project', () => {
  it('lead the commands of the project to its service', () => {
    expect(runningDev(root)).toBeUndefined();
    place.make();
    place.noteState(state('http://127.0.0.1:3000'));
    place.keepToken('own');
    expect(runningDev(root)).toMatchObject({ url: 'http://127.0.0.1:3000', token: 'own' });
    for (const name of ['token', 'dev.json']) {
      expect(statSync(path.join(place.folder, name)).mode & 0o777).toBe(0o600);
    }
  });

  it.each([
    'http://db.example:3000',
    'https://127.0.0.1.evil.example',
    'http://127.evil.example:3000',
    'file:///etc',
    'x',
  ])('do not lead to %s', (url) => {
    place.make();
    place.noteState(state(url));
    expect(place.state).toBeUndefined();
    expect(runningDev(root)).toBeUndefined();
  });

  it('are not read through links, nor written through them', () => {
    place.make();
    place.noteState(state('http://127.0.0.1:3000'));
    const secret = path.join(root, 'secret');
    writeFileSync(secret, 'of the user');
    symlinkSync(secret, path.join(place.folder, 'token'));
    expect(() => place.token).toThrow('token is a link, or not what dev writes there');
    expect(runningDev(root)).toBeUndefined();
    place.keepToken('own');
    expect([place.token, readFileSync(secret, 'utf8')]).toEqual(['own', 'of the user']);
    expect(lstatSync(path.join(place.folder, 'token')).isFile()).toBe(true);
  });

  it('are not looked for behind a folder that is a link', () => {
    const elsewhere = path.join(root, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(path.join(elsewhere, 'dev.json'), JSON.stringify(state('http://127.0.0.1:3000')));
    symlinkSync(elsewhere, place.folder);
    expect(runningDev(root)).toBeUndefined();
    expect(() => place.make()).toThrow('.reducerdb is a link');
  });
});
