import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildText } from '../../../test/support/build-text.ts';
import { hostOptions } from '../../../test/support/host-options.ts';
import { shopModule } from '../../../test/support/shop-module.ts';
import { hashHex } from '../../database/program-hash.ts';
import type { ReportLine } from '../../node/report-line.ts';
import { identityToHex } from '../../values/identity.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { Host } from '../host.ts';
import { programHash } from '../linking/program-hash.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { QuotaLimits } from '../registry/quota-limits.ts';
import type { PublishRequest } from './publish-request.ts';

const ada: HostCaller = {
  identity: callerIdentity(0xadan),
  payload: '{"sub":"ada"}',
  isAnonymous: false,
};

const other = `${shopModule()}\n// another program\n`;
const hashOf = (content: string) => createHash('sha256').update(content).digest('hex');

async function* one(content: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}

/** Static files as publishes change them: in folders, and over the starts of a host. */
describe('[living 3.4] a publish with static files', () => {
  let directory: string | undefined;
  let host: Host;
  let reports: ReportLine[];

  const open = (quotas: QuotaLimits = {}) =>
    Host.open(hostOptions({ directory, quotas, report: (line) => reports.push(line) }));
  const folder = () => path.join(directory ?? '', 'databases', identityToHex(host.resolve('shop')));

  beforeEach(async () => {
    reports = [];
    directory = mkdtempSync(path.join(tmpdir(), 'reducerdb-publish-static-'));
    host = await open();
    await publish();
  });
  afterEach(async () => {
    await host.close();
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  });

  async function publish(more: Partial<PublishRequest> & { text?: string } = {}) {
    const { text = shopModule(), ...rest } = more;
    const plain = { caller: ada, target: 'shop', clear: false, policy: 'compatible' } as const;
    const program = await buildText(text);
    return host.publish({ ...plain, program, token: undefined, confirmMillis: 5_000, ...rest });
  }

  async function upload(contents: Readonly<Record<string, string>>) {
    const { identity, owner } = host.database('shop');
    const files = Object.entries(contents).map(([at, content]) => {
      return { path: at, hash: hashOf(content), bytes: Buffer.byteLength(content) };
    });
    const { id, missing } = await host.sites.announce(identity, { files, headers: '' }, (bytes) =>
      host.quotas.requireStatic(owner, identity, bytes),
    );
    const all = Object.values(contents);
    for (const hash of missing) {
      const content = all.find((each) => hashOf(each) === hash) ?? '';
      await host.sites.receive(identity, hash, one(content));
    }
    return { static: { kind: 'set', id } } as const;
  }

  const paths = async () => {
    const served = await host.sites.served(host.resolve('shop'));
    return served.files.map((file) => file.path);
  };

  it('changes both, and a restart finds both', async () => {
    await publish(await upload({ '/a': 'a' }));
    expect(await paths()).toEqual(['/a']);
    await publish({ ...(await upload({ '/b': 'b' })), text: other });
    expect(await paths()).toEqual(['/b']);
    expect(existsSync(path.join(folder(), 'static/next.json'))).toBe(false);
    await host.close();
    host = await open();
    expect(await paths()).toEqual(['/b']);
    expect(host.sites.bytesOf(host.resolve('shop'))).toBe(1);
  });

  it('changes neither if the program is rejected', async () => {
    await publish(await upload({ '/a': 'a' }));
    const files = await upload({ '/b': 'b' });
    await expect(publish({ ...files, text: 'export default 1' })).rejects.toThrow();
    await expect(publish({ ...files, policy: 'breakClients', token: 'x' })).resolves.toBeDefined();
    await publish(await upload({ '/a': 'a' }));
    const wrong = { policy: 'breakClients', text: other, token: undefined } as const;
    await expect(publish({ ...(await upload({ '/c': 'c' })), ...wrong })).rejects.toThrow('token');
    expect(await paths()).toEqual(['/a']);
    await host.close();
    host = await open();
    expect(await paths()).toEqual(['/a']);
  });

  it('is settled by the log when the service ended in it', async () => {
    await publish(await upload({ '/a': 'a' }));
    const files = await upload({ '/b': 'b' });
    const { identity } = host.database('shop');
    const program = await buildText(other);
    const deploy = {
      generation: 1,
      program: hashHex(programHash(program.bytes)),
      decider: 'program',
    } as const;
    await host.sites.stage(identity, files.static, deploy, () => undefined);
    // As a kill leaves it: once before the database had the program, once after.
    const before = copyOfData();
    await host
      .database('shop')
      .handle.update(program, { policy: 'compatible', token: undefined }, 9_999);
    const after = copyOfData();
    await host.close();
    for (const [data, found] of [[before, '/a'] as const, [after, '/b'] as const]) {
      rmSync(directory ?? '', { recursive: true });
      directory = data;
      host = await open();
      expect(await paths()).toEqual([found]);
      expect(readdirSync(path.join(folder(), 'static'))).not.toContain('next.json');
      await host.close();
    }
    host = await open();
  });

  const copyOfData = () => {
    const copy = mkdtempSync(path.join(tmpdir(), 'reducerdb-publish-static-'));
    cpSync(directory ?? '', copy, { recursive: true });
    return copy;
  };

  it('keeps them through publishes and resets without any, and drops them when told', async () => {
    await publish(await upload({ '/a': 'a' }));
    await publish({ text: other });
    await host.reset(ada, 'shop', undefined);
    await publish({ clear: true });
    expect(await paths()).toEqual(['/a']);
    await publish({ ...(await upload({ '/b': 'b' })), clear: true });
    expect(await paths()).toEqual(['/b']);
    await publish({ static: { kind: 'none' } });
    expect(await paths()).toEqual([]);
    await host.remove(ada, 'shop');
    expect(existsSync(folder())).toBe(false);
  });

  it('is refused for a new database, and for files that are not here', async () => {
    const files = await upload({ '/a': 'a' });
    await expect(publish({ ...files, target: 'new' })).rejects.toThrow(
      'A new database has no static',
    );
    const unknown = { static: { kind: 'set', id: 'ab'.repeat(32) } } as const;
    await expect(publish(unknown)).rejects.toThrow('was not announced');
  });

  it('counts against quotas, each content once', async () => {
    await host.close();
    host = await open({ 'static-bytes': 10, 'owner-static-bytes': 12 });
    await publish(await upload({ '/a': '12345678', '/b': '12345678' }));
    const used = () => host.quotas.ofDatabase(host.database('shop')).at(-1);
    expect(used()).toEqual({ name: 'static-bytes', used: 8, limit: 10 });
    await expect(upload({ '/a': '12345678901' })).rejects.toThrow(
      'Quota exceeded: the static files take 11 bytes, and the limit is 10 bytes (static-bytes). ' +
        'Publish less, or ask',
    );
    await publish({ target: 'second' });
    const { identity, owner } = host.database('second');
    expect(() => host.quotas.requireStatic(owner, identity, 5)).toThrow('(owner-static-bytes)');
    expect(() => host.quotas.requireStatic(owner, identity, 4)).not.toThrow();
  });

  it('needs no folder', async () => {
    await host.close();
    rmSync(directory ?? '', { recursive: true });
    directory = undefined;
    host = await open();
    await publish();
    await publish({ ...(await upload({ '/a': 'a' })), text: other });
    expect(await paths()).toEqual(['/a']);
    const content = await host.sites.content(host.resolve('shop'), hashOf('a'));
    expect(Buffer.from((await content?.slice(0, 9)) ?? '').toString()).toBe('a');
  });
});
