import { entryKinds } from '../../src/shared-log/entry.ts';
import type { LogName } from '../../src/shared-log/log-name.ts';
import type { SharedLog, StoredEntry } from '../../src/shared-log/shared-log.ts';
import { Tail } from '../../src/shared-log/tail.ts';
import { LogWriter } from './log-writer.ts';
import { beginningOf, ClusterPerson } from './shared-log-people.ts';

/** Entries of a log with two terms: a beginning, and two commits in most of the others. */
export function logOf(entryCount: number): readonly StoredEntry[] {
  const tail = new Tail();
  const entries: StoredEntry[] = [];
  const add = (entry: StoredEntry): void => {
    if (tail.accept(entry).kind === 'fault') throw new Error('a log that contradicts itself');
    entries.push(entry);
  };
  const [anna, bert] = [new ClusterPerson(1n), new ClusterPerson(2n)];
  add(beginningOf(7));
  add(anna.term(tail));
  const writer = new LogWriter(7, tail.point);
  while (entries.length < entryCount) {
    if (entries.length === Math.floor(entryCount / 2)) add(bert.term(tail));
    const leader = tail.lead?.boot === bert.lead.boot ? bert : anna;
    for (let one = 0; one < 2; one++) writer.commit('add', new Uint8Array(40).fill(one));
    const { records: payload, end } = writer.take();
    const acknowledged = tail.point.offset;
    add(leader.made(tail, { kind: entryKinds.records, payload, end, acknowledged }));
  }
  return entries;
}

/** Stores them in an engine. */
export async function store(
  sharedLog: SharedLog,
  log: LogName,
  entries: readonly StoredEntry[],
): Promise<void> {
  for (const { seq, bytes } of entries) {
    const done =
      seq === 0
        ? await sharedLog.create(log, bytes)
        : (await sharedLog.append([{ log, seq, bytes }]))[0];
    if (done !== 'created' && done !== 'stored') throw new Error(`entry ${seq} is ${done}`);
  }
}
