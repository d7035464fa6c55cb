import { describe, expect, it } from 'vitest';
import { querySetId } from '../database/live/set-id.ts';
import type { CallOutcome } from '../database/outcome.ts';
import type { CalledEvent, LiveEvent } from '../host/feeds/live-connection.ts';
import { limits } from '../limits.ts';
import type { ServerMessage } from '../protocol/v2/server-message.ts';
import { serverMessagesIn } from '../protocol/v3.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import type { EncodedMessage } from './encoded-message.ts';
import { V2 } from './v2.ts';

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
