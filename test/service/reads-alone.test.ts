import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Service, startServiceWith } from '../../src/service/start-service.ts';
import { ask, type Caller, newCaller } from '../support/asking.ts';
import { sharedLinker } from '../support/shared-linker.ts';
import { program } from './built-program.ts';

describe('a service that is alone', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-alone-'));
  let service: Service;
  let ada: Caller;

  beforeAll(async () => {
    service = await startServiceWith(
      {
        listen: { host: '127.0.0.1', port: 0 },
        logLevel: 'silent',
        placement: 'local',
        dataDirectory: path.join(folder, 'data'),
        keyDirectory: path.join(folder, 'keys'),
      },
      { makeLinker: sharedLinker },
    );
    ada = await newCaller(service);
    const body = await program('porter');
    await ask(service, 'PUT', '/v1/database/alone?host_type=Js', { as: ada, body });
  });
  afterAll(async () => {
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  it('[replication 10, 10.1, 10.2] takes what apps of clusters ask for, and it is so', async () => {
    const call = { as: ada, body: '["one"]', headers: { 'content-type': 'application/json' } };
    const called = await ask(service, 'POST', '/v1/database/alone/call/check_in', call);
    const offset = called.headers.get('reducerdb-offset');
    expect(offset).toMatch(/^\d+\.\d+$/);
    for (const query of [
      'leader',
      'any',
      `offset:${offset}`,
      'any&max_age_ms=0',
      'leader&max_age_ms=5',
    ]) {
      const where = `/v1/database/alone/sql?consistency=${query}`;
      const read = await ask(service, 'POST', where, { as: ada, body: 'SELECT name FROM guest' });
      expect([query, read.status, read.text.includes('one')]).toEqual([query, 200, true]);
      expect(read.headers.get('reducerdb-role')).toBe('leader');
      expect(read.headers.get('reducerdb-offset')).toMatch(/^\d+\.\d+$/);
      expect(read.headers.get('reducerdb-age-ms')).toBeNull();
    }
    const schema = '/v1/database/alone/schema?version=9&consistency=any&max_age_ms=10';
    expect((await ask(service, 'GET', schema, { as: ada })).status).toBe(200);
    for (const [query, status, text] of [
      ['consistency=offset:', 400, 'after `offset:` comes'],
      ['consistency=near', 400, 'unknown variant `near`'],
      ['max_age_ms=x', 400, 'max_age_ms: a whole number'],
      [`consistency=offset:999999`, 400, 'offset 999999 does not exist: the last commit is'],
      ['consistency=offset:0.1', 409, 'The database was reset since'],
    ] as const) {
      const where = `/v1/database/alone/sql?${query}`;
      const read = await ask(service, 'POST', where, { as: ada, body: 'SELECT name FROM guest' });
      expect([query, read.status, read.text]).toEqual([
        query,
        status,
        expect.stringContaining(text),
      ]);
    }
  });
});
