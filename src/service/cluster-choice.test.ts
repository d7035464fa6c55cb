import path from 'node:path';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { completeCluster, parseEngine, parseLinkAddress } from './cluster-choice.ts';
import { completeConfiguration } from './configuration.ts';
import { effectiveSettings, settingsInForce } from './effective-settings.ts';

const engine = parseEngine('postgres://app:pass@pg1,pg2:5433/logs');
if ('fault' in engine) throw new Error(engine.fault);
const around = { dataDirectory: '/d', listen: { host: '10.0.0.4' } };

/** What is loaded with a file, before anything asks for more: sources, and packages. */
async function loadedWith(file: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [path.join(import.meta.dirname, file)],
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', packages: 'external' },
    ...{ outdir: 'out', write: false, metafile: true, logLevel: 'silent' },
  });
  const outputs = Object.entries(metafile.outputs);
  const first = outputs.find(([, { entryPoint }]) => entryPoint?.endsWith(file));
  const loaded = new Set([first?.[0] ?? '']);
  for (const name of loaded) {
    for (const { path: other, kind } of metafile.outputs[name]?.imports ?? []) {
      if (kind === 'import-statement') loaded.add(other);
    }
  }
  return [...loaded].flatMap((name) => {
    const output = metafile.outputs[name];
    return output === undefined ? [name] : Object.keys(output.inputs);
  });
}

describe('a service without a cluster', () => {
  it('[replication 16.1] loads nothing of one', async () => {
    const ofCluster = (files: readonly string[]) =>
      files.filter((file) => /src\/(?:cluster|engines)\/|^pg$/.test(file)).sort();
    expect(ofCluster(await loadedWith('start-service.ts'))).toEqual([
      'src/cluster/host-folder.ts',
      // Names and forms of headers, which doors refuse from clients.
      'src/cluster/leader-hint.ts',
      'src/cluster/settled-caller.ts',
    ]);
    const ofHost = ofCluster(await loadedWith('cluster-host.ts'));
    expect(ofHost).toContain('src/cluster/cluster-part.ts');
    // Engines are in threads of their own, one program for each.
    expect(
      ofHost.filter((file) => /engines\/(?:postgres|s3)\/.*(?:engine|store)|^pg$/.test(file)),
    ).toEqual([]);
  });
});

describe('the choice of a cluster', () => {
  it('[replication 16.1] is made by its engine alone; the rest has defaults', () => {
    const reading = completeCluster({ engine }, around);
    expect(reading).toMatchObject({
      kind: 'valid',
      choice: {
        ...{ listen: { host: '10.0.0.4', port: 3001 }, advertise: undefined, zone: '' },
        ...{ localSync: true, gatherMillis: 0, allowsSingle: false },
        ...{ leaseMillis: limits.leaseMillis, reads: 'engine' },
      },
    });
    expect(engine).toMatchObject({
      servers: [
        { host: 'pg1', port: 5432 },
        { host: 'pg2', port: 5433 },
      ],
    });
  });

  it('[replication 16.1] takes a port, or an address with its port', () => {
    expect(parseLinkAddress('3005')).toEqual({ host: undefined, port: 3005 });
    expect(parseLinkAddress('[::1]:3005')).toEqual({ host: '::1', port: 3005 });
    expect(parseLinkAddress('a.example:3005')).toEqual({ host: 'a.example', port: 3005 });
    for (const text of ['a.example', ':3005', 'a b:1', '1:2:3', 'a:65536', '']) {
      expect(parseLinkAddress(text)).toBeUndefined();
    }
    expect(completeCluster({ engine, listen: { host: undefined, port: 7 } }, around)).toMatchObject(
      { choice: { listen: { host: '10.0.0.4', port: 7 } } },
    );
  });

  it('[replication 16.2] is refused where it means nothing, or cannot work', () => {
    const faultOf = (given: object, more: object = {}) => {
      const reading = completeCluster(given, { ...around, ...more });
      return reading.kind === 'invalid' ? reading.fault : undefined;
    };
    expect(faultOf({ hostName: 'a' })).toContain('name its engine with --cluster');
    expect(faultOf({ secret: 'x' })).toBeUndefined();
    expect(faultOf({ engine }, { dataDirectory: undefined })).toContain('--in-memory');
    expect(faultOf({ engine, leaseMillis: 999 })).toContain('from 1000 ms to 30000 ms');
    expect(faultOf({ engine, leaseMillis: 30_001 })).toContain('--cluster-lease-millis');
    expect(faultOf({ engine }, { listen: { host: '0.0.0.0' } })).toContain('add --advertise');
    expect(
      faultOf({ engine, advertise: '10.0.0.4:1' }, { listen: { host: '::' } }),
    ).toBeUndefined();
  });

  it('[replication 14.13, 14.14, 16.1] is of PostgreSQL or a store, and of nothing else', () => {
    expect(parseEngine('nats://host')).toEqual({
      fault:
        'an engine at nats:// is not supported; PostgreSQL (postgres://…) and S3-compatible ' +
        'stores (s3://bucket/prefix) are',
    });
    expect(parseEngine('s3://bucket/prefix?region=eu-1')).toMatchObject({
      ...{ kind: 's3', bucket: 'bucket', prefix: 'prefix', settings: { region: 'eu-1' } },
    });
    expect(parseEngine('pg1')).toEqual({
      fault: 'The address of PostgreSQL is not valid: it does not begin with postgres://.',
    });
  });

  it('[replication 14.11, 16.2] of a store has a lease, and gathers, as a store needs it', () => {
    const store = parseEngine('s3://bucket/prefix');
    if ('fault' in store) throw new Error(store.fault);
    const storeKeys = { accessKeyId: 'id', secretAccessKey: 'secret' };
    expect(completeCluster({ engine: store, storeKeys }, around)).toMatchObject({
      choice: { leaseMillis: 6_000, gatherMillis: 25, storeKeys },
    });
    const given = { engine: store, storeKeysFile: '/keys', leaseMillis: 9_000, gatherMillis: 1 };
    expect(completeCluster(given, around)).toMatchObject({ choice: given });
    expect(completeCluster({ engine: store }, around)).toMatchObject({
      fault: expect.stringContaining('set REDUCERDB_S3_ACCESS_KEY_ID'),
    });
    expect(completeCluster({ engine, storeKeysFile: '/keys' }, around)).toMatchObject({
      fault: expect.stringContaining('--cluster-keys-file is for a store'),
    });
  });

  it('[replication 16.1] keys of a store come from variables, and are no setting', () => {
    const environment = {
      REDUCERDB_CLUSTER: 's3://bucket/prefix?endpoint=https://s3.example.com',
      REDUCERDB_S3_ACCESS_KEY_ID: 'id',
      REDUCERDB_S3_SECRET_ACCESS_KEY: 'very secret',
    };
    const sources = { flags: {}, environment, folder: '/', dataDirectory: undefined };
    const { configuration, settings, warnings } = effectiveSettings(sources);
    expect(warnings).toEqual([]);
    const complete = completeConfiguration({ ...configuration, dataDirectory: '/d' });
    expect(complete.cluster?.storeKeys?.secretAccessKey).toBe('very secret');
    expect(JSON.stringify(settingsInForce(settings))).not.toContain('very secret');
  });

  it('[replication 16.2, 7.7] comes from flags, variables and the environment', () => {
    const environment = {
      REDUCERDB_CLUSTER: 'postgres://app@pg1/logs',
      REDUCERDB_HOST_NAME: 'b',
      REDUCERDB_CLUSTER_SECRET: 'of all',
    };
    const flags = { 'host-name': 'a', 'cluster-local-sync': 'false', advertise: '10.0.0.4:3001' };
    const { configuration, warnings } = effectiveSettings({
      ...{ flags, environment, folder: '/', dataDirectory: undefined },
    });
    expect(warnings).toEqual([]);
    expect(completeConfiguration({ ...configuration, dataDirectory: '/d' }).cluster).toMatchObject({
      ...{ hostName: 'a', secret: 'of all', localSync: false, advertise: '10.0.0.4:3001' },
      listen: { host: '127.0.0.1', port: 3001 },
    });
    expect(completeConfiguration({ cluster: { secret: 'of all' } }).cluster).toBeUndefined();
  });
});
