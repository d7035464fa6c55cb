import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { bootId, hostId } from '../../shared-log/host-ids.ts';
import { clusterId, logName } from '../../shared-log/log-name.ts';
import { MemoryEngine } from '../../shared-log/memory-engine.ts';
import { databaseIdentity, ownerIdentity } from '../../values/identity-roles.ts';
import type { MemberNews, MemberReply } from '../messages/member-messages.ts';
import { SeatMember } from './seat-member.ts';

const clock = {
  now: () => performance.now(),
  after: (millis: number, work: () => void) => void setTimeout(work, millis),
};

/** The gateway's side of one actor, on an engine in memory. */
function memberSeat(readRestarts: () => boolean = () => true) {
  const sent: MemberNews[] = [];
  const fetched: number[] = [];
  const engine = new MemoryEngine({ clock });
  const member = new SeatMember({
    place: {
      log: logName(clusterId(1n), databaseIdentity(2n), 1),
      ...{ owner: ownerIdentity(3n), generation: 1, entryBytesMax: limits.entryBytesMin },
      me: { host: hostId(4n), boot: bootId(5n), name: 'a', address: '', format: 1 },
      sharedLog: engine.connect('a'),
      ...{ leaseMillis: limits.leaseMillis, waitsForLocalSync: true },
      history: () => engine.history,
      look: () => ({
        ...{ isEngineReached: true, beatAgeMillis: 0, isGone: false },
        ...{ rank: 0, skewMillis: 0, isCandidate: true },
      }),
      acknowledgedElsewhere: async () => [],
      readRestarts,
    },
    send: (message) => sent.push(message),
    role: () => undefined,
    readable: () => undefined,
    fetched: (bytes) => fetched.push(bytes),
  });
  const replies = (): MemberReply[] =>
    sent.flatMap((message) => (message.kind === 'memberReply' ? [message.reply] : []));
  return { member, replies, sent, fetched };
}

describe('what an actor asks of its cluster', () => {
  it('[living 6.1] is answered up to a bound at once, and no more', async () => {
    const { member, replies } = memberSeat();
    const most = limits.memberAsksMax;
    for (let id = 1; id <= most + 2; id += 1) {
      member.receive({ kind: 'member', id, ask: { kind: 'wait', from: 1 } });
    }
    await expect.poll(replies).toHaveLength(2);
    expect(replies()).toEqual(
      [1, 2].map(() => ({ kind: 'failed', message: 'it asks too much at once' })),
    );
    // Those that nobody waits for any more make room again.
    for (let of = 1; of <= most; of += 1) {
      member.receive({ kind: 'member', id: 0, ask: { kind: 'stop', of } });
    }
    await expect.poll(replies).toHaveLength(most + 2);
    member.receive({ kind: 'member', id: 999, ask: { kind: 'elsewhere' } });
    await expect.poll(() => replies().at(-1)).toEqual({ kind: 'elsewhere', ends: [] });
    member.end(false);
  });

  it('[replication 9.7] is notified once all hosts read what earlier versions do not', async () => {
    let areRead = false;
    const { member, replies, sent } = memberSeat(() => areRead);
    expect(member.data({ handedTerm: undefined, coldReason: undefined }, false).news).toMatchObject(
      { readRestarts: false },
    );
    const append = (id: number) =>
      member.receive({
        ...{ kind: 'member', id },
        ask: { kind: 'append', seq: 1, bytes: Uint8Array.of(1), after: undefined },
      });
    append(1);
    await expect.poll(replies).toHaveLength(1);
    expect(sent.filter(({ kind }) => kind === 'look')).toEqual([]);
    areRead = true;
    append(2);
    append(3);
    await expect.poll(replies).toHaveLength(3);
    const looks = sent.filter(({ kind }) => kind === 'look');
    expect(looks).toMatchObject([{ news: { readRestarts: true }, isDue: false }]);
    member.end(false);
  });

  it('[replication 6.1] is counted: how much of the shared log it was given', async () => {
    const { member, replies, fetched } = memberSeat();
    const ask = { kind: 'create', bytes: Uint8Array.of(1, 2, 3) } as const;
    member.receive({ kind: 'member', id: 1, ask });
    await expect.poll(replies).toMatchObject([{ kind: 'create', result: 'created' }]);
    const read = { kind: 'read', from: 0, bytesMax: limits.entryBytesMax, countMax: 1 } as const;
    for (const id of [2, 3]) member.receive({ kind: 'member', id, ask: read });
    await expect.poll(replies).toHaveLength(3);
    expect(fetched).toEqual([3, 6]);
    member.end(false);
  });

  it('[replication 4.4] stores no entry that is longer than the engine takes', async () => {
    const { member, replies } = memberSeat();
    const bytes = new Uint8Array(limits.entryBytesMin + 1);
    const ask = { kind: 'append', seq: 1, bytes, after: undefined } as const;
    member.receive({ kind: 'member', id: 1, ask });
    await expect.poll(replies).toMatchObject([{ kind: 'failed' }]);
    member.end(false);
  });
});
