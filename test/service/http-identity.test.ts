import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openInn } from './inn.ts';
import { type Person, Running } from './running.ts';

let running: Running;
let owner: Person;
let stranger: Person;
let identity: string;

beforeAll(async () => {
  ({ running, owner, stranger, identity } = await openInn());
});
afterAll(() => running.stop());

describe('the service', () => {
  it('[http 7, interface 4.1] answers a ping with nothing', async () => {
    const { status, text } = await running.ask('GET', '/v1/ping', { as: owner });
    expect({ status, text }).toEqual({ status: 200, text: '' });
  });

  it('[http 7] says that it is well', async () => {
    const { status, text } = await running.ask('GET', '/v1/health');
    expect(status).toBe(200);
    expect(text).toMatch(
      /^\{"nodes":\[0\],"package_name":"reducerdb","schedulable":true,"version":"\d+\.\d+\.\d+.*"\}$/,
    );
  });

  it('[http 7] has metrics, by the identity of the database', async () => {
    const { text, headers } = await running.ask('GET', '/v1/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
    expect(text).toContain(`reducerdb_database_up{database="${identity}"} 1`);
  });

  it('[http 7] counts what only grows, and says how long answers and pauses take', async () => {
    await running.ask('GET', '/v1/no-such-path');
    await running.ask('GET', '/v1/database/nobody');
    const { text } = await running.ask('GET', '/v1/metrics');
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type]) => ({
      name,
      isCounter: type === 'counter',
    }));
    expect(types.length).toBeGreaterThan(30);
    for (const { name, isCounter } of types) {
      expect({ name, isCounter }).toEqual({ name, isCounter: name.endsWith('_total') });
    }
    expect(text).toMatch(
      /^reducerdb_request_duration_seconds_count\{endpoint="\/v1\/database\/:db",status="404"\} 1$/m,
    );
    expect(text).not.toContain('no-such-path');
    expect(text).toMatch(/^reducerdb_event_loop_delay_seconds\{quantile="0\.99"\} \d/m);
    // Nothing was collected yet where the process has little to do.
    const collected = async () => {
      Array.from({ length: 100_000 }, (_, at) => ({ at }));
      return (await running.ask('GET', '/v1/metrics')).text;
    };
    await expect
      .poll(collected)
      .toMatch(/^reducerdb_garbage_collection_seconds_bucket\{le="0\.001",kind="minor"\}/m);
    expect(text).toMatch(/^reducerdb_disk_bytes\{part="free"\} \d+$/m);
  });

  it('[http 7] tells who scrapes metrics where they are', async () => {
    const { status, text } = await running.ask('GET', '/v1/prometheus/sd_config');
    expect(status).toBe(200);
    const { host } = new URL(running.service.url);
    expect(text).toBe(`[{"targets":["${host}"],"labels":{}}]`);
  });

  it('[http 7] keeps its metrics for operators, or to itself', async () => {
    const operator = await running.person();
    const keyDirectory = path.join(running.folder, 'keys');
    const guarded = await Running.start({ metricsFor: 'off', keyDirectory });
    expect((await guarded.ask('GET', '/v1/metrics')).status).toBe(404);
    await guarded.pause();
    const again = await Running.start({
      metricsFor: 'operators',
      operators: [BigInt(`0x${operator.identity}`)],
      dataDirectory: guarded.folder,
      keyDirectory,
    });
    const ask = async (as?: Person) => (await again.ask('GET', '/v1/metrics', { as })).status;
    expect([await ask(), await ask(stranger), await ask(operator)]).toEqual([401, 403, 200]);
    await again.stop();
  });

  it('[http 7] tells the time', async () => {
    const before = Date.now() * 1000;
    const { text } = await running.ask('GET', '/v1/database/inn/unstable/timestamp');
    const [, micros] = /^\{"__timestamp_micros_since_unix_epoch__":(\d+)\}$/.exec(text) ?? [];
    expect(Number(micros)).toBeGreaterThanOrEqual(before - 1_000);
    expect(Number(micros)).toBeLessThanOrEqual(Date.now() * 1000 + 1_000);
  });

  it('[http 7] counts energy, which has no effect', async () => {
    const energy = (method: string, query = '', as?: Person) =>
      running.ask(method, `/v1/energy/${stranger.identity}${query}`, { as });
    expect(await energy('GET')).toMatchObject({ status: 200, text: '{"balance":"0"}' });
    const added = await energy('POST', `?amount=${2n ** 100n}`, owner);
    expect(added).toMatchObject({ status: 200, text: `{"balance":"${2n ** 100n}"}` });
    expect((await energy('GET')).text).toBe('{"balance":"0"}');
    const mine = await running.ask('GET', `/v1/energy/${owner.identity}`);
    expect(mine.text).toBe(`{"balance":"${2n ** 100n}"}`);
    for (const amount of ['', '-1', '1.5', 'x', String(2n ** 128n)]) {
      const bad = await energy('POST', `?amount=${amount}`, owner);
      expect(bad).toMatchObject({ status: 400, text: '' });
    }
    expect(await energy('PUT', '', owner)).toMatchObject({ status: 401, text: '' });
    expect((await running.ask('GET', '/v1/energy/0x12')).text).toBe(
      'Invalid URL: invalid value: string "0x12", expected a byte array or hex string',
    );
  });
});

describe('identities', () => {
  it('[http 5, interface 4.1, 5.3] are made on request, without identity headers', async () => {
    const body = '{"ignored":true}';
    const { status, text, headers } = await running.ask('POST', '/v1/identity', { body });
    expect(status).toBe(200);
    expect(text).toMatch(/^\{"identity":"c200[0-9a-f]{60}","token":"[\w-]+\.[\w-]+\.[\w-]+"\}$/);
    expect(headers.get('spacetime-identity')).toBeNull();
  });

  it('[http 5] are proven by a public key, byte for byte the file of the host', async () => {
    const { text, headers } = await running.ask('GET', '/v1/identity/public-key');
    expect(text).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
    expect(text).toBe(readFileSync(path.join(running.folder, 'keys/id_ecdsa.pub'), 'utf8'));
    expect(headers.get('content-type')).toBe('application/pem-certificate-chain');
  });

  it('[http 5] can be compared with a token', async () => {
    const verify = (whose: string, as?: Person) =>
      running.ask('GET', `/v1/identity/${whose}/verify`, { as });
    expect(await verify(owner.identity, owner)).toMatchObject({ status: 204, text: '' });
    expect((await verify(owner.identity.toUpperCase(), owner)).status).toBe(204);
    expect(await verify(owner.identity, stranger)).toMatchObject({ status: 400, text: '' });
    expect(await verify(owner.identity)).toMatchObject({
      status: 401,
      text: 'Authorization required',
    });
  });

  it.each(['0x12', 'ab', `0x${'a'.repeat(64)}`, 'g'.repeat(64), 'a'.repeat(65)])(
    '[http 4.2] are 64 digits without a prefix: %s is none',
    async (whose) => {
      const expected = {
        status: 400,
        text: `Invalid URL: invalid value: string "${whose}", expected a byte array or hex string`,
      };
      const verified = await running.ask('GET', `/v1/identity/${whose}/verify`, { as: owner });
      expect(verified).toMatchObject(expected);
      const listed = await running.ask('GET', `/v1/identity/${whose}/databases`);
      expect(listed).toMatchObject(expected);
    },
  );

  it('[http 5] get a token for a minute', async () => {
    const answer = await running.ask('POST', '/v1/identity/websocket-token', { as: owner });
    expect(answer.text).toMatch(/^\{"token":"[^"]+"\}$/);
    const { token } = JSON.parse(answer.text);
    const payload = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString());
    expect(payload.exp - payload.iat).toBe(60);
    const again = await running.ask('GET', `/v1/database/inn?token=${token}`);
    expect(again.headers.get('spacetime-identity')).toBe(owner.identity);
  });

  it('[http 5] list what they own, to everybody', async () => {
    const databases = async (whose: string) =>
      (await running.ask('GET', `/v1/identity/${whose}/databases`)).text;
    expect(await databases(owner.identity)).toBe(`{"identities":["${identity}"]}`);
    expect(await databases(stranger.identity)).toBe('{"identities":[]}');
    expect(await databases('0'.repeat(64))).toBe('{"identities":[]}');
  });
});
