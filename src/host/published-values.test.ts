import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { buildText } from '../../test/support/build-text.ts';
import { hostOptions, inProcesses } from '../../test/support/host-options.ts';
import { takeTurns } from '../../test/support/share.ts';
import { addSecretKey, SecretKeys } from '../auth/secret-keys.ts';
import { refusal } from '../database/outcome.ts';
import { callErrorText, procedureErrorText } from '../doors/call-error-text.ts';
import { writeFileAtomically } from '../node/atomic-file.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { RunningDatabases } from './databases/running-databases.ts';
import { Host } from './host.ts';
import type { PublishRequest, RequestedEnv } from './publishing/publish-request.ts';
import { EnvStore } from './registry/env-store.ts';
import type { HostCaller } from './registry/host-caller.ts';
import type { DatabaseHandle } from './supervision/database-handle.ts';
import { temporaryConnection } from './supervision/temporary-connection.ts';

const ada: HostCaller = {
  identity: callerIdentity(0xadan),
  payload: '{"sub":"ada"}',
  isAnonymous: false,
};

/** Shows which program reads which values. `rowType` decides whether an update can migrate. */
const programOf = (version: string, rowType = 't.string()') => `
import { schema, SenderError, t, table } from 'reducerdb/server';
const seen = table({ public: true }, { text: ${rowType} });
const db = schema({ seen }, { env: { URL: t.string(), KEY: t.secret() } });
export default db;
export const tell = db.reducer((ctx) => { throw new SenderError('${version} ' + ctx.env.URL); });
export const ask = db.procedure(t.string(), (ctx) => '${version} ' + ctx.env.URL + ctx.env.KEY);`;

const valuesOf = (value: string): readonly RequestedEnv[] => [
  { name: 'URL', text: value },
  { name: 'KEY', text: value },
];

const [old, fresh] = [
  ['old 1', 'old 11', '1'],
  ['new 2', 'new 22', '2'],
];

/** A place where something is held until a test lets it go on. */
class Hold {
  #reached: () => void = () => undefined;
  #goOn: () => void = () => undefined;
  readonly reached = new Promise<void>((resolve) => {
    this.#reached = resolve;
  });
  readonly #gone = new Promise<void>((resolve) => {
    this.#goOn = resolve;
  });

  async pass(): Promise<void> {
    this.#reached();
    await this.#gone;
  }

  goOn(): void {
    this.#goOn();
  }
}

/** Holds the next update of a program before it begins, and before its outcome is known. */
function holdUpdate(handle: DatabaseHandle) {
  const [before, after] = [new Hold(), new Hold()];
  const update = handle.update.bind(handle);
  vi.spyOn(handle, 'update').mockImplementationOnce(async (...given) => {
    await before.pass();
    const outcome = await update(...given);
    await after.pass();
    return outcome;
  });
  return { before, after };
}

const folders: string[] = [];
function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'reducerdb-published-'));
  folders.push(made);
  return made;
}

const kinds = ['local', 'thread', 'process'] as const;

describe.each(kinds)('values that come with a publish (%s)', (kind) => {
  let [directory, keyFolder] = ['', ''];
  let host: Host;
  let reports: string[] = [];
  let keys: SecretKeys;

  const open = (at: string) => {
    keys = new SecretKeys(keyFolder, writeFileAtomically);
    return Host.open(
      hostOptions({
        directory: at,
        placement: kind === 'local' ? 'local' : 'worker',
        ...(kind === 'process' && inProcesses),
        secretKeys: keys,
        report: ({ message }) => reports.push(message),
      }),
    );
  };
  beforeEach(async () => {
    reports = [];
    [directory, keyFolder] = [folder(), folder()];
    host = await open(directory);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await host.close();
    for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
  });

  const publish = async (text: string, env?: readonly RequestedEnv[], more = {}) => {
    const request: PublishRequest = {
      caller: ada,
      target: 'shop',
      program: await buildText(text),
      clear: false,
      policy: 'compatible',
      token: undefined,
      confirmMillis: 5_000,
      ...(env && { env }),
      ...more,
    };
    return host.publish(request);
  };
  const read = async (from = host): Promise<readonly string[]> => {
    const database = from.database('shop');
    const { schemaVersion } = await database.handle.describe();
    const request = {
      caller: from.callerFor(ada, database),
      connection: temporaryConnection(),
      args: new Uint8Array(),
      schemaVersion,
      confirmed: true,
    };
    const told = await database.handle.call({ ...request, reducer: 'tell' });
    const asked = await database.handle.procedure({ ...request, procedure: 'ask' });
    const listed = await from.env.get(ada, database, 'URL');
    return [
      told.kind === 'aborted' ? callErrorText(told.error) : told.kind,
      asked.kind === 'failed'
        ? procedureErrorText(asked.error)
        : new BinaryReader(asked.value).string(),
      listed.text ?? '',
    ];
  };
  /** What a service reads that starts with what a crash at this moment leaves. */
  const afterCrash = async (use: (again: Host) => Promise<unknown> = read): Promise<unknown> => {
    const copy = folder();
    cpSync(directory, copy, { recursive: true });
    const again = await open(copy);
    try {
      return await use(again);
    } finally {
      await again.close();
    }
  };
  /** It alone is held: what other tests left may still run in this process. */
  const shop = () => host.database('shop').handle;
  const set = (name: string, text: string) =>
    host.env.set(ada, host.database('shop'), { name, text });

  it('[living 4.1] are read by the new program alone, and by it from its first call', async () => {
    await publish(programOf('old'), valuesOf('1'));
    const { before, after } = holdUpdate(shop());
    const published = publish(programOf('new'), valuesOf('2'));
    await before.reached;
    expect(await read()).toEqual(old);
    expect(await afterCrash()).toEqual(old);
    before.goOn();
    await after.reached;
    expect(await read()).toEqual(fresh);
    expect(await afterCrash()).toEqual(fresh);
    after.goOn();
    await published;
    expect(await read()).toEqual(fresh);
    expect(await afterCrash()).toEqual(fresh);
  });

  it('[living 4.1] fit their program wherever a reset with them is cut off', async () => {
    await publish(programOf('old'), valuesOf('1'));
    const [made, installed] = [new Hold(), new Hold()];
    const { create, install } = RunningDatabases.prototype;
    vi.spyOn(RunningDatabases.prototype, 'create').mockImplementationOnce(async function (
      this: RunningDatabases,
      ...given
    ) {
      const database = await create.apply(this, given);
      await made.pass();
      return database;
    });
    vi.spyOn(RunningDatabases.prototype, 'install').mockImplementationOnce(async function (
      this: RunningDatabases,
      ...given
    ) {
      await installed.pass();
      await install.apply(this, given);
    });
    // With the same program: its generation alone tells them apart.
    const published = publish(programOf('old'), valuesOf('2'), { clear: true });
    await made.reached;
    expect(await read()).toEqual(old);
    expect(await afterCrash()).toEqual(old);
    made.goOn();
    await installed.reached;
    expect(await afterCrash()).toEqual(['old 2', 'old 22', '2']);
    installed.goOn();
    await published;
    expect(await read()).toEqual(['old 2', 'old 22', '2']);
  });

  const isLocal = kind === 'local';

  it.runIf(isLocal)('[living 4.1] leave nothing behind when the publish is refused', async () => {
    await publish(programOf('old'), valuesOf('1'));
    const refused = publish(programOf('new', 't.u8()'), [
      ...valuesOf('2'),
      { name: 'MORE', text: 'x' },
    ]);
    await expect(refused).rejects.toMatchObject({ body: { code: 'migration.refused' } });
    expect(await read()).toEqual(old);
    expect(await afterCrash()).toEqual(old);
    await publish(programOf('new'));
    expect(await read()).toEqual(['new 1', 'new 11', '1']);
    const names = (await host.env.list(ada, host.database('shop'))).map(({ name }) => name);
    expect(names).toEqual(['KEY', 'URL']);
  });

  it.runIf(isLocal)('[living 4.1] that are set meanwhile stay as they were set', async () => {
    await publish(programOf('old'), valuesOf('1'));
    const { before, after } = holdUpdate(shop());
    const published = publish(programOf('new'), valuesOf('2'));
    await before.reached;
    await set('URL', 'first');
    expect(await read()).toEqual(['old first', 'old first1', 'first']);
    before.goOn();
    await after.reached;
    expect(await read()).toEqual(['new first', 'new first2', 'first']);
    await set('KEY', 'second');
    expect(await read()).toEqual(['new first', 'new firstsecond', 'first']);
    after.goOn();
    await published;
    expect(await read()).toEqual(['new first', 'new firstsecond', 'first']);
    expect(await afterCrash()).toEqual(['new first', 'new firstsecond', 'first']);
  });

  it.runIf(isLocal)('[living 4.1] that a new program needs cannot be taken from it', async () => {
    await publish(programOf('old'), valuesOf('1'));
    const more = programOf('new').replace('URL: t', 'MORE: t.string(), URL: t');
    const { before } = holdUpdate(shop());
    const published = publish(more, [{ name: 'MORE', text: 'x' }]);
    await before.reached;
    const unset = host.env.unset(ada, host.database('shop'), 'MORE');
    // The running program does not have it.
    await expect(unset).rejects.toMatchObject({ body: { code: 'env.unknown' } });
    await set('MORE', 'y');
    await host.env.unset(ada, host.database('shop'), 'MORE');
    before.goOn();
    await expect(published).rejects.toMatchObject({ body: { code: 'env.missing' } });
    expect(await read()).toEqual(old);
  });

  it.runIf(isLocal)(
    '[living 4.1] are settled when it was not known whether the publish happened',
    async () => {
      await publish(programOf('old'), valuesOf('1'));
      const lost = refusal('database.lost', 'it is not known');
      const update = shop().update.bind(shop());
      const spied = vi.spyOn(shop(), 'update');
      spied.mockRejectedValueOnce(lost);
      await expect(publish(programOf('new'), valuesOf('2'))).rejects.toBe(lost);
      expect(await afterCrash()).toEqual(old);
      expect(await read()).toEqual(old);

      spied.mockImplementationOnce(async (...given) => {
        await update(...given);
        throw lost;
      });
      await expect(publish(programOf('new'), valuesOf('2'))).rejects.toBe(lost);
      expect(await afterCrash()).toEqual(fresh);
      expect((await read()).slice(0, 2)).toEqual(fresh?.slice(0, 2));
      await publish(programOf('next'));
      expect(await read()).toEqual(['next 2', 'next 22', '2']);
    },
  );

  it.runIf(isLocal)('[living 4.1] wait for a program that a crash could undo', async () => {
    await publish(programOf('old'), valuesOf('1'));
    const late = refusal('durability.timeout', 'late');
    const update = shop().update.bind(shop());
    vi.spyOn(shop(), 'update').mockImplementationOnce(async (...given) => {
      await update(...given);
      throw late;
    });
    await expect(publish(programOf('new'), valuesOf('2'))).rejects.toBe(late);
    const { program } = RunningDatabases.prototype;
    const running = vi.spyOn(RunningDatabases.prototype, 'program');
    running.mockImplementation(async function (this: RunningDatabases, ...given) {
      return { ...(await program.apply(this, given)), isDurable: false };
    });
    const settle = vi.spyOn(EnvStore.prototype, 'settle');
    expect(await read()).toEqual(fresh);
    const refused = { body: { code: 'durability.timeout' } };
    await expect(publish(programOf('next'), valuesOf('3'))).rejects.toMatchObject(refused);
    await expect(publish(programOf('next'))).rejects.toMatchObject(refused);
    expect(settle).not.toHaveBeenCalled();
    running.mockRestore();
    await publish(programOf('next'), [{ name: 'KEY', text: '3' }]);
    expect(await read()).toEqual(['next 2', 'next 23', '2']);
  });

  it.runIf(isLocal)('[living 4.1] are read while the registry cannot settle them', async () => {
    await publish(programOf('old'), valuesOf('1'));
    const full = refusal('database.full', 'no space');
    const settle = vi.spyOn(EnvStore.prototype, 'settle').mockRejectedValueOnce(full);
    await publish(programOf('new'), valuesOf('2'));
    expect(reports).toContain('The values of a publish stay staged: no space');
    settle.mockRejectedValueOnce(full);
    expect(await read()).toEqual(fresh);
    expect(settle).toHaveBeenCalledTimes(2);
    expect(await afterCrash()).toEqual(fresh);
    expect(await read()).toEqual(fresh);
  });

  it.runIf(isLocal)('[living 4.3] are encrypted again with a new key, too', async () => {
    await publish(programOf('old'), valuesOf('1'));
    const { after, before } = holdUpdate(shop());
    before.goOn();
    const published = publish(programOf('new'), valuesOf('2'));
    await after.reached;
    await addSecretKey(keyFolder, writeFileAtomically);
    keys.reload();
    await host.secretKeysRenewed();
    rmSync(path.join(keyFolder, 'secrets.1.key'));
    keys.reload();
    expect(await read()).toEqual(fresh);
    after.goOn();
    await published;
    expect(await read()).toEqual(fresh);
    expect(await afterCrash()).toEqual(fresh);
  });

  it.runIf(isLocal)('[living 4.1] of a creation that is cut off are gone', async () => {
    const made = new Hold();
    const { create } = RunningDatabases.prototype;
    vi.spyOn(RunningDatabases.prototype, 'create').mockImplementationOnce(async function (
      this: RunningDatabases,
      ...given
    ) {
      const database = await create.apply(this, given);
      await made.pass();
      return database;
    });
    const published = publish(programOf('old'), valuesOf('1'));
    await made.reached;
    const missing = await afterCrash(async (again) => {
      expect(again.databases).toEqual([]);
      const program = await buildText(programOf('old'));
      const policy = { clear: false, policy: 'compatible', token: undefined } as const;
      const given = { caller: ada, target: 'shop', program, ...policy, confirmMillis: 5_000 };
      return again.publish(given).catch(({ body }) => body.code);
    });
    expect(missing).toBe('env.missing');
    made.goOn();
    await published;
    expect(await read()).toEqual(old);
  });

  it.runIf(isLocal)('[living 4.1] for the program that runs are set at once', async () => {
    await publish(programOf('old'), valuesOf('1'));
    const stage = vi.spyOn(EnvStore.prototype, 'stage');
    await publish(programOf('old'), valuesOf('2'));
    expect(stage).not.toHaveBeenCalled();
    expect(await read()).toEqual(['old 2', 'old 22', '2']);
    const invalid = publish(programOf('old'), valuesOf('3'), { policy: 'breakClients' });
    await expect(invalid).rejects.toMatchObject({ body: { code: 'migration.invalidToken' } });
    expect(await read()).toEqual(['old 2', 'old 22', '2']);
  });

  takeTurns(kind);
});
