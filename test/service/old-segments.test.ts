import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CommitLog } from '../../src/log/commit-log.ts';
import { epoch, epochOfSalt } from '../../src/log/epoch.ts';
import type { LogOptions } from '../../src/log/log-options.ts';
import type { LogRecord } from '../../src/log/record.ts';
import { readSegmentHeader } from '../../src/log/segment.ts';
import { withReader } from '../../src/log/segment-reader.ts';
import { verifyLog, verifySnapshots } from '../../src/log/verify.ts';
import { MachineDisk } from '../../src/node/disk.ts';
import { identityFromHex } from '../../src/values/identity.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';
import { appendRandom } from '../simulation/log-fixture.ts';
import { textOf } from '../simulation/log-records.ts';
import { Collector, writeSnapshot } from '../simulation/snapshot-fixture.ts';
import { Sandbox } from './harness.ts';
import { unpackOldData } from './old-data.ts';
import { Remote } from './remote.ts';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await Sandbox.make();
  unpackOldData(path.join(sandbox.folder, 'root/data'), 'data-folder-segments');
});
afterEach(() => sandbox.remove());

describe('a data folder with segments of version 1', () => {
  it('[history 1.5] opens with its rows, and its sequence goes on', async () => {
    const service = await sandbox.start(['--isolation', 'thread']);
    const remote = await Remote.of(sandbox.url);
    const numbers = () => remote.rows('ledger', 'SELECT number FROM entry ORDER BY number');
    // Its program is linked first, which may take longer than a request waits.
    await expect
      .poll(numbers, { timeout: 300_000 })
      .toEqual([1, 3, 4, 5, 6, 7, 8, 9].map((number) => [number]));
    expect(await remote.rows('ledger', 'SELECT text FROM remark')).toEqual([['one'], ['two']]);
    await sandbox.ok(['call', 'ledger', 'append', '2', '10']);
    const [row] = await remote.rows('ledger', 'SELECT id FROM entry WHERE number = 10');
    expect(Number(row?.[0])).toBeGreaterThan(11);
    expect(await service.stop()).toBe(0);
    expect(await sandbox.ok(['verify'])).not.toMatch(/damaged|missing/);
  });

  it('[history 1.5, 2.31, R5, cli 7.7] gets new segments and snapshots, which verify checks', async () => {
    const databases = path.join(sandbox.folder, 'root/data/databases');
    const [name = ''] = readdirSync(databases);
    const identity = databaseIdentity(identityFromHex(name) ?? 0n);
    const disk = new MachineDisk(path.join(databases, name, 'log-1'));
    const open = async (options: Partial<LogOptions> = {}) => {
      const found: string[] = [];
      const log = await CommitLog.open(disk, {
        databaseIdentity: identity,
        create: false,
        salt: 1,
        epoch: epoch(1n),
        segmentBytes: 1024,
        onRecord: (record: LogRecord) => found.push(textOf(record)),
        warn: (message) => expect.fail(message),
        ...options,
      });
      return { log, found };
    };
    const first = await open();
    expect(first.log.offset).toBe(46);
    const records = [...first.found, ...appendRandom(first.log, 1, 10)];
    first.log.write();
    const content = { place: first.log.snapshotPlace(1n), salt: 1, records, rowsPerBlock: 1 };
    await writeSnapshot(disk, { ...content, records: records.slice() }, () => first.log.sync());
    records.push(...appendRandom(first.log, 2, 10));
    await first.log.close();

    const headers = disk
      .list()
      .filter((file) => file.endsWith('.log'))
      .map((file) => {
        return withReader(disk, file, (reader) => {
          const bytes = reader.header().slice();
          return { version: bytes[8], reading: readSegmentHeader(bytes) };
        });
      });
    expect(headers.map(({ version }) => version)).toEqual([1, ...headers.slice(1).map(() => 2)]);
    expect(headers.length).toBeGreaterThan(1);
    for (const { reading } of headers) {
      if (reading.kind !== 'valid') throw new Error(reading.kind);
      expect(reading.header.epoch).toBe(epochOfSalt(reading.header.salt));
      expect(reading.header.hasMark).toBe(true);
    }
    const whole = await open();
    expect(whole.found).toEqual(records);
    whole.log.abandon();
    const collector = new Collector();
    const second = await open({ snapshots: collector });
    expect([...collector.records, ...second.found]).toEqual(records);
    expect(collector.records.length).toBeGreaterThan(46);
    second.log.abandon();
    expect(verifyLog(disk, identity)).toMatchObject({ kind: 'intact' });
    const [snapshot] = verifySnapshots(disk, identity);
    expect(snapshot).toMatchObject({ kind: 'intact' });

    const file = path.join('databases', name, 'log-1', snapshot?.name ?? '');
    const row = (state: string) =>
      new RegExp(`^ ${file} +\\| ${state} +\\| ${snapshot?.offset} `, 'm');
    expect(await sandbox.ok(['verify'])).toMatch(row('intact'));
    const place = path.join(sandbox.folder, 'root/data', file);
    const bytes = readFileSync(place);
    bytes[300] = (bytes[300] ?? 0) ^ 1;
    writeFileSync(place, bytes);
    const { code, stdout, stderr } = await sandbox.run(['verify']);
    expect(stdout).toMatch(row('damaged'));
    expect([code, stderr]).toEqual([1, 'Error: 1 of 3 logs and snapshots are damaged.\n']);
  });
});
