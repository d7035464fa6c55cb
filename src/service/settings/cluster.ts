import { parsePlace } from '../../backup/parse-place.ts';
import { limits } from '../../limits.ts';
import { parseEngine, parseLinkAddress } from '../cluster-choice.ts';
import { ConfigurationError } from '../configuration.ts';
import { durationText, type Setting, setting } from '../setting.ts';

/** Returns the settings for a service that shares its databases with others. */
export function clusterSettings(): Setting[] {
  return [...placeSettings(), ...secretSettings(), ...promiseSettings(), ...leaseSettings()];
}

function placeSettings(): Setting[] {
  return [
    setting({
      key: 'cluster.engine',
      flag: 'cluster',
      kind: 'text',
      value: '<address>',
      help:
        'where the logs of a cluster are: PostgreSQL, all servers: postgres://user@pg1,pg2/db, ' +
        'or an S3-compatible store: s3://bucket/prefix?endpoint=https://…&region=…; makes the ' +
        'service a host of that cluster',
      // It may hold a password.
      isSecret: true,
      otherwise: 'none: the service is alone',
      example: 'postgres://reducerdb@pg1,pg2/reducerdb',
      apply: (text, draft) => {
        const engine = parseEngine(text);
        if ('fault' in engine) throw new ConfigurationError(engine.fault);
        draft.cluster = { ...draft.cluster, engine };
      },
    }),
    setting({
      key: 'cluster.host-name',
      flag: 'host-name',
      kind: 'text',
      value: '<name>',
      help: 'name of this host in its cluster, where no other has it',
      otherwise: 'that of the machine, up to its first dot',
      example: 'a',
      apply: (hostName, draft) => {
        draft.cluster = { ...draft.cluster, hostName };
      },
    }),
    ...addressSettings(),
    setting({
      key: 'cluster.zone',
      flag: 'zone',
      kind: 'text',
      value: '<name>',
      help:
        'where this host stands: copies of a database lie in different zones, where there ' +
        'are any',
      otherwise: 'none',
      example: 'eu-1a',
      apply: (zone, draft) => {
        draft.cluster = { ...draft.cluster, zone };
      },
    }),
  ];
}

function addressSettings(): Setting[] {
  return [
    setting({
      key: 'cluster.listen',
      flag: 'cluster-listen',
      kind: 'text',
      value: '<address>',
      help: 'address to listen on for other hosts of the cluster',
      otherwise: `port ${limits.clusterPort}, where the service listens`,
      example: '0.0.0.0:3001',
      apply: (text, draft) => {
        const listen = parseLinkAddress(text);
        if (listen === undefined) {
          throw new ConfigurationError(`\`${text}\` is not an address; write it like 0.0.0.0:3001`);
        }
        draft.cluster = { ...draft.cluster, listen };
      },
    }),
    setting({
      key: 'cluster.advertise',
      flag: 'advertise',
      kind: 'text',
      value: '<address>',
      help: 'where the other hosts reach this one',
      otherwise: 'where it listens for them',
      example: '10.0.0.4:3001',
      apply: (text, draft) => {
        const { host, port } = parseLinkAddress(text) ?? {};
        if (host === undefined || port === 0) {
          throw new ConfigurationError(
            `\`${text}\` is not an address of this host; write it like 10.0.0.4:3001`,
          );
        }
        draft.cluster = { ...draft.cluster, advertise: text };
      },
    }),
  ];
}

function secretSettings(): Setting[] {
  return [
    setting({
      key: 'cluster.keys-file',
      flag: 'cluster-keys-file',
      kind: 'path',
      value: '<file>',
      help:
        'file with access-key-id, secret-access-key and session-token of the store of a cluster, ' +
        'as for a repository; or give them in REDUCERDB_S3_ACCESS_KEY_ID and so on',
      otherwise: 'none; a store needs one of the two',
      example: 'store-keys.toml',
      apply: (storeKeysFile, draft) => {
        draft.cluster = { ...draft.cluster, storeKeysFile };
      },
    }),
    setting({
      key: 'cluster.secret-file',
      flag: 'cluster-secret-file',
      kind: 'path',
      value: '<file>',
      help:
        'file with the secret that all hosts have, at least 32 random bytes in base64; or give ' +
        'it in REDUCERDB_CLUSTER_SECRET',
      otherwise: 'none; a cluster needs one of the two',
      example: 'cluster.secret',
      apply: (secretFile, draft) => {
        draft.cluster = { ...draft.cluster, secretFile };
      },
    }),
    setting({
      key: 'cluster.allow-single',
      flag: 'cluster-allow-single',
      kind: 'switch',
      help: 'accept an engine with one copy: the loss of its server loses what was acknowledged',
      otherwise: 'false',
      example: false,
      apply: (allowsSingle, draft) => {
        draft.cluster = { ...draft.cluster, allowsSingle };
      },
    }),
  ];
}

function promiseSettings(): Setting[] {
  return [
    setting({
      key: 'cluster.copies',
      flag: 'cluster-copies',
      kind: 'count',
      value: '<count>',
      help:
        'hosts that have a copy of each database, that of its leader included; the same on all ' +
        'hosts. `reducerdb cluster set` overrides it for one database',
      otherwise: String(limits.copiesDefault),
      example: 2,
      apply: (copies, draft) => {
        draft.cluster = { ...draft.cluster, copies };
      },
    }),
    setting({
      key: 'cluster.local-sync',
      flag: 'cluster-local-sync',
      kind: 'switch',
      help: 'acknowledge a commit only when it is also durable in the log of this host',
      otherwise: 'true',
      example: true,
      apply: (localSync, draft) => {
        draft.cluster = { ...draft.cluster, localSync };
      },
    }),
    setting({
      key: 'cluster.gather-millis',
      flag: 'cluster-gather-millis',
      kind: 'duration',
      value: '<duration>',
      help: 'how long commits gather before they go to the engine: fewer appends, later answers',
      otherwise: `none: they go at once; in a store ${durationText(limits.s3GatherMillis)}`,
      example: '5ms',
      apply: (gatherMillis, draft) => {
        draft.cluster = { ...draft.cluster, gatherMillis };
      },
    }),
    setting({
      key: 'cluster.snapshots',
      flag: 'snapshots',
      kind: 'text',
      value: '<place>',
      help:
        'where the hosts keep snapshots of databases, from which new hosts begin: ' +
        's3://bucket/prefix, or a folder that all of them see; the same on all hosts',
      otherwise: "a table of the cluster's engine",
      example: 's3://snapshots/cluster',
      apply: (text, draft) => {
        try {
          draft.cluster = { ...draft.cluster, snapshots: parsePlace(text) };
        } catch (cause) {
          throw new ConfigurationError(`--snapshots: ${(cause as Error).message}`, { cause });
        }
      },
    }),
  ];
}

function leaseSettings(): Setting[] {
  return [
    setting({
      key: 'cluster.lease-millis',
      flag: 'cluster-lease-millis',
      kind: 'duration',
      value: '<duration>',
      help:
        `silence of a leader after which another host takes over, from ${limits.leaseMillisMin} ` +
        `to ${limits.leaseMillisMax} ms; the same on all hosts`,
      otherwise:
        `${durationText(limits.leaseMillis)}; ` +
        `in a store ${durationText(limits.s3LeaseMillis)}`,
      example: '2s',
      apply: (leaseMillis, draft) => {
        draft.cluster = { ...draft.cluster, leaseMillis };
      },
    }),
    setting({
      key: 'cluster.reads',
      flag: 'cluster-reads',
      kind: 'text',
      value: '<what>',
      help:
        'what a leader asks before it answers a confirmed read: engine, or lease, its own clock ' +
        'for a while after it has written; the same on all hosts',
      otherwise: 'engine',
      example: 'engine',
      apply: (reads, draft) => {
        if (reads !== 'engine' && reads !== 'lease') {
          throw new ConfigurationError(`\`${reads}\` is neither engine nor lease`);
        }
        draft.cluster = { ...draft.cluster, reads };
      },
    }),
  ];
}
