import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { noRateLimits } from '../../src/auth/rate-limiter.ts';
import { defaultLogBounds } from '../../src/host/databases/module-log.ts';
import { settingsInForce } from '../../src/host/registry/history-choice.ts';
import { completeBudget } from '../../src/host/seats/budget.ts';
import { limits } from '../../src/limits.ts';
import {
  ConfigurationError,
  completeConfiguration,
  type GivenConfiguration,
  keyFilesOf,
  type ServiceConfiguration,
} from '../../src/service/configuration.ts';
import { chooseIsolation } from '../../src/service/isolation-choice.ts';
import { applySetting, type Draft, type Setting, variableOf } from '../../src/service/setting.ts';
import { settings } from '../../src/service/settings.ts';
import { completeSocketLimits } from '../../src/websocket/socket-limits.ts';
import { root } from '../service/harness.ts';

const guide = readFileSync(path.join(root, 'docs/guide/settings.md'), 'utf8');

describe('the table of settings', () => {
  it('[cli 8.2] is followed by the least size of a ledger', () => {
    const least = `${(2 * limits.ledgerFileBytesMax) / 2 ** 20} MiB`;
    expect(guide).toContain(`- \`ledger.keep-bytes\` is at least ${least}: `);
  });

  it('[cli 8.2] has every setting with its flag, variable, unit, default and meaning', () => {
    const rows = settings.map((setting) => {
      const { key, flag, help, otherwise } = setting;
      const names = [`\`${key}\``, `\`--${flag}\``, `\`${variableOf(setting)}\``];
      return `| ${[...names, kindText(setting), otherwise, help].join(' | ')} |`;
    });
    const heads = ['in `config.toml`', 'flag', 'variable', 'value', 'default', 'meaning'];
    const rule = `|${heads.map(() => '---').join('|')}|`;
    const table = [`| ${heads.join(' | ')} |`, rule, ...rows].join('\n');
    expect(tableBelow('## All settings')).toBe(table);
  });

  it('[cli 8.2] has each kind of value in the table of kinds', () => {
    const kinds = settings.map(kindText).map((text) => text.replace(/^list of .*/, 'list'));
    const explained = [...tableBelow('## Values').matchAll(/^\| ([^|]+) \| /gm)].slice(1);
    expect(new Set(explained.map(([, kind]) => kind))).toEqual(new Set(kinds));
  });
});

/** The first table below a heading. */
function tableBelow(heading: string): string {
  const lines = guide.slice(guide.indexOf(`\n${heading}\n`)).split('\n');
  const from = lines.findIndex((line) => line.startsWith('|'));
  const length = lines.slice(from).findIndex((line) => !line.startsWith('|'));
  return lines.slice(from, from + length).join('\n');
}

/** What a value is, and its unit. */
function kindText({ kind, value = '' }: Setting): string {
  const word = value.replace(/^<|>$/g, '');
  switch (kind) {
    case 'amount':
    case 'count':
      return word;
    case 'duration':
      return 'time';
    case 'list':
    case 'pairs':
      return `list of \`${word}\``;
    case 'switch':
      return 'true or false';
    case 'path':
    case 'text':
      return kind;
  }
}

const place = { place: 'here', folder: '/d' };
const onLoopback: GivenConfiguration = { dataDirectory: '/d' };
const reachable: GivenConfiguration = {
  ...onLoopback,
  listen: { host: '0.0.0.0', port: 3000 },
  publishPolicy: 'anyone',
};

/** A configuration with the defaults that parts of the service fill in themselves. */
function complete(given: GivenConfiguration) {
  const configuration = completeConfiguration(given);
  return {
    ...configuration,
    websocket: completeSocketLimits(configuration.websocket),
    budget: completeBudget(configuration.budget),
    moduleLogs: { ...defaultLogBounds, ...configuration.moduleLogs },
    history: settingsInForce(configuration.history),
    isolation: chooseIsolation(configuration).rules,
  };
}

/** The value that a default names first, as one writes it: `15 s`, `nearly 64 MiB, which …`. */
function valueIn(otherwise: string): string {
  const [, number, unit] = /^(?:nearly )?(\d+) (s|ms|MiB)\b/.exec(otherwise) ?? [];
  if (number !== undefined) return unit === 'MiB' ? number : `${number}${unit}`;
  return /^[\w.:]*\w/.exec(otherwise)?.[0] ?? '';
}

/** Defaults that name no value, and what stands for them in a configuration on loopback. */
const inWords: Readonly<Record<string, (configuration: ServiceConfiguration) => unknown>> = {
  'publish-policy': ({ publishPolicy }) => publishPolicy === undefined,
  'isolation-of': ({ isolation }) => isolation.exceptions === undefined,
  operators: ({ operators }) => operators.length === 0,
  'auth.jwt-key-dir': ({ keyDirectory }) => keyDirectory === '/d/keys',
  'auth.token-expiry': ({ tokenSeconds }) => tokenSeconds === undefined,
  'auth.issuers': ({ issuers }) => issuers.accepted === undefined,
  'auth.private-issuers': ({ issuers }) => issuers.allowsLoopback && !issuers.allowsPrivate,
  'certificate-authority.jwt-priv-key-path': (configuration) =>
    keyFilesOf(configuration).privateKeyFile === '/d/keys/id_ecdsa',
  'certificate-authority.jwt-pub-key-path': (configuration) =>
    keyFilesOf(configuration).publicKeyFile === '/d/keys/id_ecdsa.pub',
  'tls.certificate': ({ tls }) => tls === undefined,
  'tls.key': ({ tls }) => tls === undefined,
  'http.trusted-proxies': ({ trustedProxies }) => trustedProxies.length === 0,
  'http.public-url': ({ publicUrl }) => publicUrl === undefined,
  'http.allowed-origins': ({ allowedOrigins }) => allowedOrigins.length === 0,
  'http.allowed-hosts': ({ allowedHosts }) => allowedHosts.length === 0,
  'http.mcp-hosts': ({ mcpHosts }) => mcpHosts.length === 0,
  'http.mcp-origins': ({ mcpOrigins }) => mcpOrigins.length === 0,
  'http.apps-domain': ({ appsDomain }) => appsDomain === 'localhost',
  'auth.login-clients': ({ loginClients }) => Object.keys(loginClients).length === 0,
  'auth.login-secrets': ({ loginSecrets }) => Object.keys(loginSecrets).length === 0,
  'apps.hosts': ({ appHosts }) => Object.keys(appHosts).length === 0,
  'http.mcp-login': ({ mcpLogin }) => !mcpLogin,
  'history.keep-commits': ({ history }) => history.keepCommits === undefined,
  'archive.repository': ({ archive }) => archive.repository === undefined,
  'module-http.allow': ({ moduleHttp }) => moduleHttp.allow.length === 0,
  'quota.row-bytes': ({ quotas }) => quotas['row-bytes'] === undefined,
  'quota.log-bytes': ({ quotas }) => quotas['log-bytes'] === undefined,
  'quota.program-bytes': ({ quotas }) => quotas['program-bytes'] === undefined,
  'quota.static-bytes': ({ quotas }) => quotas['static-bytes'] === undefined,
  'quota.owner-static-bytes': ({ quotas }) => quotas['owner-static-bytes'] === undefined,
  'quota.owner-row-bytes': ({ quotas }) => quotas['owner-row-bytes'] === undefined,
  'quota.owner-log-bytes': ({ quotas }) => quotas['owner-log-bytes'] === undefined,
  ...Object.fromEntries(
    settings
      .filter(({ key }) => key.startsWith('cluster.'))
      .map(({ key }) => [key, ({ cluster }: ServiceConfiguration) => cluster === undefined]),
  ),
  'quota.owner-program-bytes': ({ quotas }) => quotas['owner-program-bytes'] === undefined,
};

describe('the default of a setting', () => {
  const named = settings.filter(({ key }) => !(key in inWords));

  it.each(named.map((setting) => [setting.key, setting] as const))(
    '[cli 8.2] `%s` is what a service has without it',
    (key, setting) => {
      const base = key === 'listen-addr' ? onLoopback : reachable;
      const draft: Draft = {};
      applySetting(setting, valueIn(setting.otherwise), place, draft);
      expect(Object.keys(draft)).toHaveLength(1);
      expect(complete({ ...base, ...draft })).toEqual(complete(base));
    },
  );

  it.each(Object.entries(inWords))('[cli 8.2] `%s` is what its words say', (key, holds) => {
    expect(settings.map((setting) => setting.key)).toContain(key);
    expect(holds(completeConfiguration(onLoopback))).toBe(true);
  });

  it('[cli 8.2] on loopback is another where it says so', () => {
    const { rates, metricsFor, quotas, isolation } = complete(onLoopback);
    expect(complete(reachable).appsDomain).toBeUndefined();
    expect(rates).toEqual(noRateLimits);
    expect({ metricsFor, quotas }).toEqual({ metricsFor: 'anyone', quotas: {} });
    expect(isolation.everywhere).toBe('thread');
  });
});

describe('the bounds of a setting', () => {
  const ofKind = (kind: string) =>
    settings.filter((setting) => setting.kind === kind).map((one) => [one.key, one] as const);
  const draftOf = (setting: Setting, given: string) => {
    const draft: Draft = {};
    applySetting(setting, given, place, draft);
    return draft;
  };

  it.each(ofKind('count'))('[cli 8.2] `%s` is a whole number from 1 on', (_, setting) => {
    for (const given of ['1', '9007199254740991']) {
      expect(Object.keys(draftOf(setting, given))).toHaveLength(1);
    }
    for (const given of ['0', '-1', '1.5', '9007199254740992', '1e3', '1MiB', 'any']) {
      expect(() => draftOf(setting, given)).toThrow(ConfigurationError);
    }
  });

  it.each(ofKind('duration'))('[cli 8.2] `%s` is 1 ms or more', (_, setting) => {
    const millis = ['5s', '5000', '5000ms', '4s 1000ms'].map((given) => draftOf(setting, given));
    expect(new Set(millis.map((draft) => JSON.stringify(draft))).size).toBe(1);
    expect(Object.keys(draftOf(setting, '1'))).toHaveLength(1);
    for (const given of ['0', '0s', '-1s', '1.5s', '1 s', '1y']) {
      expect(() => draftOf(setting, given)).toThrow(ConfigurationError);
    }
  });

  it.each(ofKind('switch'))('[cli 8.2] `%s` is true or false', (_, setting) => {
    expect(draftOf(setting, 'true')).not.toEqual(draftOf(setting, 'false'));
    expect(() => draftOf(setting, 'yes')).toThrow(ConfigurationError);
  });

  it.each([...ofKind('path'), ...ofKind('list'), ...ofKind('text')])(
    '[cli 8.2] `%s` is not empty',
    (_, setting) => {
      expect(() => draftOf(setting, ' ')).toThrow(ConfigurationError);
    },
  );

  it('[cli 8.2] of some are those that the page lists', () => {
    const find = (key: string) => settings.find((one) => one.key === key) as Setting;
    const size = find('limits.program-size');
    expect(draftOf(size, '64')).toEqual(draftOf(size, '1000'));
    expect(draftOf(find('listen-addr'), '[::1]:0').listen).toEqual({ host: '::1', port: 0 });
    expect(draftOf(find('listen-addr'), '65535').listen).toEqual({
      host: '127.0.0.1',
      port: 65_535,
    });
    expect(() => draftOf(find('listen-addr'), 'localhost:65536')).toThrow(ConfigurationError);
    expect(draftOf(find('auth.token-expiry'), '1ms').tokenSeconds).toBe(1);
    const late = { websocket: { pingMillis: 30_000, idleMillis: 30_000 } };
    expect(() => completeConfiguration(late)).toThrow('must be below');
  });
});
