import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { random128 } from '../../src/cluster/host-file.ts';
import {
  isImportUnderWay,
  markImport,
  registryImport,
  storeLogs,
} from '../../src/cluster/import-folder.ts';
import { Host } from '../../src/host/host.ts';
import { limits } from '../../src/limits.ts';
import { MachineClock } from '../../src/node/clock.ts';
import { MachineEntropy } from '../../src/node/entropy.ts';
import { hostId } from '../../src/shared-log/host-ids.ts';
import { clusterId } from '../../src/shared-log/log-name.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { buildText } from '../support/build-text.ts';
import { ada, ClusterHosts } from '../support/cluster-hosts.ts';
import { hostOptions } from '../support/host-options.ts';
import { shopModule } from '../support/shop-module.ts';

let cluster: ClusterHosts;
let folder: string;

beforeEach(() => {
  cluster = new ClusterHosts('local');
  folder = mkdtempSync(path.join(os.tmpdir(), 'reducerdb-import-'));
});
afterEach(async () => {
  await cluster.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Publishes databases at a host that is alone. */
async function published(names: readonly string[], directory = folder): Promise<string[]> {
  const host = await Host.open(hostOptions({ directory }));
  const program = await buildText(shopModule());
  for (const target of names) {
    await host.publish({
      ...{ caller: ada, target, program, clear: false },
      ...{ policy: 'compatible', token: undefined, confirmMillis: 5_000 },
    });
  }
  const identities = names.map((name) => identityToHex(host.resolve(name)));
  await host.close();
  return identities;
}

const lines: string[] = [];
const around = () => ({
  ...{ dataDirectory: folder, clock: new MachineClock(), entropy: new MachineEntropy() },
  report: ({ message }: { readonly message: string }) => void lines.push(message),
});
const goal = () => ({
  ...{ cluster: clusterId(7n), host: hostId(random128()), name: 'a', history: 'memory:1:1' },
  ...{ engine: cluster.engine.connect('importer'), entryBytesMax: limits.entryBytesMin },
});

describe('a folder that is imported', () => {
  it('[replication 16.3, 7.10] stays as it was until all logs are stored', async () => {
    await published(['shop', 'cellar']);
    lines.length = 0;
    await storeLogs(around(), goal());
    expect(lines[0]).toBe('import: checking 2 databases');
    expect(lines.filter((line) => /^import: database \d of 2, /.test(line))).toHaveLength(2);
    expect(isImportUnderWay(folder)).toBe(false);
    // Alone it can go on, and be imported again.
    const host = await Host.open(hostOptions({ directory: folder }));
    await host.close();
    await storeLogs(around(), goal());
    await markImport(folder);
    expect(isImportUnderWay(folder)).toBe(true);
    const first = await registryImport(around());
    // As if it had ended here.
    const again = await registryImport(around());
    expect(again.parts).toEqual(first.parts);
    const copy = `${folder}-copy`;
    cpSync(folder, copy, { recursive: true });
    renameSync(path.join(copy, 'registry-imported'), path.join(copy, 'registry'));
    const a = await cluster.start('a', { directory: folder, adopts: again });
    expect([...a.host.databases].map(({ identity }) => a.host.namesOf(identity))).toEqual([
      ['shop'],
      ['cellar'],
    ]);
    expect(isImportUnderWay(folder)).toBe(false);
    const shop = a.host.database('shop').identity;
    await a.until(shop, ({ kind }) => kind === 'leader');
    expect(await a.items(shop)).toEqual(['made by init']);
    const b = await cluster.start('b');
    await b.until(shop, (role) => role.kind === 'follower' && role.isAtEnd);
    expect(b.host.namesOf(shop)).toEqual(['shop']);

    const twice = await storeLogs({ ...around(), dataDirectory: copy }, goal()).then(
      () => '',
      String,
    );
    rmSync(copy, { recursive: true });
    const shown = `shop (${identityToHex(shop)})`;
    expect(twice).toContain(`- the cluster has a database with the identity of ${shown}.`);
  });

  it('[replication 16.3] is refused for names and identities that the cluster has', async () => {
    const a = await cluster.start('a');
    const { identity } = await a.publish('shop');
    const [own = ''] = await published(['shop', 'cellar']);
    const text = await storeLogs(around(), goal()).then(() => '', String);
    expect(text).toContain(`${folder} was not imported, and nothing was changed`);
    expect(text).toContain(
      `the name shop of shop (${own}) is taken there, by the database ${identityToHex(identity)}`,
    );
    expect(text).not.toContain('cellar');
  });

  it('[replication 16.3] is refused with static files, and with logs that are not whole', async () => {
    const [shop = '', cellar = '', attic = ''] = await published(['shop', 'cellar', 'attic']);
    const of = (identity: string, ...rest: string[]) =>
      path.join(folder, 'databases', identity, ...rest);
    mkdirSync(of(shop, 'static'));
    const deploy = { generation: 1, program: '', commit: 1 };
    const served = { format: 'static-1', set: 'ab'.repeat(32), bytes: 1, earlier: [], ...deploy };
    writeFileSync(of(shop, 'static', 'served.json'), JSON.stringify(served));
    renameSync(
      of(cellar, 'log-1', 'commit-00000001-0000000000000001.log'),
      of(cellar, 'log-1', 'commit-00000002-0000000000000001.log'),
    );
    renameSync(of(attic, 'log-1'), of(attic, 'elsewhere'));
    const text = await storeLogs(around(), goal()).then(() => '', String);
    expect(text).toContain(`- shop (${shop}): it serves static files`);
    expect(text).toContain('publish it with --delete-static');
    expect(text).toContain(`- cellar (${cellar}): the beginning of its log was deleted`);
    expect(text).toContain('reducerdb export');
    expect(text).toContain(`- attic (${attic}): `);
    expect(text).toContain('is not there. Find out more with `reducerdb verify`');
    expect(existsSync(path.join(folder, 'import.json'))).toBe(false);
  });
});
