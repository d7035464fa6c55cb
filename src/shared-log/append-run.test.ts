import { describe, expect, it } from 'vitest';
import { beginningOf, ClusterPerson } from '../../test/support/shared-log-people.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { type AppendOutcome, judgeAppend, runAppend } from './append-run.ts';
import { clusterId, logName } from './log-name.ts';
import type { AppendResult, SharedLog, StoredEntry } from './shared-log.ts';
import { Tail } from './tail.ts';

const log = logName(clusterId(1n), databaseIdentity(2n), 1);
const anna = new ClusterPerson(1n);
const bert = new ClusterPerson(2n);

const tail = new Tail();
const zero = beginningOf(7);
tail.accept(zero);
const term = anna.term(tail);
tail.accept(term);
const mine = anna.empty(tail);
const theirs = bert.term(tail);

/** What an engine does with one append: what it keeps of it, and what it answers. */
type Deed = (entries: StoredEntry[], entry: StoredEntry) => AppendResult;

const store: Deed = (entries, entry) => {
  entries.push(entry);
  return 'stored';
};
const storeSilently: Deed = (entries, entry) => {
  entries.push(entry);
  return 'unknown';
};
const lose: Deed = () => 'unknown';
const pass: Deed = () => 'passed';
const another: Deed = (entries) => {
  entries.push(theirs);
  return 'passed';
};

/** Runs an append against an engine that does these things, one after another. */
async function run(deeds: readonly Deed[], options: { readonly isHandOver?: boolean } = {}) {
  const entries = [zero, term];
  const sent: number[] = [];
  const left = [...deeds];
  const sharedLog = {
    append: async ([item]: readonly { seq: number; bytes: Uint8Array }[]) => {
      sent.push(item?.seq ?? -1);
      return [left.shift()?.(entries, item as StoredEntry) ?? 'unknown'];
    },
    read: async (_: unknown, from: number) => ({ entries: entries.slice(from), first: 0 }),
  } as unknown as SharedLog;
  const emptyAt = (seq: number) => ({ ...mine, seq }).bytes;
  const attempt = {
    log,
    entry: mine,
    previous: term.bytes,
    emptyAt: options.isHandOver === true ? undefined : emptyAt,
  };
  const outcome = await runAppend(sharedLog, attempt, {
    pause: async () => undefined,
    isStopped: () => left.length === 0 && sent.length > deeds.length,
  });
  return { outcome, sent, entries };
}

function kindOf({ outcome }: { readonly outcome: AppendOutcome }): string {
  return outcome.kind;
}

describe('an append', () => {
  it('[replication 5.5] that is stored is over', async () => {
    const { outcome, sent } = await run([store]);
    expect(outcome).toEqual({ kind: 'stored', entries: [mine] });
    expect(sent).toEqual([2]);
  });

  it('[replication 5.5] whose result is unknown, and that is absent, is repeated', async () => {
    const { outcome, sent, entries } = await run([lose, lose, lose, store]);
    expect(outcome.kind).toBe('stored');
    expect(sent).toEqual([2, 2, 2, 2]);
    expect(entries).toHaveLength(3);
  });

  it('[replication 5.5, 5.6] that is seen is settled by an empty one behind it', async () => {
    const { outcome, sent } = await run([storeSilently, store]);
    expect(outcome.kind === 'stored' && outcome.entries.map(({ seq }) => seq)).toEqual([2, 3]);
    expect(sent).toEqual([2, 3]);
    const more = await run([storeSilently, storeSilently, lose, store]);
    expect(kindOf(more)).toBe('stored');
    expect(more.sent).toEqual([2, 3, 4, 4]);
  });

  it('[replication 5.5] that is passed because its first copy came in is read', async () => {
    const late: Deed = (entries, entry) => {
      entries.push(entry);
      return 'passed';
    };
    const { outcome, sent } = await run([lose, late, store]);
    expect(outcome.kind).toBe('stored');
    expect(sent).toEqual([2, 2, 3]);
  });

  it('[replication 5.4] in whose place is another entry ends the term', async () => {
    expect(kindOf(await run([another]))).toBe('overtaken');
    expect(kindOf(await run([lose, another]))).toBe('overtaken');
    const { sent } = await run([lose, another, store]);
    expect(sent).toEqual([2, 2]);
  });

  it('[replication 6.9] to which the engine lacks the entry before is behind', async () => {
    const forget: Deed = (entries) => {
      entries.pop();
      return 'passed';
    };
    expect(kindOf(await run([forget]))).toBe('behind');
  });

  it('[replication 5.4] behind an entry that is another than this host knows is overtaken', () => {
    const read = { entries: [{ seq: 1, bytes: bert.term(tail).bytes }], first: 0 };
    expect(judgeAppend(read, { entry: mine, previous: term.bytes })).toBe('overtaken');
    expect(judgeAppend({ entries: [], first: 3 }, { entry: mine, previous: term.bytes })).toBe(
      'overtaken',
    );
  });

  it('[replication 9.4] that gives the term away is not followed by one of this host', async () => {
    const { outcome, sent } = await run([storeSilently, store], { isHandOver: true });
    expect(outcome.kind).toBe('seen');
    expect(sent).toEqual([2]);
  });

  it('[replication 3.1] that is passed, and whose place is free, is repeated', async () => {
    const { outcome, sent } = await run([pass, store]);
    expect(outcome.kind).toBe('stored');
    expect(sent).toEqual([2, 2]);
  });
});
