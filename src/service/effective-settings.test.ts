import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConfigurationError, completeConfiguration } from './configuration.ts';
import { effectiveSettings } from './effective-settings.ts';
import { type Setting, variableOf } from './setting.ts';
import { settings } from './settings.ts';
import { emptySettingsFile, keyParts } from './settings-file.ts';
import { formatToml, parseToml } from './toml.ts';

let data: string;
beforeEach(() => {
  data = mkdtempSync(path.join(os.tmpdir(), 'reducerdb-settings-'));
});
afterEach(() => rmSync(data, { recursive: true }));

interface Given {
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly file?: string;
}

function effective({ flags = {}, environment = {}, file }: Given) {
  if (file !== undefined) writeFileSync(path.join(data, 'config.toml'), file);
  return effectiveSettings({ flags, environment, dataDirectory: data, folder: '/home/ada' });
}

const fault = (given: Given): string => {
  try {
    effective(given);
  } catch (error) {
    expect((error as ConfigurationError).name).toBe('ConfigurationError');
    return (error as Error).message.replaceAll(data, 'DATA');
  }
  return 'none';
};

const originOf = (given: Given, key: string) =>
  effective(given).settings.find(({ setting }) => setting.key === key)?.origin;

/** Writes an example as a flag or a variable would. */
const written = ({ example }: Setting) => {
  if (typeof example !== 'object') return String(example);
  const parts = Array.isArray(example)
    ? example
    : Object.entries(example).map((pair) => pair.join('='));
  return parts.join(',');
};

describe('the settings of a service', () => {
  it('are not read from what is no file, such as a pipe that nobody writes', () => {
    execFileSync('mkfifo', [path.join(data, 'config.toml')]);
    expect(fault({})).toBe('DATA/config.toml cannot be read: it is not a file');
  });

  it('[cli 8.2] a flag wins over a variable, that over the file, that over the default', () => {
    const file = '[logs]\nlevel = "error"\n';
    const environment = { REDUCERDB_LOG_LEVEL: 'warn' };
    const flags = { 'log-level': 'trace' };
    const level = (given: Given) => [
      effective(given).configuration.logLevel,
      originOf(given, 'logs.level'),
    ];
    expect(level({})).toEqual([undefined, 'default']);
    expect(completeConfiguration(effective({}).configuration).logLevel).toBe('info');
    expect(level({ file })).toEqual(['error', 'config.toml']);
    expect(level({ file, environment })).toEqual(['warn', 'REDUCERDB_LOG_LEVEL']);
    expect(level({ file, environment, flags })).toEqual(['trace', '--log-level']);
    // An empty variable counts as omitted.
    expect(level({ file, environment: { REDUCERDB_LOG_LEVEL: '' } })[0]).toBe('error');
  });

  it.each(settings.map((setting) => [setting.key, setting] as const))(
    '[cli 8.2] `%s` means the same in a flag, a variable and the file',
    (_, setting) => {
      const { table, name } = keyParts(setting);
      const values = { [name]: setting.example };
      const file = formatToml(table === '' ? values : { [table]: values });
      // Relative paths have different bases.
      const isPath = setting.kind === 'path';
      const example = isPath ? path.resolve('/x', written(setting)) : setting.example;
      const text = isPath ? String(example) : written(setting);
      const ofFlag = effective({ flags: { [setting.flag]: text } }).configuration;
      expect(Object.keys(ofFlag)).toHaveLength(1);
      const environment = { [variableOf(setting)]: text };
      expect(effective({ environment }).configuration).toEqual(ofFlag);
      const inFile = isPath ? file.replace(JSON.stringify(setting.example), `"${text}"`) : file;
      expect(effective({ file: inFile }).configuration).toEqual(ofFlag);
    },
  );

  it('[rulings 6.4] are kebab-case; a variable is the flag in capitals', () => {
    const kebab = '[a-z]+(-[a-z]+)*';
    for (const setting of settings) {
      expect(setting.key).toMatch(new RegExp(`^(${kebab}\\.)?${kebab}$`));
      expect(setting.flag).toMatch(new RegExp(`^${kebab}$`));
      const words = setting.flag.toUpperCase().split('-');
      expect(variableOf(setting)).toBe(['REDUCERDB', ...words].join('_'));
    }
  });

  it('have different keys, flags and variables', () => {
    for (const of of [(one: Setting) => one.key, (one: Setting) => one.flag, variableOf]) {
      expect(new Set(settings.map(of)).size).toBe(settings.length);
    }
  });

  it('paths of the file are relative to its folder, others to who starts the service', () => {
    const file = '[tls]\ncertificate = "cert.pem"\nkey = "/etc/key.pem"\n';
    expect(effective({ file }).configuration.tls).toEqual({
      certificateFile: path.join(data, 'cert.pem'),
      keyFile: '/etc/key.pem',
    });
    const flags = { 'tls-cert': 'cert.pem' };
    const environment = { REDUCERDB_TLS_KEY: 'key.pem' };
    expect(effective({ file, flags, environment }).configuration.tls).toEqual({
      certificateFile: '/home/ada/cert.pem',
      keyFile: '/home/ada/key.pem',
    });
  });

  it('lists add up from flags, and have commas in a variable', () => {
    const flags = { 'trusted-proxy': ['10.0.0.1', '10.0.0.2, 10.0.0.3'] };
    const three = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
    expect(effective({ flags }).configuration.trustedProxies).toEqual(three);
    const environment = { REDUCERDB_TRUSTED_PROXY: three.join(' , ') };
    expect(effective({ environment }).configuration.trustedProxies).toEqual(three);
  });

  it('an empty list in the file is a value, on the command line a mistake', () => {
    const { configuration } = effective({ file: '[auth]\nissuers = []' });
    expect(configuration.issuers?.accepted).toEqual([]);
    expect(fault({ flags: { issuer: [] } })).toBe('--issuer: `[]` is not a string');
  });

  it.each([
    ['250', 250],
    [250, 250],
    ['15s', 15_000],
    ['1m 30s', 90_000],
    ['2h', 7_200_000],
  ])('a duration may be %j', (given, millis) => {
    const { budget } = effective({ flags: { 'call-timeout': given } }).configuration;
    expect(budget?.callMillisMax).toBe(millis);
  });

  it.each([
    ['', '[limits]\nheap = "much"', 'DATA/config.toml: limits.heap: `much` is not a whole number'],
    ['', '[limits]\nheap = 1.5', 'limits.heap: `1.5` is not a whole number above zero'],
    ['', '[limits]\nheap = [1]', 'limits.heap: `[1]` is not a whole number'],
    ['', '[tls]\nkey = 7', 'tls.key: `7` is not a path'],
    [
      '',
      '[http]\nallowed-origins = ["app.example.com"]',
      'http.allowed-origins: `app.example.com` is not the origin of a page, such as',
    ],
    ['', '[http]\nmcp-hosts = ["a", 7]', 'http.mcp-hosts: `["a",7]` is not a list of strings'],
    ['', '[http]\nmetrics = 1999-12-31', 'http.metrics: `"1999-12-31"` is not a string'],
    ['', '[auth]\nprivate-issuers = 1', 'auth.private-issuers: `1` is not `true` or `false`'],
    ['', 'operators = ["me"]', 'DATA/config.toml: operators: `me` is not an identity'],
    ['call-timeout=0', '', '--call-timeout: `0` is not a duration, such as `15s`'],
    ['call-timeout=5x', '', '--call-timeout: `5x` is not a duration'],
    ['heap-limit=-1', '', '--heap-limit: `-1` is not a whole number above zero'],
    ['heap-limit=0x10', '', '--heap-limit: `0x10` is not'],
    ['heap-limit= ', '', '--heap-limit: ` ` is not'],
    ['operator=c200,,c200', '', '--operator: `c200,,c200` is not a list of strings'],
    ['trusted-proxy=gateway', '', '--trusted-proxy: `gateway` is neither an address nor a network'],
    ['', '[http]\ntrusted-proxies = ["10.0.0.0/40"]', 'http.trusted-proxies: `10.0.0.0/40` is'],
    ['public-url=db.example.com', '', '--public-url: `db.example.com` is not an address without'],
    ['public-url=https://x/y', '', '--public-url: `https://x/y` is not an address without a path'],
    ['public-url=ftp://x', '', '--public-url: `ftp://x` is not an address without a path, such'],
    ['metrics=everyone', '', '--metrics: `everyone` is none of anyone, operators, off'],
    [
      'publish-policy=friends',
      '',
      '--publish-policy: `friends` is not a publish policy; use one of:',
    ],
    [
      'publish-policy=issuer:',
      '',
      '--publish-policy: `issuer:` is not a publish policy; use one of:',
    ],
    ['listen-addr=nowhere', '', '--listen-addr: `nowhere` is not an address to listen on'],
    ['REDUCERDB_LOG_LEVEL=loud', '', 'REDUCERDB_LOG_LEVEL: `loud` is none of trace, debug'],
  ])('[cli 8.2] a bad value is refused where it stands: %s %j', (word, file, message) => {
    const [name = '', value] = word.split('=');
    const isVariable = name.startsWith('REDUCERDB_');
    const environment = isVariable ? { [name]: value ?? '' } : {};
    const flags = isVariable || name === '' ? {} : { [name]: value };
    expect(fault({ flags, environment, file })).toContain(message);
  });

  it.each([
    ['listen-adr = "x"', '`listen-adr` is not a setting. Did you mean `listen-addr`?'],
    ['level = "info"', '`level` is not a setting. Did you mean `logs.level`?'],
    ['[websocket]\nping_interval = 5', '`websocket.ping_interval`', '`websocket.ping-interval`?'],
    ['[weather]\nsunny = true', '`weather.sunny` is not a setting.'],
    ['[limits.heap]\nsize = 5', '`limits.heap.size` is not a setting.'],
    ['listen-addr = ', 'DATA/config.toml cannot be read: Invalid TOML document'],
  ])('an unknown key is refused, with a hint: %j', (file, ...words) => {
    for (const word of words) expect(fault({ file })).toContain(word);
  });

  it("[cli 8.2] a peer's file may stay as it is: what has no use here is warned of", () => {
    const file = `
      [certificate-authority]
      jwt-priv-key-path = "id_ecdsa"
      jwt-pub-key-path = "id_ecdsa.pub"
      [logs]
      level = "error"
      directives = ["spacetimedb=debug"]
      [websocket]
      ping-interval = "10s"
      idle-timeout = "20s"
      [v8-heap-policy]
      heap-limit-mb = 512
      [commitlog]
      write-buffer-size = 131072`;
    const { configuration, warnings } = effective({ file });
    const privateKeyFile = path.join(data, 'id_ecdsa');
    expect(configuration).toEqual({
      keyFiles: { privateKeyFile, publicKeyFile: `${privateKeyFile}.pub` },
      logLevel: 'error',
      websocket: { pingMillis: 10_000, idleMillis: 20_000 },
    });
    expect(warnings.map((text) => text.replaceAll(data, 'DATA'))).toEqual([
      'DATA/config.toml: `logs.directives` has no effect here; use `logs.level`.',
      'DATA/config.toml: `v8-heap-policy.heap-limit-mb` has no effect here; use `limits.heap`.',
      'DATA/config.toml: `commitlog.write-buffer-size` has no effect here.',
    ]);
  });

  it('a variable that is nearly one is warned of', () => {
    const environment = { REDUCERDB_LISTEN_ADR: 'x', REDUCERDB_DATA_DIR: '/d', OTHER: 'y' };
    expect(effective({ environment }).warnings).toEqual([
      'The variable REDUCERDB_LISTEN_ADR is not a setting. Did you mean `REDUCERDB_LISTEN_ADDR`?',
    ]);
  });

  it.each([
    ['tls-cert', '--tls-cert and --tls-key belong together: give both, or none'],
    ['tls-key', '--tls-cert and --tls-key belong together'],
    ['jwt-pub-key-path', '--jwt-priv-key-path and --jwt-pub-key-path belong together'],
  ])('one half of a pair is refused: %s', (flag, message) => {
    const { configuration } = effective({ flags: { [flag]: 'x.pem' } });
    expect(() => completeConfiguration(configuration)).toThrow(message);
  });
});

describe('the file that explains every setting', () => {
  it('sets nothing as it is written', () => {
    expect(effective({ file: emptySettingsFile() }).configuration).toEqual({});
    const long = emptySettingsFile()
      .split('\n')
      .filter((line) => line.length > 100);
    expect(long).toEqual([]);
  });

  it('has an example of each that holds', () => {
    const file = emptySettingsFile().replace(/^#(?=[a-z-]+ = )/gm, '');
    expect(Object.keys(parseToml(file)).length).toBeGreaterThan(5);
    const repository = '\n[repository.far]\nurl = "/var/backups"\n';
    const { settings: all } = effective({ file: file + repository });
    expect(all.filter(({ origin }) => origin !== 'config.toml')).toEqual([]);
    // The keys are those of a store, which is another engine than the one in the example.
    const ofServers = file.replace(/^keys-file = .*$/m, '');
    const ofStore = file.replace(/^engine = .*$/m, 'engine = "s3://bucket/logs?region=eu-1"');
    for (const text of [ofServers, ofStore]) {
      const { configuration } = effective({ file: text + repository });
      // The file is in a data folder, which hosts of a cluster need.
      const inFolder = { ...configuration, dataDirectory: 'data' };
      expect(completeConfiguration(inFolder).metricsFor).toBe('operators');
    }
  });
});
