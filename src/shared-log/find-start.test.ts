import { describe, expect, it } from 'vitest';
import { LogWriter } from '../../test/support/log-writer.ts';
import { beginningOf, ClusterPerson } from '../../test/support/shared-log-people.ts';
import { limits } from '../limits.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { decodeEntry, entryKinds } from './entry.ts';
import { decodeBeginning, encodeRestart } from './entry-payloads.ts';
import { findStart } from './find-start.ts';
import { clusterId, logName } from './log-name.ts';
import { draftsOf } from './log-write.ts';
import type { StoredEntry } from './shared-log.ts';
import { Tail } from './tail.ts';

const log = logName(clusterId(1n), databaseIdentity(2n), 1);
const anna = new ClusterPerson(1n);
const bert = new ClusterPerson(2n);

/** A log of two leaders, with empty entries and parts, and the chain at each border of records. */
function written(entryCount: number) {
  const tail = new Tail();
  const entries: StoredEntry[] = [];
  const chains = new Map<number, bigint>();
  const add = (entry: StoredEntry): void => {
    expect(tail.accept(entry).kind).not.toBe('fault');
    entries.push(entry);
    chains.set(tail.point.position, tail.point.chain);
  };
  const first = beginningOf(7);
  add(first);
  const { beginning } = beginningIn(first);
  add(anna.term(tail));
  const writer = new LogWriter(7, tail.point);
  for (let at = 0; entries.length < entryCount; at++) {
    if (entries.length === Math.floor(entryCount / 2)) add(bert.term(tail));
    const { lead, promised } = tail;
    if (at % 40 === 39 && lead !== undefined) {
      const payload = encodeRestart({ beginning, lead, promised });
      const by = lead.boot === bert.lead.boot ? bert : anna;
      add(by.made(tail, { kind: entryKinds.restart, payload, acknowledged: tail.acknowledged }));
    }
    const leader = tail.lead?.boot === bert.lead.boot ? bert : anna;
    const isLarge = at % 50 === 49;
    for (let one = 0; one < 3; one++) {
      writer.commit('add', new Uint8Array(isLarge && one === 2 ? 500 : 10).fill(at));
      chains.set(writer.point.position, writer.point.chain);
    }
    const write = writer.take();
    if (isLarge) {
      for (const { kind, payload, end } of draftsOf([write], tail.point, 300)) {
        add(leader.made(tail, { kind, payload, end, acknowledged: tail.acknowledged }));
      }
    } else {
      const { records: payload, end } = write;
      add(leader.made(tail, { payload, end, acknowledged: tail.acknowledged }));
    }
    if (at % 3 === 0) add(leader.empty(tail, tail.point.offset));
  }
  return { entries, tail, chains };
}

function beginningIn({ bytes }: StoredEntry) {
  const reading = decodeEntry(bytes);
  const found = reading.kind === 'valid' ? decodeBeginning(reading.entry.payload) : undefined;
  if (found?.kind !== 'valid') throw new Error('entry 0 says how a log begins');
  return found;
}

const isRestart = ({ bytes }: StoredEntry): boolean => {
  const reading = decodeEntry(bytes);
  return reading.kind === 'valid' && reading.entry.kind === entryKinds.restart;
};

function engineOf(all: readonly StoredEntry[]) {
  const first = all[0]?.seq ?? 0;
  let reads = 0;
  return {
    read: async (_: unknown, from: number, __: number, countMax = 1_000) => {
      reads++;
      const entries = all.filter(({ seq }) => seq >= from).slice(0, countMax);
      return { entries, first };
    },
    reads: () => reads,
  };
}

const count = 4 * limits.startSearchEntriesMin;

describe('where a host reads on', () => {
  const { entries, chains } = written(count);
  const chainAt = (position: number) => chains.get(position);

  it('[replication 6.1] is behind what its local log has, as if all of it were read', async () => {
    const positions = [...chains.keys()].sort((one, other) => one - other);
    for (const position of positions.filter((_, at) => at % 17 === 0).slice(1)) {
      const engine = engineOf(entries);
      const found = await findStart(engine, log, { position, chainAt });
      if (found === undefined) throw new Error(`nothing found for ${position}`);
      expect(found.start.point.position).toBeLessThanOrEqual(position);
      const whole = new Tail();
      for (const entry of entries.slice(0, found.start.last.seq + 1)) whole.accept(entry);
      const tail = Tail.at(found.start);
      for (const key of ['next', 'point', 'salt', 'term', 'lead', 'acknowledged'] as const) {
        expect(tail[key]).toEqual(whole[key]);
      }
      expect(tail.last).toEqual(whole.last);
      // The next entry with records is one that the local log does not have whole.
      const rest = entries.slice(tail.next);
      for (const entry of rest.slice(0, 20)) expect(tail.accept(entry).kind).not.toBe('fault');
      expect(engine.reads()).toBeLessThan(80);
    }
  });

  it('[replication 6.1, 6.2] is the same in a log whose beginning was removed', async () => {
    const restarts = entries.filter(isRestart);
    const left = entries.slice(restarts[1]?.seq);
    const engine = engineOf(left);
    const positions = [...chains.keys()].sort((one, other) => one - other);
    let found = 0;
    for (const position of positions.filter((_, at) => at % 29 === 0).slice(1)) {
      const upTo = (at: number) => (at > position ? undefined : chainAt(at));
      const local = { position, chainAt: upTo };
      const there = await findStart(engine, log, local);
      if (there === undefined) continue;
      found++;
      const whole = await findStart(engineOf(entries), log, local);
      expect(there.start).toEqual(whole?.start);
      expect(Tail.at(there.start).next).toBeGreaterThan(left[0]?.seq ?? 0);
    }
    expect(found).toBeGreaterThan(positions.length / 29 / 2);
  });

  it('[replication 6.1] is before the last records where the local log has more', async () => {
    const last = [...chains.keys()].reduce((one, other) => Math.max(one, other));
    const local = { position: last + 1_000, chainAt };
    const found = await findStart(engineOf(entries), log, local);
    expect(found?.start.last.seq).toBeGreaterThan(entries.length - 20);
    expect(found?.start.lead).toEqual(bert.lead);
  });

  it('[replication 6.1] is nowhere if the local log is another one, or the log short', async () => {
    const position = [...chains.keys()][500] ?? 0;
    const other = { position, chainAt: () => 1n };
    expect(await findStart(engineOf(entries), log, other)).toBeUndefined();
    const gone = { position, chainAt: () => undefined };
    expect(await findStart(engineOf(entries), log, gone)).toBeUndefined();
    const empty = { position: 0, chainAt };
    expect(await findStart(engineOf(entries), log, empty)).toBeUndefined();
    const short = engineOf(entries.slice(0, limits.startSearchEntriesMin));
    expect(await findStart(short, log, { position, chainAt })).toBeUndefined();
    expect(short.reads()).toBe(2);
  });
});
