import { describe, expect, it } from 'vitest';
import { LogWriter } from '../../test/support/log-writer.ts';
import { beginningOf, ClusterPerson } from '../../test/support/shared-log-people.ts';
import { limits } from '../limits.ts';
import type { LogWrite } from '../log/replicated-write.ts';
import { entryKinds } from './entry.ts';
import { draftsOf } from './log-write.ts';
import { Tail, type TailStep } from './tail.ts';

const anna = new ClusterPerson(1n);
const bert = new ClusterPerson(2n);

/** A tail with a beginning and a term of Anna's, and a writer at its end. */
function begun(): { tail: Tail; writer: LogWriter } {
  const tail = new Tail();
  expect(tail.accept(beginningOf(77)).kind).toBe('beginning');
  const writer = new LogWriter(77, tail.point);
  expect(tail.accept(anna.term(tail)).kind).toBe('term');
  return { tail, writer };
}

function commits(writer: LogWriter, count: number, bytes = 10): LogWrite {
  for (let at = 0; at < count; at++) writer.commit('add', new Uint8Array(bytes).fill(at));
  return writer.take();
}

function faultOf(step: TailStep): string {
  return step.kind === 'fault' ? step.fault.reason : step.kind;
}

describe('the tail of a shared log', () => {
  it('[replication 4.1] takes records as they were written, and knows where the log ends', () => {
    const { tail, writer } = begun();
    const write = commits(writer, 3);
    const step = tail.accept(anna.records(tail, write));
    expect(step).toMatchObject({ kind: 'records', end: write.end, segment: undefined });
    expect(step.kind === 'records' && Buffer.compare(step.records, write.records)).toBe(0);
    expect(tail.point).toEqual(writer.point);
    expect(tail.point.offset).toBe(3);
    expect(tail.accept(anna.empty(tail)).kind).toBe('nothing');
    expect(tail.accept(anna.records(tail, commits(writer, 1))).kind).toBe('records');
  });

  it('[replication 3.3] refuses an entry with a wrong byte, and stays where it is', () => {
    const { tail, writer } = begun();
    const entry = anna.records(tail, commits(writer, 2));
    for (let at = 0; at < entry.bytes.length; at += 7) {
      const bytes = entry.bytes.slice();
      bytes[at] = (bytes[at] as number) ^ 0x10;
      expect(tail.accept({ seq: entry.seq, bytes }).kind).toBe('fault');
    }
    expect(tail.accept({ ...entry, seq: entry.seq + 1 }).kind).toBe('fault');
    expect(tail.accept(entry).kind).toBe('records');
    expect(faultOf(tail.accept(entry))).toMatch('entry 2 came as 2, after 2');
  });

  it('[replication 5.3] refuses an entry whose writer does not lead', () => {
    const { tail, writer } = begun();
    const write = commits(writer, 1);
    expect(faultOf(tail.accept(bert.records(tail, write)))).toBe('its writer does not lead term 1');
    expect(faultOf(tail.accept(anna.made(tail, { kind: entryKinds.empty, term: 2 })))).toBe(
      'its writer does not lead term 1',
    );
    expect(tail.accept(bert.term(tail)).kind).toBe('term');
    expect(faultOf(tail.accept(anna.records(tail, write)))).toBe('its writer does not lead term 2');
    expect(tail.accept(bert.records(tail, write)).kind).toBe('records');
    expect(tail.lead?.boot).toBe(bert.lead.boot);
  });

  it('[replication 5.2] counts terms without gaps', () => {
    const { tail } = begun();
    expect(faultOf(tail.accept(bert.term(tail, { term: 3 })))).toBe('term 3 follows term 1');
    expect(faultOf(tail.accept(bert.term(tail, { term: 1 })))).toBe('term 1 follows term 1');
  });

  it('[replication 4.5] lets the leader, and nobody else, give the next term away', () => {
    const { tail } = begun();
    const toBert = { payload: bert.leadBytes };
    expect(tail.accept(anna.term(tail, toBert)).kind).toBe('term');
    expect(tail.lead?.host).toBe(bert.lead.host);
    const stranger = new ClusterPerson(3n);
    expect(faultOf(tail.accept(stranger.term(tail, { payload: anna.leadBytes })))).toBe(
      'it gives a term to another host',
    );
    expect(tail.isTermEmpty).toBe(true);
    expect(tail.accept(bert.empty(tail)).kind).toBe('nothing');
    expect(tail.isTermEmpty).toBe(false);
  });

  it('[replication 4.1] refuses records that do not continue the log', () => {
    const { tail, writer } = begun();
    const first = commits(writer, 1);
    const second = commits(writer, 1);
    const skipped = anna.made(tail, { payload: second.records, end: second.end });
    expect(faultOf(tail.accept(skipped))).toMatch('a record follows another one than it says');
    const other = new LogWriter(78, tail.point);
    other.commit('add');
    expect(faultOf(tail.accept(anna.records(tail, other.take())))).toMatch('checksum of a record');
    const { end } = first;
    const wrongEnd = anna.made(tail, { payload: first.records, end: { ...end, offset: 2 } });
    expect(faultOf(tail.accept(wrongEnd))).toBe('its records end elsewhere than it says');
    const cut = anna.made(tail, { payload: first.records.subarray(0, 40), end });
    expect(faultOf(tail.accept(cut))).toMatch('a record is cut off');
    const moved = anna.made(tail, { kind: entryKinds.empty, end });
    expect(faultOf(tail.accept(moved))).toBe('it moves the log without records');
  });

  it('[replication 4.2, 16.3] takes what a single machine has written when it was stopped', () => {
    const { tail, writer } = begun();
    writer.stop();
    const stopped = writer.take();
    expect(tail.accept(anna.records(tail, stopped)).kind).toBe('records');
    expect(tail.accept(anna.records(tail, commits(writer, 1))).kind).toBe('records');
    expect(tail.point.offset).toBe(1);
  });

  it('[replication 4.4] puts parts together, and forgets them when a term begins', () => {
    const { tail, writer } = begun();
    const write = commits(writer, 1, 5_000);
    const parts = draftsOf([write], tail.point, 2_000);
    expect(parts.map(({ kind }) => kind)).toEqual([3, 3, 4]);
    const steps = parts.map((part) => tail.accept(anna.draft(tail, part)));
    expect(steps.map(({ kind }) => kind)).toEqual(['nothing', 'nothing', 'records']);
    const whole = steps[2];
    expect(whole?.kind === 'records' && Buffer.compare(whole.records, write.records)).toBe(0);

    const next = draftsOf([commits(writer, 1, 3_000)], tail.point, 2_000);
    const before = tail.point;
    tail.accept(anna.draft(tail, next[0] as (typeof next)[number]));
    expect(tail.point).toEqual(before);
    expect(tail.accept(anna.empty(tail)).kind).toBe('nothing');
    tail.accept(bert.term(tail));
    const last = bert.draft(tail, next[1] as (typeof next)[number]);
    expect(tail.accept(last).kind).toBe('fault');
    expect(limits.recordBytesMax).toBeGreaterThan(limits.entryBytesMax);
  });

  it('[replication 4.7] knows what was acknowledged when the newest entry was made', () => {
    const { tail, writer } = begun();
    tail.accept(anna.records(tail, commits(writer, 5)));
    expect(tail.acknowledged).toBe(0);
    tail.accept(anna.empty(tail, 4));
    expect(tail.acknowledged).toBe(4);
    tail.accept(anna.empty(tail, 2));
    expect(tail.acknowledged).toBe(4);
    expect(faultOf(tail.accept(anna.empty(tail, 6)))).toBe('it acknowledges what is not there');
  });

  it('[replication 6.9] knows from a term what its leader has, and the log lacks', () => {
    const { tail, writer } = begun();
    tail.accept(anna.records(tail, commits(writer, 5)));
    expect(tail.accept(bert.term(tail, { acknowledged: 9 })).kind).toBe('term');
    expect([tail.acknowledged, tail.promised]).toEqual([5, 9]);
    tail.accept(bert.records(tail, commits(writer, 4)));
    tail.accept(bert.empty(tail, 9));
    expect([tail.acknowledged, tail.promised]).toEqual([9, 9]);
  });

  it('[replication 4.1] carries the header of a segment that begins with its records', () => {
    const { tail, writer } = begun();
    const segment = new Uint8Array(128).fill(7);
    const writes = [commits(writer, 2), { ...commits(writer, 2), segment }, commits(writer, 1)];
    const drafts = draftsOf(writes, tail.point, 100_000);
    expect(drafts.map(({ startsSegment }) => startsSegment)).toEqual([false, true]);
    const steps = drafts.map((draft) => tail.accept(anna.draft(tail, draft)));
    expect(steps.map((step) => step.kind === 'records' && step.segment)).toEqual([
      undefined,
      segment,
    ]);
    expect(tail.point).toEqual(writer.point);
  });
});

describe('entries for writes', () => {
  it('[replication 4.4] are split between records, and never larger than they may be', () => {
    for (const bytesMax of [300, 500, 1_000, 5_000]) {
      const { tail, writer } = begun();
      const writes = [3, 1, 20, 7].map((count) => commits(writer, count, 100 + 10 * count));
      for (const draft of draftsOf(writes, tail.point, bytesMax)) {
        expect(draft.payload.length).toBeLessThanOrEqual(bytesMax);
        expect(tail.accept(anna.draft(tail, draft)).kind).not.toBe('fault');
      }
      expect(tail.point).toEqual(writer.point);
    }
  });
});
