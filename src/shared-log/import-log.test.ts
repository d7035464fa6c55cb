import { describe, expect, it } from 'vitest';
import { LogWriter } from '../../test/support/log-writer.ts';
import { beginningOf, ClusterPerson } from '../../test/support/shared-log-people.ts';
import type { LogPoint } from '../log/log-point.ts';
import type { LogWrite } from '../log/replicated-write.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { decodeEntry } from './entry.ts';
import { type Beginning, decodeBeginning } from './entry-payloads.ts';
import { fetchLog } from './fetch-log.ts';
import { ImportError, type ImportedLog, importLog } from './import-log.ts';
import { clusterId, logName } from './log-name.ts';
import { MemoryEngine } from './memory-engine.ts';
import { EngineError, type SharedLog } from './shared-log.ts';
import { Tail } from './tail.ts';

const log = logName(clusterId(1n), databaseIdentity(9n), 1);
const anna = new ClusterPerson(1n);
const clock = {
  now: () => performance.now(),
  after: (millis: number, work: () => void) => void setTimeout(work, millis).unref(),
};

function beginning(salt: number): Beginning {
  const reading = decodeEntry(beginningOf(salt).bytes);
  const found = reading.kind === 'valid' ? decodeBeginning(reading.entry.payload) : undefined;
  if (found?.kind !== 'valid') throw new Error('entry 0 is valid');
  return found.beginning;
}

/** The log of a machine that was stopped every now and then, with some large records. */
function machineLog(commitCount: number, salt = 7): ImportedLog & { readonly bytes: Buffer } {
  const tail = new Tail();
  tail.accept(beginningOf(salt));
  const writer = new LogWriter(salt, tail.point);
  const chains = new Map<number, bigint>([[tail.point.position, tail.point.chain]]);
  const writes: LogWrite[] = [];
  for (let at = 1; at <= commitCount; at++) {
    writer.commit('add', new Uint8Array(at % 5 === 0 ? 900 : 20).fill(at));
    chains.set(writer.point.position, writer.point.chain);
    if (at % 4 === 0) writer.stop();
    chains.set(writer.point.position, writer.point.chain);
    writes.push(writer.take());
  }
  return {
    beginning: beginning(salt),
    end: writer.point,
    bytes: Buffer.concat(writes.map(({ records }) => records)),
    chainAt: (position) => chains.get(position),
    writesBehind: (point: LogPoint) => writes.filter(({ end }) => end.position > point.position),
  };
}

function importing(sharedLog: SharedLog, source: ImportedLog, me = anna.lead) {
  return importLog({
    ...{ sharedLog, log, source, me, entryBytesMax: 300 },
    pause: async () => {},
  });
}

/** All records that the engine has. */
async function recordsIn(engine: MemoryEngine): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  await fetchLog(engine.connect('reader'), log, {
    begin: async () => undefined,
    apply: async ({ records }) => void pieces.push(records.slice()),
  });
  return Buffer.concat(pieces);
}

describe('the log of a single machine', () => {
  it('[replication 16.3, 4.1] becomes entries with its bytes, and stops in it stay', async () => {
    const engine = new MemoryEngine({ clock });
    const source = machineLog(20);
    const positions: number[] = [];
    const sharedLog = engine.connect('a');
    await importLog({
      ...{ sharedLog, log, source, me: anna.lead, entryBytesMax: 300, pause: async () => {} },
      onPosition: (position) => positions.push(position),
    });
    expect((await recordsIn(engine)).equals(source.bytes)).toBe(true);
    expect(positions.at(-1)).toBe(source.end.position);
    expect(positions).toEqual(positions.toSorted((one, other) => one - other));
    const count = engine.settledEntries(log).length;
    await importing(sharedLog, source);
    expect(engine.settledEntries(log)).toHaveLength(count);
  });

  it('[replication 16.3] is imported again after an end at any append', async () => {
    const source = machineLog(12);
    const whole = new MemoryEngine({ clock });
    await importing(whole.connect('a'), source);
    // Entry 0 is not appended.
    const entryCount = whole.settledEntries(log).length;
    for (let ends = 0; ends < entryCount - 1; ends++) {
      const engine = new MemoryEngine({ clock });
      const client = engine.connect('a');
      let left = ends;
      const dying: SharedLog = {
        ...shared(client),
        append: async (items) => {
          if (left-- <= 0) throw new EngineError('the process ended');
          return client.append(items);
        },
      };
      const ended = await importing(dying, source).then(() => 'done', String);
      expect(ended).toBe('EngineError: the process ended');
      // Alone it has gone on meanwhile; another process imports.
      const later = machineLog(15);
      await importing(engine.connect('b'), later, new ClusterPerson(1n, 2n).lead);
      expect((await recordsIn(engine)).equals(later.bytes)).toBe(true);
    }
  });

  it('[replication 16.3] is refused where the engine has another one', async () => {
    const engine = new MemoryEngine({ clock });
    await importing(engine.connect('a'), machineLog(8));
    const other = importing(engine.connect('b'), machineLog(8, 99));
    await expect(other).rejects.toThrow(ImportError);
    // The same folder, from a copy that ends before.
    await expect(importing(engine.connect('b'), machineLog(3))).rejects.toThrow(
      'the engine has another log of this database, at offset',
    );
  });

  it('[replication 16.3, 5.4] is given up where another process writes to it', async () => {
    const engine = new MemoryEngine({ clock });
    const client = engine.connect('a');
    let count = 0;
    const raced: SharedLog = {
      ...shared(client),
      append: async (items) => {
        if (++count === 3) await importing(engine.connect('b'), machineLog(12), bert.lead);
        return client.append(items);
      },
    };
    await expect(importing(raced, machineLog(12))).rejects.toThrow('at one host alone');
    expect((await recordsIn(engine)).equals(machineLog(12).bytes)).toBe(true);
  });
});

const bert = new ClusterPerson(2n);

function shared(client: SharedLog): SharedLog {
  return {
    append: (items) => client.append(items),
    read: (...asked) => client.read(...asked),
    wait: (...asked) => client.wait(...asked),
    confirm: (items) => client.confirm(items),
    truncate: (...asked) => client.truncate(...asked),
    create: (...asked) => client.create(...asked),
    remove: (of) => client.remove(of),
    capabilities: () => client.capabilities(),
  };
}
