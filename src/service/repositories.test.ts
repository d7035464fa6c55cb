import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ConfigurationError } from './configuration.ts';
import { repositoriesIn, s3Variables } from './repositories.ts';
import { parseToml } from './toml.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-repositories-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const variables = Object.fromEntries(s3Variables.map((name) => [name, `value of ${name}`]));

function read(toml: string, environment: Record<string, string> = {}) {
  const file = path.join(folder, 'config.toml');
  return repositoriesIn(parseToml(toml).repository, { file, folder, environment });
}

it('[history 5.2] reads the repositories that the operator has named', () => {
  const toml = `
    [repository.near]
    url = "backups"
    [repository.far]
    url = "s3://bucket/prefix"
    region = "eu-central-1"
    endpoint = "https://s3.example.com"
    path-style = false
    recipients = ["age1example"]`;
  expect(read(toml, variables)).toMatchObject([
    { name: 'near', url: path.join(folder, 'backups'), recipients: [] },
    {
      name: 'far',
      url: 's3://bucket/prefix',
      region: 'eu-central-1',
      endpoint: 'https://s3.example.com',
      pathStyle: false,
      recipients: ['age1example'],
      keys: {
        accessKeyId: 'value of REDUCERDB_S3_ACCESS_KEY_ID',
        secretAccessKey: 'value of REDUCERDB_S3_SECRET_ACCESS_KEY',
        sessionToken: 'value of REDUCERDB_S3_SESSION_TOKEN',
      },
    },
  ]);
  expect(read('')).toEqual([]);
});

it('[history 5.2] reads keys from a file that nobody else can read', () => {
  const file = path.join(folder, 'keys.toml');
  writeFileSync(file, 'access-key-id = "AK"\nsecret-access-key = "very secret"\n', { mode: 0o600 });
  const toml = '[repository.far]\nurl = "s3://bucket"\nkeys-file = "keys.toml"';
  expect(read(toml)[0]?.keys).toMatchObject({ accessKeyId: 'AK', secretAccessKey: 'very secret' });
  if (process.platform === 'win32') return;
  chmodSync(file, 0o640);
  expect(() => read(toml)).toThrow('keys.toml can be read by others; chmod 600 it');
});

it('[history 5.10] a file with the keys for restores need not be there yet', () => {
  const toml = '[repository.far]\nurl = "s3://bucket"\nidentity-file = "key.txt"';
  expect(read(toml)).toMatchObject([{ identityFile: path.join(folder, 'key.txt') }]);
});

it.each([
  ['[repository.far]\nregion = "x"', 'repository.far needs `url`'],
  ['[repository.far]\nurl = "s3://b"\nurls = 1', 'repository.far.urls is not a setting'],
  ['[repository.FAR]\nurl = "x"', 'repository.FAR has a name of other characters'],
  ['[repository.far]\nurl = "http://x"', 'repository.far cannot be used: a repository is'],
  [
    '[repository.far]\nurl = "s3://bucket"\nendpoint = "http://example.com"',
    'must be https, unless it is loopback',
  ],
  ['[repository.far]\nurl = "x"\npath-style = 1', 'repository.far.path-style is not `true`'],
  ['[repository.far]\nurl = "x"\nrecipients = "age"', 'is not a list of strings'],
  ['[repository.far]\nurl = "x"\nkeys-file = "gone"', 'cannot be read'],
])('[history 5.2] refuses %j', (toml, text) => {
  expect(() => read(toml)).toThrow(text);
  expect(() => read(toml)).toThrow(ConfigurationError);
});

it('[history 5.2] shows nothing of a file with keys that cannot be read', () => {
  const file = path.join(folder, 'keys.toml');
  writeFileSync(file, 'secret-access-key = very secret', { mode: 0o600 });
  const toml = '[repository.far]\nurl = "s3://bucket"\nkeys-file = "keys.toml"';
  expect(() => read(toml)).toThrow(/keys\.toml cannot be read: it is not valid TOML$/);
});
