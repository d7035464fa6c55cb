import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { ServiceCluster } from './cluster-support.ts';
import type { RunningService } from './harness.ts';
import { unpackOldData } from './old-data.ts';

describe.skipIf(withoutPostgres !== undefined)('what an earlier version has written', () => {
  let cluster: ServiceCluster;
  let a: RunningService;

  beforeAll(async () => {
    cluster = await ServiceCluster.start();
    cluster.secret = Buffer.from('the secret of a cluster in tests').toString('base64');
    unpackOldData(cluster.sandbox.folder, 'cluster-data');
    for (const name of ['id_ecdsa', 'secrets.1.key']) {
      chmodSync(path.join(cluster.folder('a'), 'keys', name), 0o600);
    }
    const { primary } = cluster.postgres;
    const input = readFileSync(path.join(cluster.sandbox.folder, 'tables.sql'));
    const url = `postgres://postgres@127.0.0.1:${primary.port}/postgres`;
    execFileSync('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', url], { input });
    // The tables came here by a dump: this server has a past of its own.
    const file = path.join(cluster.folder('a'), 'cluster.json');
    const record = JSON.parse(readFileSync(file, 'utf8'));
    const identifier = primary.run('select system_identifier from pg_control_system()');
    const history = `postgres:${identifier}:1`;
    writeFileSync(file, JSON.stringify({ ...record, history }));
    a = await cluster.host('a');
  });
  afterAll(() => cluster?.close());

  const rows = async ({ url }: RunningService) => {
    const where = `${url}/v1/database/kept/sql`;
    const answer = await fetch(where, { method: 'POST', body: 'SELECT name FROM items' });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return JSON.parse(text)[0].rows.flat().sort();
  };

  it('[replication 17.7] the folder of a host and the tables of PostgreSQL open, and go on', async () => {
    const found = (host: RunningService) => expect.poll(() => rows(host).catch(String));
    await found(a).toEqual(['one', 'three', 'two']);
    const owner = await cluster.owner(a);
    expect((await owner.call('kept', 'add', ['four'])).status).toBe(200);
    const b = await cluster.host('b');
    await found(b).toEqual(['four', 'one', 'three', 'two']);
  });
});
