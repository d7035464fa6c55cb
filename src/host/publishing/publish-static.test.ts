import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { buildText } from '../../../test/support/build-text.ts';
import { hostOptions } from '../../../test/support/host-options.ts';
import { shopModule } from '../../../test/support/shop-module.ts';
import { hashHex } from '../../database/program-hash.ts';
import type { ReportLine } from '../../node/report-line.ts';
import { bytesText } from '../../values/bytes-text.ts';
import { identityToHex } from '../../values/identity.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { Host } from '../host.ts';
import { programHash } from '../linking/program-hash.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { QuotaLimits } from '../registry/quota-limits.ts';
import { DiskShelf } from '../sites/disk-shelf.ts';
import type { PublishRequest } from './publish-request.ts';

const ada: HostCaller = {
  identity: callerIdentity(0xadan),
  payload: '{"sub":"ada"}',
  isAnonymous: false,
};

const other = `${shopModule()}\n// another program\n`;
const hashOf = (content: string) => createHash('sha256').update(content).digest('hex');

const ownerQuota = 'owner-static-bytes';

function setOf(contents: Readonly<Record<string, string>>) {
  const files = Object.entries(contents).map(([at, content]) => {
    return { path: at, hash: hashOf(content), bytes: Buffer.byteLength(content) };
  });
  return { files, headers: '' };
}

async function* inOne(content: string): AsyncGenerator<Uint8Array> {
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
    vi.restoreAllMocks();
    await host.close();
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  });

  async function publish(more: Partial<PublishRequest> & { text?: string } = {}) {
    const { text = shopModule(), ...rest } = more;
    const plain = { caller: ada, target: 'shop', clear: false, policy: 'compatible' } as const;
    const program = await buildText(text);
    return host.publish({ ...plain, program, token: undefined, confirmMillis: 5_000, ...rest });
  }

  const quotaOf = (target: string) => {
    const { identity, owner } = host.database(target);
    return host.quotas.ofSite(owner, identity);
  };

  async function upload(contents: Readonly<Record<string, string>>, target = 'shop') {
    const { identity } = host.database(target);
    const quota = quotaOf(target);
    const { id, missing } = await host.sites.announce(identity, setOf(contents), quota);
    const all = Object.values(contents);
    for (const hash of missing) {
      const content = all.find((each) => hashOf(each) === hash) ?? '';
      await host.sites.receive(identity, hash, inOne(content), quota);
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

  it('says that the disk is full, and not where it is', async () => {
    const where = path.join(directory ?? '', 'databases/x/static/y.set');
    const error = Object.assign(new Error('no space'), { code: 'ENOSPC', path: where });
    vi.spyOn(DiskShelf.prototype, 'replace').mockRejectedValueOnce(error);
    const text =
      'Static files: the disk of the service is full. Nothing was published. Try again once ' +
      'there is space';
    const body = { code: 'database.full', message: text, retryAfterSeconds: 1 };
    await expect(upload({ '/a': 'a' })).rejects.toMatchObject({ body });
    expect(reports.at(-1)?.message).toContain(`${where} cannot be written: the disk is full`);
    await publish(await upload({ '/a': 'a' }));
    expect(await paths()).toEqual(['/a']);
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
    await host.sites.stage(identity, files.static, deploy, quotaOf('shop'));
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
    const quota = quotaOf('second');
    expect(() => quota.requireMore(5)).toThrow('(owner-static-bytes)');
    expect(() => quota.requireMore(4)).not.toThrow();
  });

  it('counts for its owner as it is kept, published or not', async () => {
    const text = 'a page '.repeat(200);
    await host.close();
    host = await open({ 'owner-static-bytes': 1_500 });
    await publish({ target: 'second' });
    await upload({ '/a.html': text });
    const { identity, owner } = host.database('shop');
    const kept = host.sites.keptBytesOf(identity);
    // In its own form, which is of 1,400 bytes, and in two that are compressed.
    expect(kept).toBeGreaterThan(1_400);
    expect(kept).toBeLessThan(1_500);
    const used = () => host.quotas.ofIdentity(owner).find(({ name }) => name === ownerQuota)?.used;
    expect(used()).toBe(kept);
    const refused = upload({ '/b': 'b'.repeat(101) }, 'second');
    await expect(refused).rejects.toThrow(
      `Quota exceeded: the static files of its owner take ${bytesText(kept)}, with compressed ` +
        'forms and what was uploaded or replaced lately; 101 bytes more would come, and the ' +
        'limit is 1.46 KiB (owner-static-bytes). Publish less, or wait until replaced files ' +
        '(10 minutes) and unpublished ones (60 minutes) are removed, or ask an operator',
    );
    expect(host.sites.keptBytesOf(host.resolve('second'))).toBe(0);
    // A restart counts them, too.
    await host.close();
    host = await open({ 'owner-static-bytes': 1_500 });
    expect(used()).toBe(kept);
    await expect(upload({ '/b': 'b'.repeat(101) }, 'second')).rejects.toThrow(ownerQuota);
    // What is published takes the place of what is served.
    await publish(await upload({ '/a.html': text }));
    await publish(await upload({ '/a.html': text.slice(1) }));
    await publish({ static: { kind: 'none' } });
  });

  it('is checked again as each content comes', async () => {
    await host.close();
    host = await open({ 'owner-static-bytes': 10 });
    const { identity } = host.database('shop');
    const [one, other] = ['1234567', '7654321'];
    await host.sites.announce(identity, setOf({ '/a': one }), quotaOf('shop'));
    await host.sites.announce(identity, setOf({ '/b': other }), quotaOf('shop'));
    const quota = quotaOf('shop');
    const receive = (content: string) =>
      host.sites.receive(identity, hashOf(content), inOne(content), quota);
    // The first is still under way when the second comes.
    const both = await Promise.allSettled([receive(one), receive(other)]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(host.sites.keptBytesOf(identity)).toBe(7);
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
