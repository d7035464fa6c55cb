import { describe, expect, it } from 'vitest';
import { querySetId } from '../database/live/set-id.ts';
import type { CallOutcome, ResumeOutcome } from '../database/outcome.ts';
import type { LiveEvent, LiveRequest, UpdatedEvent } from '../host/feeds/live-connection.ts';
import { limits } from '../limits.ts';
import { encodeResume, resumedArm } from '../protocol/v2/resume.ts';
import { serverArms } from '../protocol/v2/server-message.ts';
import { serverMessagesIn } from '../protocol/v3.ts';
import { tableId } from '../schema/ids.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import type { EncodedMessage } from './encoded-message.ts';
import { ResumableV3 } from './resumable-v3.ts';
import { V2 } from './v2.ts';

const person = { identity: callerIdentity(1n), connectionId: connectionNumber(2n), token: 'token' };
const hosts = ['http://a:3000', 'http://b:3000'];
const arms = [...serverArms, resumedArm];
const codec = () => new ResumableV3(person, () => hosts);

function updated(offset: number, byteCount = 4): UpdatedEvent {
  const inserts = { kind: 'fixedSize', rowBytes: 4, data: new Uint8Array(byteCount) } as const;
  const deletes = { kind: 'fixedSize', rowBytes: 4, data: new Uint8Array(0) } as const;
  const changes = [{ kind: 'persistent', inserts, deletes }] as const;
  const updates = [{ query: 1, table: 't', tableId: tableId(4096), changes }];
  const sets = [{ setId: querySetId(1), updates }];
  return { kind: 'updated', requestId: 0, offset: commitOffset(offset), sets };
}

function called(requestId: number, outcome: CallOutcome): LiveEvent {
  const args = new Uint8Array(0);
  const call = { kind: 'call', reducer: 'r', args, schemaVersion: undefined } as const;
  const request = { ...call, isCaller: true, requestId };
  return { kind: 'called', request, outcome, timestampMicros: 0n, sets: [] };
}

function resumed(kind: ResumeOutcome['kind'], missed: readonly UpdatedEvent[]): LiveEvent {
  const sets = [{ setId: querySetId(1), queries: ['SELECT * FROM t'] }];
  const request = { kind: 'resume', requestId: 8, history: 5n, offset: 20n, sets } as const;
  const outcome = { kind, history: 5n, offset: commitOffset(30), sets: [], missed: [], micros: 1 };
  return { kind: 'resumed', request, outcome, missed };
}

/** The offset in front of a frame of the message alone, and the kinds of its messages. */
function read(message: EncodedMessage, offset: number | undefined): readonly unknown[] {
  const frame = Buffer.concat([...message.frame('binary', offset)]);
  const short = frame.readUInt8(1);
  const payload = frame.subarray(short < 126 ? 2 : short === 126 ? 4 : 10);
  const kinds = [...serverMessagesIn(payload.subarray(9), arms)].map(({ kind }) => kind);
  return [Number(payload.readBigUInt64LE(0)), payload[8], ...kinds];
}

function framesOf(events: readonly LiveEvent[], position?: number): readonly unknown[] {
  const at = position === undefined ? undefined : commitOffset(position);
  const { messages, offsets = [] } = codec().encode(events, at);
  return messages.map((message, index) => read(message, offsets[index]));
}

describe('[replication 11.5] each frame tells where its client is when it has it', () => {
  it('is the commit of its last message; of the last frame the end of the turn', () => {
    const done: CallOutcome = { kind: 'committed', offset: commitOffset(12), micros: 1 };
    const error = { code: 'reducer.refused', message: 'no' } as const;
    const events = [
      updated(10),
      updated(11),
      called(1, done),
      updated(13, 4_000),
      called(2, { kind: 'aborted', error, micros: 1 }),
    ];
    expect(framesOf(events, 20)).toEqual([
      [11, 0, 'transactionUpdate', 'transactionUpdate'],
      [12, 0, 'reducerResult'],
      [13, 0, 'transactionUpdate'],
      [20, 0, 'reducerResult'],
    ]);
    // Something of later is missing still, so it is not at the end of the turn.
    expect(framesOf(events).at(-1)).toEqual([13, 0, 'reducerResult']);
    expect(framesOf([])).toEqual([]);
  });

  it('never goes back', () => {
    const one = codec();
    const offsets = [updated(9), { kind: 'connected' } as const, updated(3)].map(
      (event) => one.encode([event]).offsets,
    );
    expect(offsets).toEqual([[9], [9], [9]]);
  });

  it('[replication 11.5] begins with what was missed, from where the client was', () => {
    const events = [resumed('resumed', [updated(24), updated(27, 3_000)]), updated(31)];
    expect(framesOf(events, 33)).toEqual([
      [20, 0, 'resumed'],
      [24, 0, 'transactionUpdate'],
      [27, 0, 'transactionUpdate'],
      [33, 0, 'transactionUpdate'],
    ]);
    expect(framesOf([resumed('rewound', [])])).toEqual([[30, 0, 'resumed']]);
    // Being let in says nothing of its rows.
    const one = codec();
    one.encode([{ kind: 'connected' }], commitOffset(30));
    const missed = [updated(24), updated(25, 3_000), updated(26)];
    expect(one.encode([resumed('resumed', missed)]).offsets).toEqual([20, 24, 25, 30]);
  });

  it('is one frame for all who are at the same one, and apart from that of other versions', () => {
    const event = updated(10);
    const { messages } = codec().encode([event]);
    const [own] = messages;
    const [plain] = new V2('v3', person).encode([event]).messages;
    expect(plain).toBe(own);
    expect(own?.frame('binary', 10)).toBe(own?.frame('binary', 10));
    const lengths = [own?.frame('binary', 10), own?.frame('binary')].map((one) => one?.[0]?.length);
    expect(lengths[0]).toBe((lengths[1] ?? 0) + 8);
  });
});

describe('[replication 11.5] a request to resume', () => {
  const sets = [{ querySetId: 3, queries: ['SELECT * FROM t', ''] }];
  const message = { kind: 'resume', requestId: 7, history: 2n ** 127n, offset: 5n, sets } as const;
  const bytes = encodeResume(message);
  const read = (frame: Uint8Array): LiveRequest[] => [...codec().decode(frame, true)];

  it('names the history, the offset and the sets; the answer names hosts', () => {
    const named = [{ setId: 3, queries: ['SELECT * FROM t', ''] }];
    const { requestId, history, offset } = message;
    expect(read(bytes)).toEqual([{ kind: 'resume', requestId, history, offset, sets: named }]);
    const [answer] = codec().encode([resumed('rows', [])]).messages;
    const [frame = new Uint8Array(0)] = answer?.frame('binary', 0) ?? [];
    expect([...serverMessagesIn(frame.subarray(11), arms)]).toEqual([
      { kind: 'resumed', requestId: 8, outcome: 1, history: 5n, hosts },
    ]);
  });

  it('is not known to the other versions', () => {
    const text = 'unknown tag 0x5 for sum type ClientMessage';
    for (const version of ['v2', 'v3'] as const) {
      expect(() => [...new V2(version, person).decode(bytes, true)]).toThrow(text);
    }
  });

  it('is refused when it is cut, however', () => {
    for (let length = 1; length < bytes.length; length += 1) {
      expect(() => read(bytes.subarray(0, length))).toThrow(/in Resume at byte/);
    }
    expect(() => read(new Uint8Array(0))).toThrow('must contain at least one v2 client message');
    expect(() => [...codec().decode(bytes, false)]).toThrow('does not support text messages');
  });

  it('is refused with more sets or queries than a client may have, before they are read', () => {
    const many = Array.from({ length: limits.resumeSetsMax + 1 }, (_, querySetId) => {
      return { querySetId, queries: [] };
    });
    const { resumeSetsMax } = limits;
    expect(() => read(encodeResume({ ...message, sets: many }))).toThrow(
      `${resumeSetsMax + 1} query sets exceed the ${resumeSetsMax} of one client, in Resume`,
    );
    const queries = Array.from({ length: limits.querySetQueriesMax + 1 }, () => '');
    const wide = { ...message, sets: [{ querySetId: 1, queries }] };
    expect(() => read(encodeResume(wide))).toThrow('queries exceed the');
    // A count that the frame cannot hold costs nothing.
    const writer = new BinaryWriter();
    writer.u8(5);
    writer.u32(1);
    writer.u128(0n);
    writer.u64(0n);
    writer.u32(0xffff_ffff);
    expect(() => read(writer.finish())).toThrow(/4294967295/);
  });
});
