import { describe, expect, it } from 'vitest';
import { querySetId } from '../database/live/set-id.ts';
import type { CallOutcome } from '../database/outcome.ts';
import type { CalledEvent, LiveEvent, UpdatedEvent } from '../host/feeds/live-connection.ts';
import { limits } from '../limits.ts';
import type { ServerMessage } from '../protocol/v2/server-message.ts';
import { serverMessagesIn } from '../protocol/v3.ts';
import { tableId } from '../schema/ids.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import type { EncodedMessage } from './encoded-message.ts';
import { V2 } from './v2.ts';
import { forgetUpdates } from './v2-updates.ts';

const person = { identity: callerIdentity(1n), connectionId: connectionNumber(2n), token: 'token' };
const done: CallOutcome = { kind: 'committed', offset: commitOffset(1), micros: 1 };
const refused: CallOutcome = {
  kind: 'aborted',
  error: { code: 'reducer.refused', message: 'no' },
  micros: 1,
};

function called(requestId: number, outcome: CallOutcome): CalledEvent {
  const args = new Uint8Array(0);
  const call = {
    kind: 'call',
    reducer: 'r',
    args,
    schemaVersion: undefined,
    isCaller: true,
  } as const;
  return {
    kind: 'called',
    request: { ...call, requestId },
    outcome,
    timestampMicros: BigInt(requestId),
    sets: [],
  };
}

function read(message: EncodedMessage): ServerMessage[] {
  // A frame: its header of 2 or 4 bytes, the compression tag, the messages.
  const [frame = new Uint8Array(0)] = message.frame('binary');
  return [...serverMessagesIn(frame.subarray((frame[1] ?? 0) < 126 ? 3 : 5))];
}

describe('what a delivery makes', () => {
  const events: LiveEvent[] = [
    called(1, done),
    called(2, done),
    called(3, { ...done, value: Uint8Array.of(7) }),
    called(4, refused),
    { kind: 'setFailed', setId: querySetId(9), error: 'gone' },
    called(5, done),
  ];

  it('[websocket 6] is the same messages in the same order, done calls as one piece', () => {
    const { messages } = new V2('v3', person).encode(events);
    expect(messages.map(({ messageCount }) => messageCount)).toEqual([2, 1, 1, 1, 1]);
    const single = events.flatMap((event) => new V2('v3', person).encode([event]).messages);
    expect(single).toHaveLength(events.length);
    expect(messages.flatMap(read)).toEqual(single.flatMap(read));
    expect(messages.flatMap(read).map((each) => 'requestId' in each && each.requestId)).toEqual([
      ...[1, 2, 3, 4, undefined, 5],
    ]);
  });

  it('[websocket 6] is a piece for each message in version 2', () => {
    const { messages } = new V2('v2', person).encode(events);
    expect(messages.map(({ messageCount }) => messageCount)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('[websocket 6] has no more messages in one piece than a frame may have', () => {
    const { serverFrameMessagesMax } = limits;
    const many = Array.from({ length: serverFrameMessagesMax + 5 }, (_, at) => called(at, done));
    const { messages } = new V2('v3', person).encode(many);
    expect(messages.map(({ messageCount }) => messageCount)).toEqual([serverFrameMessagesMax, 5]);
  });
});

describe('updates that are delivered together', () => {
  const codec = () => new V2('v3', person);
  const large = updated(4, 2_000);
  const events = [updated(1, 4), updated(2, 8, 4), large, updated(3, 4), called(5, done)];

  it('[websocket 6] are the same messages in the same order, small ones as one piece', () => {
    const { messages } = codec().encode(events);
    expect(messages.map(({ messageCount }) => messageCount)).toEqual([2, 1, 1, 1]);
    forgetUpdates();
    const single = events.flatMap((event) => new V2('v2', person).encode([event]).messages);
    expect(messages.flatMap(read)).toEqual(single.flatMap(read));
  });

  it('[websocket 6] are one message for all that get the same ones, until it is forgotten', () => {
    const first = codec().encode(events).messages;
    const second = codec().encode(events).messages;
    const [small, whole] = first;
    expect(second[0]).toBe(small);
    expect(second[1]).toBe(whole);
    forgetUpdates();
    expect(codec().encode(events).messages[0]).not.toBe(small);
  });

  it('[websocket 6] are of each receiver who gets others behind the same one', () => {
    const [one, two, , three] = events as [LiveEvent, LiveEvent, LiveEvent, LiveEvent];
    const alike = codec().encode([one, two]).messages;
    const other = codec().encode([one, three]).messages;
    const longer = codec().encode([one, two, three]).messages;
    forgetUpdates();
    const read2 = [one, two].flatMap((event) => codec().encode([event]).messages.flatMap(read));
    const read3 = codec().encode([three]).messages.flatMap(read);
    expect(alike.flatMap(read)).toEqual(read2);
    expect(other.flatMap(read)).toEqual([...read2.slice(0, 1), ...read3]);
    expect(longer.flatMap(read)).toEqual([...read2, ...read3]);
  });

  it('[websocket 6] have no more messages in one piece than a frame may have', () => {
    const { serverFrameMessagesMax } = limits;
    const many = Array.from({ length: serverFrameMessagesMax + 5 }, () => updated(1, 4));
    const { messages } = codec().encode(many);
    expect(messages.map(({ messageCount }) => messageCount)).toEqual([serverFrameMessagesMax, 5]);
  });
});

/** A change of one set; each size is a row of that many bytes that came. */
function updated(set: number, ...sizes: readonly number[]): UpdatedEvent {
  const data = Uint8Array.from(
    { length: sizes.reduce((sum, size) => sum + size, 0) },
    (_, at) => at,
  );
  const starts = Uint32Array.from(sizes, (_, at) =>
    sizes.slice(0, at).reduce((sum, size) => sum + size, 0),
  );
  const inserts = { kind: 'offsets', starts, data } as const;
  const deletes = { kind: 'fixedSize', rowBytes: 4, data: data.slice(0, 4) } as const;
  const changes = [{ kind: 'persistent', inserts, deletes }] as const;
  const update = { query: set, table: 't', tableId: tableId(4096), changes };
  const offset = commitOffset(1);
  return {
    kind: 'updated',
    requestId: 0,
    offset,
    sets: [{ setId: querySetId(set), updates: [update] }],
  };
}
