import type { AcceptedIssuer } from '../../auth/issuer-rules.ts';
import { parseDuration } from '../../doors/duration.ts';
import { startChoices } from '../../host/databases/open-at-start.ts';
import { consoleAudiences } from '../../http/console.ts';
import { limits } from '../../limits.ts';
import { identityFromHex, notIdentityText } from '../../values/identity.ts';
import { ConfigurationError, parseListenAddress, parsePublishPolicy } from '../configuration.ts';
import { parseIsolation, parseIsolationExceptions } from '../isolation-choice.ts';
import { durationText, type Setting, setting } from '../setting.ts';
import { oneOf } from './connections.ts';

/** Returns the settings for the listen address and for rights. */
export function accessSettings(): Setting[] {
  return [...doorSettings(), ...databaseSettings(), ...authSettings(), ...keySettings()];
}

function doorSettings(): Setting[] {
  return [
    setting({
      key: 'listen-addr',
      flag: 'listen-addr',
      kind: 'text',
      value: '<address>',
      help: 'address to listen on',
      otherwise: '127.0.0.1:3000',
      example: '127.0.0.1:3000',
      apply: (value, draft) => {
        draft.listen = parseListenAddress(value);
      },
    }),
    setting({
      key: 'console',
      flag: 'console',
      kind: 'text',
      value: '<who>',
      help:
        'to whom the web console is served: on (everyone), loopback (clients on this machine), ' +
        'or off (nobody)',
      otherwise: 'loopback',
      example: 'on',
      apply: (value, draft) => {
        draft.console = oneOf(consoleAudiences, value);
      },
    }),
    setting({
      key: 'publish-policy',
      flag: 'publish-policy',
      kind: 'text',
      value: '<policy>',
      help:
        'who can create databases: anyone, authenticated, owners-list:<identity,...> or ' +
        'issuer:<issuer,...>; required for any address but loopback',
      otherwise: 'anyone, on loopback',
      example: 'authenticated',
      apply: (value, draft) => {
        draft.publishPolicy = parsePublishPolicy(value);
      },
    }),
  ];
}

function databaseSettings(): Setting[] {
  return [
    setting({
      key: 'isolation',
      flag: 'isolation',
      kind: 'text',
      value: '<kind>',
      help: 'isolation of databases: thread, or process, which contains any runaway module',
      otherwise: 'process where others can connect and strangers can publish, else thread',
      example: 'process',
      apply: (value, draft) => {
        draft.isolation = { ...draft.isolation, everywhere: parseIsolation(value) };
      },
    }),
    setting({
      key: 'isolation-of',
      flag: 'isolation-of',
      kind: 'list',
      value: '<database=kind>',
      help: 'isolation of single databases, by name or identity; read when a database starts',
      otherwise: 'none',
      example: ['shop=process'],
      apply: (values, draft) => {
        draft.isolation = { ...draft.isolation, exceptions: parseIsolationExceptions(values) };
      },
    }),
    setting({
      key: 'start-databases',
      flag: 'start-databases',
      kind: 'text',
      value: '<which>',
      help: 'databases that open when the service starts: all, or lazily, each when first used',
      otherwise: `lazily, except the ${limits.startDatabasesMax} that were written last`,
      example: 'all',
      apply: (value, draft) => {
        draft.startDatabases = oneOf(startChoices, value);
      },
    }),
    setting({
      key: 'sleep-after',
      flag: 'sleep-after',
      kind: 'amount',
      value: '<time>',
      help:
        'time without requests, connections or due schedules after which a database is put to ' +
        'sleep; the next request wakes it; `0`: never',
      otherwise: `${limits.sleepAfterMillis / 60_000}m`,
      example: '1h',
      apply: (value, draft) => {
        draft.sleepAfterMillis = sleepAfter(value);
      },
    }),
    setting({
      key: 'development',
      flag: 'development',
      kind: 'switch',
      help:
        'link published programs before everything else, and keep ready what that takes; ' +
        '`reducerdb dev` sets it',
      otherwise: 'false',
      example: true,
      apply: (value, draft) => {
        draft.isDevelopment = value;
      },
    }),
    setting({
      key: 'operators',
      flag: 'operator',
      kind: 'list',
      value: '<identity>',
      help: "identity that has the owner's rights on every database and can read the audit log",
      otherwise: 'nobody',
      example: [`c200${'0'.repeat(60)}`],
      apply: (values, draft) => {
        draft.operators = values.map(operator);
      },
    }),
  ];
}

function authSettings(): Setting[] {
  return [
    setting({
      key: 'auth.jwt-key-dir',
      flag: 'jwt-key-dir',
      kind: 'path',
      value: '<dir>',
      help: 'folder of the key pair that signs tokens',
      otherwise: '`keys` in a data folder that was named, else in your configuration folder',
      example: 'keys',
      apply: (value, draft) => {
        draft.keyDirectory = value;
      },
    }),
    setting({
      key: 'auth.issuer',
      flag: 'issuer',
      kind: 'text',
      value: '<name>',
      help: '`iss` of the tokens of this host; identities depend on it, so never change it',
      otherwise: 'localhost',
      example: 'localhost',
      apply: (value, draft) => {
        draft.issuer = value;
      },
    }),
    setting({
      key: 'auth.token-expiry',
      flag: 'token-expiry',
      kind: 'duration',
      value: '<duration>',
      help: 'lifetime of the tokens of this host; their identities end with them',
      otherwise: 'they do not expire',
      example: '90d',
      apply: (value, draft) => {
        draft.tokenSeconds = Math.ceil(value / 1000);
      },
    }),
    setting({
      key: 'auth.issuers',
      flag: 'accept-issuer',
      kind: 'list',
      value: '<issuer[=audience]>',
      help: 'issuers whose tokens are accepted beside those of this host',
      otherwise: 'every issuer whose keys can be fetched',
      example: ['https://auth.example.com=my-app'],
      apply: (values, draft) => {
        draft.issuers = { ...draft.issuers, accepted: acceptedIssuers(values) };
      },
    }),
    ...loginSettings(),
    setting({
      key: 'auth.private-issuers',
      flag: 'private-issuers',
      kind: 'switch',
      help: 'also fetch keys of issuers at private and loopback addresses, and by http',
      otherwise: 'loopback addresses, while the service listens on loopback',
      example: false,
      apply: (value, draft) => {
        const allowed = { allowsPrivate: value, allowsLoopback: value };
        draft.issuers = { ...draft.issuers, ...allowed };
      },
    }),
  ];
}

/** Returns the settings for logins to the console. */
function loginSettings(): Setting[] {
  return [
    setting({
      key: 'auth.login-clients',
      flag: 'login-client',
      kind: 'pairs',
      value: '<issuer=client-id>',
      help:
        'issuers at which people can log in to the console, and the id that this service has ' +
        'there as a client',
      otherwise: 'none',
      example: { 'https://auth.example.com': 'my-console' },
      apply: (pairs, draft) => {
        draft.loginClients = pairs;
      },
    }),
    setting({
      key: 'auth.login-secrets',
      flag: 'login-secret',
      kind: 'pairs',
      value: '<issuer=secret>',
      isSecret: true,
      help:
        'secrets of these clients, where an issuer demands one; better in the file than as a ' +
        'flag',
      otherwise: 'none',
      example: { 'https://auth.example.com': 'the secret' },
      apply: (pairs, draft) => {
        draft.loginSecrets = pairs;
      },
    }),
  ];
}

/** Returns the key settings, under the names that a SpacetimeDB server uses. */
function keySettings(): Setting[] {
  return [
    setting({
      key: 'certificate-authority.jwt-priv-key-path',
      flag: 'jwt-priv-key-path',
      kind: 'path',
      value: '<file>',
      help: 'private key that signs tokens, PEM; replaces the folder, together with the public key',
      otherwise: '`id_ecdsa` in the folder of the key pair',
      example: 'keys/id_ecdsa',
      apply: (value, draft) => {
        draft.keyFiles = { publicKeyFile: '', ...draft.keyFiles, privateKeyFile: value };
      },
    }),
    setting({
      key: 'certificate-authority.jwt-pub-key-path',
      flag: 'jwt-pub-key-path',
      kind: 'path',
      value: '<file>',
      help: 'public key of that private key, PEM',
      otherwise: '`id_ecdsa.pub` beside it',
      example: 'keys/id_ecdsa.pub',
      apply: (value, draft) => {
        draft.keyFiles = { privateKeyFile: '', ...draft.keyFiles, publicKeyFile: value };
      },
    }),
  ];
}

function operator(text: string): bigint {
  const identity = identityFromHex(text);
  if (identity !== undefined) return identity;
  throw new ConfigurationError(notIdentityText(text));
}

/** Reads `https://auth.example.com`, or with an audience after an equals sign; repeats add up. */
function acceptedIssuers(values: readonly string[]): readonly AcceptedIssuer[] {
  const audiences = new Map<string, readonly string[]>();
  for (const value of values) {
    const at = value.lastIndexOf('=');
    const issuer = at < 0 ? value : value.slice(0, at);
    const added = at < 0 ? [] : [value.slice(at + 1)];
    audiences.set(issuer, [...(audiences.get(issuer) ?? []), ...added]);
  }
  return [...audiences].map(([issuer, given]) =>
    given.length === 0 ? { issuer } : { issuer, audiences: given },
  );
}

function sleepAfter(text: string): number {
  const millis = /^\d+$/.test(text) ? Number(text) : parseDuration(text);
  if (millis === undefined || !Number.isSafeInteger(millis)) {
    throw new ConfigurationError(`\`${text}\` is not a duration, such as 10m, nor 0 for never`);
  }
  const { sleepAfterMillisMin } = limits;
  if (millis > 0 && millis < sleepAfterMillisMin) {
    const least = durationText(sleepAfterMillisMin);
    throw new ConfigurationError(
      `\`${text}\` is too short: give at least ${least}, or 0 for never`,
    );
  }
  return millis;
}
