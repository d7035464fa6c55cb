import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildText } from '../../test/support/build-text.ts';
import { hostOptions, inProcesses } from '../../test/support/host-options.ts';
import { takeTurns } from '../../test/support/share.ts';
import { addSecretKey, SecretKeys } from '../auth/secret-keys.ts';
import { callErrorText, procedureErrorText } from '../doors/call-error-text.ts';
import { writeFileAtomically } from '../node/atomic-file.ts';
import type { ReportLine } from '../node/report-line.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { Host } from './host.ts';
import type { HostOptions } from './host-options.ts';
import type { RequestedEnv } from './publishing/publish-request.ts';
import type { HostCaller } from './registry/host-caller.ts';
import { temporaryConnection } from './supervision/temporary-connection.ts';

const ada: HostCaller = {
  identity: callerIdentity(0xadan),
  payload: '{"sub":"ada"}',
  isAnonymous: false,
};

/** Shows what it reads; `declared` is the text of its declaration. */
const moduleOf = (declared: string, more = '') => `
import { schema, SenderError, t, table } from 'reducerdb/server';
const seen = table({ public: true }, { text: t.string() });
const db = schema({ seen }, { env: ${declared} });
export default db;
const show = (value) => typeof value === 'bigint' ? value + 'n' : String(JSON.stringify(value));
const tried = (read) => { try { return show(read()); } catch (error) { return String(error); } };
export const init = db.init((ctx) => ctx.db.seen.insert({ text: 'init ' + show(ctx.env.URL) }));
export const tell = db.reducer({ name: t.string() }, (ctx, { name }) => {
  throw new SenderError(tried(() => ctx.env[name]));
});
export const ask = db.procedure({ name: t.string() }, t.string(), (ctx, { name }) => {
  return tried(() => ctx.env[name]);
});
export const within = db.procedure({ name: t.string() }, t.string(), (ctx, { name }) => {
  return ctx.withTx((tx) => tried(() => tx.env[name]));
});
export const all = db.procedure(t.string(), (ctx) => show(ctx.env));
${more}`;

const usual = `{
  URL: t.string(), PORT: t.u16(), BIG: t.u64().optional(), ON: t.bool().optional(),
  KEY: t.secret(), HOOK: t.secret().optional(),
}`;

const values: readonly RequestedEnv[] = [
  { name: 'URL', text: 'https://a.example' },
  { name: 'PORT', text: '80' },
  { name: 'KEY', text: 'canary-1' },
];

const kinds = ['local', 'thread', 'process'] as const;

describe.each(kinds)('the configuration of a database (%s)', (kind) => {
  const placement = kind === 'local' ? 'local' : 'worker';
  let directory: string;
  let keyFolder: string;
  let host: Host;
  let reports: ReportLine[] = [];

  const open = async (more: Partial<HostOptions> = {}) => {
    host = await Host.open(
      hostOptions({
        directory,
        placement,
        ...(kind === 'process' && inProcesses),
        secretKeys: new SecretKeys(keyFolder, writeFileAtomically),
        report: (line) => reports.push(line),
        ...more,
      }),
    );
  };
  beforeEach(async () => {
    reports = [];
    directory = mkdtempSync(path.join(tmpdir(), 'reducerdb-env-'));
    keyFolder = mkdtempSync(path.join(tmpdir(), 'reducerdb-env-keys-'));
    await open();
  });
  afterEach(async () => {
    await host.close();
    for (const folder of [directory, keyFolder]) rmSync(folder, { recursive: true, force: true });
  });

  const publish = async (env?: readonly RequestedEnv[], text = moduleOf(usual), clear = false) => {
    return host.publish({
      caller: ada,
      target: 'shop',
      program: await buildText(text),
      clear,
      policy: 'compatible',
      token: undefined,
      confirmMillis: 5_000,
      ...(env !== undefined && { env }),
    });
  };
  const shop = () => host.database('shop');
  const request = async (args: string) => {
    const writer = new TextEncoder().encode(args);
    const bytes = new Uint8Array(4 + writer.length);
    new DataView(bytes.buffer).setUint32(0, writer.length, true);
    bytes.set(writer, 4);
    const database = shop();
    return {
      caller: host.callerFor(ada, database),
      connection: temporaryConnection(),
      args: args === '' ? new Uint8Array() : bytes,
      schemaVersion: (await database.handle.describe()).schemaVersion,
      confirmed: true,
    };
  };
  const tell = async (name: string) => {
    const outcome = await shop().handle.call({ ...(await request(name)), reducer: 'tell' });
    return outcome.kind === 'aborted' ? callErrorText(outcome.error) : outcome.kind;
  };
  const ask = async (name: string, procedure = 'ask') => {
    const outcome = await shop().handle.procedure({ ...(await request(name)), procedure });
    if (outcome.kind === 'failed') return procedureErrorText(outcome.error);
    return new BinaryReader(outcome.value).string();
  };
  const set = (name: string, text: string, isSecret?: boolean) => {
    return host.env.set(ada, shop(), { name, text, isSecret });
  };

  it('[living 4.2] plain values are read everywhere, secrets in procedures alone', async () => {
    await publish(values);
    expect(await tell('URL')).toBe('"https://a.example"');
    expect(await tell('PORT')).toBe('80');
    expect(await tell('BIG')).toBe('undefined');
    const refused = 'TypeError: `KEY` is a secret: only procedures and HTTP handlers can read it';
    expect(await tell('KEY')).toBe(refused);
    expect(await ask('URL')).toBe('"https://a.example"');
    expect(await ask('KEY')).toBe('"canary-1"');
    expect(await ask('HOOK')).toBe('undefined');
    expect(await ask('URL', 'within')).toBe('"https://a.example"');
    expect(await ask('KEY', 'within')).toBe(refused);
    expect(await ask('', 'all')).toBe('{"URL":"https://a.example","PORT":80}');
  });

  it('[living 4.2] a missing name refuses a publish, and all of them are named', async () => {
    const text =
      'The program declares values that are not set for its database: `KEY` (secret), ' +
      '`PORT` (u16), `URL` (string). Set them as you publish: reducerdb publish … ' +
      '--set-secret KEY --set-env PORT=VALUE --set-env URL=VALUE';
    const missing = { body: { code: 'env.missing', message: text } };
    await expect(publish()).rejects.toMatchObject(missing);
    expect(() => shop()).toThrow('No such database.');
    await expect(publish(values.slice(1))).rejects.toMatchObject({
      body: { code: 'env.missing' },
    });
    expect(() => shop()).toThrow('No such database.');
    await publish(values);
    const more = moduleOf(usual.replace('URL:', 'MORE: t.string(), URL:'));
    await expect(publish(undefined, more)).rejects.toMatchObject({
      body: { code: 'env.missing' },
    });
    await set('MORE', 'x');
    await publish(undefined, more);
    expect(await tell('MORE')).toBe('"x"');
  });

  it('[living 4.2] values that do not fit are refused, and leave what was set', async () => {
    const wrong = [...values, { name: 'BIG', text: 'canary' }];
    const text =
      '`BIG` is declared as optional u64: its value must be a whole number from 0 to ' +
      '18446744073709551615';
    const invalid = { body: { code: 'env.invalid', message: text } };
    await expect(publish(wrong)).rejects.toMatchObject(invalid);
    await publish([...values, { name: 'OTHER', text: 'kept' }]);
    await expect(set('BIG', 'canary')).rejects.toMatchObject(invalid);
    await set('BIG', '18446744073709551615');
    expect(await tell('BIG')).toBe('18446744073709551615n');
    const other = moduleOf(usual, 'db.reducer(() => undefined); throw new Error("bad");');
    const bad = publish([{ name: 'OTHER', text: 'new' }], other);
    await expect(bad).rejects.toMatchObject({ body: { code: 'program.invalid' } });
    const moved = moduleOf(usual).replace('text: t.string() }', 'text: t.u8() }');
    const manual = publish(
      [
        { name: 'OTHER', text: 'new' },
        { name: 'N', text: '1' },
      ],
      moved,
    );
    await expect(manual).rejects.toMatchObject({ body: { code: 'migration.refused' } });
    const listed = (await host.env.list(ada, shop())).map(({ name, text }) => [name, text]);
    expect(listed).toEqual([
      ['BIG', '18446744073709551615'],
      ['KEY', undefined],
      ['OTHER', 'kept'],
      ['PORT', '80'],
      ['URL', 'https://a.example'],
    ]);
  });

  it('[living 4.3] a change is live at the next call, in the actor and in all lanes', async () => {
    await publish(values);
    for (let round = 2; round < 12; round += 1) {
      await set('URL', `u${round}`);
      await set('KEY', `canary-${round}`);
      const names = ['KEY', 'URL', 'KEY', 'URL'];
      const asked = await Promise.all([tell('URL'), ...names.map((name) => ask(name))]);
      const [url, key] = [`"u${round}"`, `"canary-${round}"`];
      expect(asked).toEqual([url, key, url, key, url]);
    }
    await host.env.unset(ada, shop(), 'KEY').then(
      () => expect.unreachable(),
      (error) => expect(error.body.code).toBe('env.needed'),
    );
    await set('HOOK', 'canary-h');
    expect(await ask('HOOK')).toBe('"canary-h"');
    await host.env.unset(ada, shop(), 'HOOK');
    expect(await ask('HOOK')).toBe('undefined');
    const gone = host.env.unset(ada, shop(), 'HOOK');
    await expect(gone).rejects.toMatchObject({ body: { code: 'env.unknown' } });
  });

  it('[living 4.3] the realm of an actor never has the text of a secret', async () => {
    const caught = `
      const hooks = Symbol.for('reducerdb.moduleHooks.v1');
      const real = db[hooks];
      let sys;
      Object.defineProperty(db, hooks, {
        value: (exports, given) => real.call(db, exports, (sys = given)),
      });
      export const raw = db.reducer({ name: t.string() }, () => {
        throw new SenderError(sys.env());
      });
      export const raw_lane = db.procedure({ name: t.string() }, t.string(), () => sys.env());`;
    await publish(values, moduleOf(usual, caught));
    const inside = await shop().handle.call({ ...(await request('x')), reducer: 'raw' });
    const env = JSON.parse(inside.kind === 'aborted' ? callErrorText(inside.error) : '');
    expect(env).toMatchObject({ secrets: ['KEY'], values: { PORT: '80' } });
    expect(Object.keys(env.values)).toEqual(['PORT', 'URL']);
    expect(JSON.parse(await ask('x', 'raw_lane')).values).toMatchObject({ KEY: 'canary-1' });
  });

  it.runIf(placement === 'local')(
    '[living 4.1] a database has at most 256 values, of 64 KiB each',
    async () => {
      const many = Array.from({ length: 253 }, (_, at) => ({ name: `N${at}`, text: 'x' }));
      await publish([...values, ...many]);
      const name = { body: { code: 'env.invalid' } };
      await expect(set('MORE', 'x')).rejects.toMatchObject({
        body: { message: 'a database has at most 256 values, and this would be 257' },
      });
      await set('N0', 'another');
      await expect(set('N0', 'x'.repeat(65_537))).rejects.toMatchObject(name);
      for (const bad of ['', 'a', '1A', 'A-B', 'A'.repeat(65), 'A\n']) {
        await expect(set(bad, 'x')).rejects.toMatchObject(name);
      }
    },
  );

  it.runIf(placement === 'local')('[living 4.1] what changes too often has to wait', async () => {
    await publish(values);
    const long = 'x'.repeat(65_536);
    const many = Array.from({ length: 250 }, (_, at) => ({ name: `N${at}`, text: long }));
    for (const count of [1, 2, 3]) await publish([...many, { name: 'COUNT', text: String(count) }]);
    const late = { body: { code: 'quota.exceeded', retryAfterSeconds: expect.any(Number) } };
    await expect(set('URL', 'x')).rejects.toMatchObject(late);
    await expect(publish(many)).rejects.toMatchObject(late);
    expect((await host.env.get(ada, shop(), 'COUNT')).text).toBe('3');
    expect(await tell('URL')).toBe('"https://a.example"');
  });

  it.runIf(placement === 'local')('[living 4.2] views read no values', async () => {
    const view = `
export const shown = db.anonymousView({ public: true }, t.array(seen.rowType), (ctx) => {
      return [{ text: tried(() => ctx.env.URL) }];
    });`;
    await publish(values, moduleOf(usual, view));
    const database = shop();
    const outcome = await database.handle.query({
      caller: host.callerFor(ada, database),
      connection: temporaryConnection(),
      sql: 'SELECT * FROM shown',
      confirmed: true,
    });
    const text = outcome.kind === 'result' ? new BinaryReader(outcome.rows).string() : outcome;
    expect(text).toBe('TypeError: views cannot read `ctx.env`: they depend on rows alone');
  });

  it('[living 4.3] values outlive a restart and a reset, and end with their database', async () => {
    await publish(values);
    await host.close();
    await open();
    expect(await ask('KEY')).toBe('"canary-1"');
    expect(await tell('PORT')).toBe('80');
    await host.reset(ada, 'shop', undefined);
    expect(await ask('KEY')).toBe('"canary-1"');
    await host.remove(ada, 'shop');
    await expect(publish()).rejects.toMatchObject({ body: { code: 'env.missing' } });
  });

  it('[living 4.3] a rotated key encrypts all secrets again', async () => {
    await publish(values);
    await host.close();
    await addSecretKey(keyFolder, writeFileAtomically);
    await open();
    expect(reports.map(({ message }) => message)).toContain(
      'Secrets were encrypted again with the current key: 1',
    );
    await host.close();
    expect(readdirSync(keyFolder)).toEqual(['secrets.1.key', 'secrets.2.key']);
    rmSync(path.join(keyFolder, 'secrets.1.key'));
    await open();
    expect(await ask('KEY')).toBe('"canary-1"');
    expect(shop().handle.health().secrets).toEqual({ isFine: true, unreadable: [] });
  });

  it('[living 4.3] without its key a secret is listed, and cannot be read', async () => {
    await publish(values);
    await host.close();
    rmSync(keyFolder, { recursive: true });
    await open();
    const [lost] = reports.filter(({ level }) => level === 'error');
    expect(lost?.message).toBe(
      'Secrets of a database cannot be read, as their key is missing: KEY',
    );
    expect(await tell('PORT')).toBe('80');
    expect(await ask('KEY')).toMatch(
      /^Error: the secret `KEY` cannot be read: the service does not have the key/,
    );
    const [listed] = await host.env.list(ada, shop());
    expect(listed).toMatchObject({
      name: 'KEY',
      isSecret: true,
      text: undefined,
      isReadable: false,
    });
    const { isFine, secrets } = shop().handle.health();
    expect({ isFine, secrets }).toEqual({
      isFine: false,
      secrets: { isFine: false, unreadable: ['KEY'] },
    });
    await set('KEY', 'canary-2');
    expect(await ask('KEY')).toBe('"canary-2"');
    expect(shop().handle.health().isFine).toBe(true);
  });

  it('[living 4.3] a lost key can be put back beside the one that took its place', async () => {
    await publish([...values, { name: 'HOOK', text: 'canary-h' }]);
    await host.close();
    const lostKey = readFileSync(path.join(keyFolder, 'secrets.1.key'), 'utf8');
    rmSync(keyFolder, { recursive: true });
    await open();
    await set('KEY', 'canary-2');
    await host.close();
    const made = readdirSync(keyFolder);
    expect(made).toEqual([expect.stringMatching(/^secrets\.\d{8}\.key$/)]);
    writeFileSync(path.join(keyFolder, 'secrets.1.key'), lostKey, { mode: 0o600 });
    await open();
    expect([await ask('KEY'), await ask('HOOK')]).toEqual(['"canary-2"', '"canary-h"']);
    // What it had encrypted is encrypted with the new one, so that it can be retired.
    rmSync(path.join(keyFolder, 'secrets.1.key'));
    await host.close();
    await open();
    expect([await ask('KEY'), await ask('HOOK')]).toEqual(['"canary-2"', '"canary-h"']);
  });

  takeTurns(kind);
});

it('[living 4.2] a database in a process reads its values, too', async () => {
  const host = await Host.open(hostOptions(inProcesses));
  try {
    const program = await buildText(`
      import { schema, SenderError, t } from 'reducerdb/server';
      const db = schema({}, { env: { URL: t.string() } });
      export default db;
      export const tell = db.reducer((ctx) => { throw new SenderError(ctx.env.URL); });`);
    const policy = { clear: false, policy: 'compatible', token: undefined } as const;
    const env = [{ name: 'URL', text: 'first' }];
    const given = { caller: ada, target: 'apart', program, ...policy, confirmMillis: 5_000 };
    await host.publish({ ...given, env });
    const database = host.database('apart');
    const tell = async () => {
      const outcome = await database.handle.call({
        caller: host.callerFor(ada, database),
        connection: temporaryConnection(),
        args: new Uint8Array(),
        schemaVersion: undefined,
        confirmed: true,
        reducer: 'tell',
      });
      return outcome.kind === 'aborted' ? callErrorText(outcome.error) : outcome.kind;
    };
    expect(await tell()).toBe('first');
    await host.env.set(ada, database, { name: 'URL', text: 'second' });
    expect(await tell()).toBe('second');
  } finally {
    await host.close();
  }
}, 60_000);
