import { setImmediate as nextMessages } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import type { ProgramSource } from '../../database/program-source.ts';
import { limits } from '../../limits.ts';
import type { LaneCall } from '../../module/lane.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import type { LaneDeath, ToLane } from './lane-messages.ts';
import { LanePool } from './lane-pool.ts';

/** A lane without a thread, which does what a test says. */
interface FakeLane {
  readonly port: MessagePort;
  /** Numbers of the calls that it was given. */
  readonly calls: number[];
  isClosed: boolean;
  isReplaced: boolean;
  die(death: LaneDeath): void;
}

function call(number: number): LaneCall {
  return {
    number,
    kind: 'procedure',
    id: 0,
    name: 'p',
    sender: callerIdentity(1n),
    connectionId: connectionNumber(1n),
    timestampMicros: 1n,
    args: new Uint8Array(0),
    seed: new Uint8Array(32),
    jwtPayload: '',
  };
}

const source: ProgramSource = { kind: 'js', bytes: Uint8Array.of(1) };
const newer: ProgramSource = { kind: 'js', bytes: Uint8Array.of(2) };
const value = Uint8Array.of(7);

function pool() {
  const lanes: FakeLane[] = [];
  const time = { millis: 0 };
  const linked = { script: '', sourceMap: '', seed: new Uint8Array(32), imports: [] };
  const desk = new LanePool({
    identity: databaseIdentity(1n),
    hardeningFile: '',
    nowMillis: () => time.millis,
    programOf: () => ({ linked, described: new Uint8Array(0), publishedMicros: 1n }),
    report: () => undefined,
    startLane: (_start, port, ended) => {
      const die = (death: LaneDeath): void => {
        lane.isClosed = true;
        port.close();
        ended(death);
      };
      const lane: FakeLane = { port, calls: [], isClosed: false, isReplaced: false, die };
      port.on('message', (message: ToLane) => {
        if (message.kind === 'start') lane.calls.push(message.call.number);
        else die({ cause: 'died', message: '' });
      });
      lanes.push(lane);
      const replaced = (): void => {
        lane.isReplaced = true;
      };
      return { end: die, replaced };
    },
  });
  const open = () => lanes.filter(({ isClosed }) => !isClosed);
  /** The lane that runs a call returns from it. */
  const finish = async (number: number): Promise<void> => {
    const lane = open().find(({ calls }) => calls.at(-1) === number);
    lane?.port.postMessage({ kind: 'ended', call: number, end: { kind: 'returned', value } });
    await settled();
  };
  return { desk, lanes, open, finish, time };
}

/** Messages in both directions have arrived. */
async function settled(): Promise<void> {
  for (let left = 20; left > 0; left -= 1) await nextMessages();
}

describe('the lanes of a database', () => {
  it('[living 2.1] are started as calls need them, and the rest waits in order', async () => {
    const { desk, lanes, open, finish } = pool();
    const placed = [1, 2, 3, 4, 5, 6].map((number) => desk.start(call(number), source));
    expect(placed).toEqual(['started', 'started', 'started', 'started', 'queued', 'queued']);
    await settled();
    expect(lanes.map(({ calls }) => calls)).toEqual([[1], [2], [3], [4]]);
    await finish(3);
    await finish(1);
    expect(lanes.map(({ calls }) => calls)).toEqual([[1, 6], [2], [3, 5], [4]]);
    expect(desk.takeEnded().map((ended) => ended.call)).toEqual([3, 1]);
    expect(desk.hasWork).toBe(false);
    await finish(2);
    expect(desk.start(call(7), source)).toBe('started');
    await settled();
    expect([open().length, lanes[1]?.calls]).toEqual([4, [2, 7]]);
    await desk.stop(0);
  });

  it('[living 2.3] of a replaced program send no more requests, nor do later ones', async () => {
    const { desk, lanes, finish } = pool();
    for (const number of [1, 2, 3, 4, 5]) desk.start(call(number), source);
    await settled();
    desk.replaced();
    desk.start(call(6), newer);
    const places = () => lanes.map(({ calls, isReplaced }) => [calls, isReplaced]);
    expect(places()).toEqual([1, 2, 3, 4].map((number) => [[number], true]));
    // The fifth belongs to the program before, the sixth does not.
    lanes[0]?.die({ cause: 'died', message: '' });
    await settled();
    await finish(2);
    await settled();
    const later = places().filter(([calls]) => [5, 6].includes((calls as number[]).at(-1) ?? 0));
    expect(later).toEqual(expect.arrayContaining([[[6], false]]));
    expect(later.filter(([calls]) => (calls as number[]).includes(5))).toMatchObject([[{}, true]]);
    await desk.stop(0);
  });

  it('[living 2.6] refuse calls when too many wait', async () => {
    const { desk } = pool();
    let number = 0;
    const next = () => {
      number += 1;
      return desk.start(call(number), source);
    };
    for (let left = limits.databaseLanesMax + limits.proceduresMax; left > 0; left -= 1) {
      expect(next()).not.toBe('busy');
    }
    expect(next()).toBe('busy');
    await desk.stop(0);
    const lost = desk.takeEnded();
    expect(lost).toHaveLength(number - 1);
    expect(new Set(lost.map(({ end }) => (end.kind === 'lost' ? end.code : end.kind)))).toEqual(
      new Set(['procedure.stopped']),
    );
  });

  it('[living 2.8] drop calls that have not begun when their caller is gone', async () => {
    const { desk, lanes, finish } = pool();
    for (let number = 1; number <= 6; number += 1) desk.start(call(number), source);
    desk.cancel(5);
    desk.cancel(1);
    expect(desk.takeEnded()).toMatchObject([{ call: 5, end: { kind: 'lost' } }]);
    await settled();
    await finish(1);
    expect(lanes[0]?.calls).toEqual([1, 6]);
    await desk.stop(0);
  });

  it('[living 2.1] are replaced when they end, and their call is lost', async () => {
    const { desk, lanes, open } = pool();
    for (let number = 1; number <= 5; number += 1) desk.start(call(number), source);
    await settled();
    lanes[0]?.die({ cause: 'budget', message: 'too long' });
    lanes[1]?.die({ cause: 'died', message: 'a fault' });
    await settled();
    expect(desk.takeEnded()).toMatchObject([
      { call: 1, end: { code: 'procedure.overBudget', text: 'too long' } },
      { call: 2, end: { code: 'procedure.stopped', text: 'a fault' } },
    ]);
    expect(open().map(({ calls }) => calls)).toEqual([[3], [4], [5]]);
    await desk.stop(0);
  });

  it('[living 2.1] of an older program end when their call does', async () => {
    const { desk, lanes, open, finish } = pool();
    for (let number = 1; number <= 4; number += 1) desk.start(call(number), source);
    await settled();
    await finish(1);
    desk.replaced();
    await settled();
    expect(open()).toHaveLength(3);
    desk.start(call(5), newer);
    expect(desk.start(call(6), newer)).toBe('queued');
    await settled();
    await finish(2);
    await settled();
    expect(lanes.map(({ calls }) => calls)).toEqual([[1], [2], [3], [4], [5], [6]]);
    await desk.stop(0);
  });

  it('[living 2.1] that are idle end while others wait for one', async () => {
    const { desk, open, finish } = pool();
    for (let number = 1; number <= 3; number += 1) desk.start(call(number), source);
    await settled();
    await finish(1);
    expect(open()).toHaveLength(3);
    desk.setWanted(true);
    await settled();
    expect(open().map(({ calls }) => calls)).toEqual([[2], [3]]);
    await finish(2);
    await settled();
    expect(open().map(({ calls }) => calls)).toEqual([[3]]);
    desk.setWanted(false);
    await finish(3);
    await settled();
    expect(open()).toHaveLength(1);
    await desk.stop(0);
  });

  it('[living 2.1] do not keep others waiting by calls that follow each other', async () => {
    const { desk, lanes, finish, time } = pool();
    for (let number = 1; number <= 8; number += 1) desk.start(call(number), source);
    await settled();
    await finish(1);
    desk.setWanted(true);
    time.millis = limits.laneKeptMillis - 1;
    await finish(5);
    expect(lanes[0]?.calls).toEqual([1, 5, 6]);
    time.millis = limits.laneKeptMillis;
    await finish(6);
    await settled();
    expect(lanes.map(({ calls, isClosed }) => [calls, isClosed])).toEqual([
      [[1, 5, 6], true],
      [[2], false],
      [[3], false],
      [[4], false],
      // It waits behind the others for its place.
      [[7], false],
    ]);
    await desk.stop(0);
  });

  it('[living 2.8] end with their database, after their calls or a while later', async () => {
    const { desk, open, finish } = pool();
    for (let number = 1; number <= 5; number += 1) desk.start(call(number), source);
    await settled();
    const stopped = desk.stop(60_000);
    expect(desk.start(call(6), source)).toBe('busy');
    for (const number of [1, 2, 3, 4]) await finish(number);
    await stopped;
    expect(open()).toEqual([]);
    expect(desk.takeEnded()).toMatchObject([
      { call: 5, end: { code: 'procedure.stopped' } },
      { call: 1, end: { kind: 'returned' } },
      { call: 2, end: { kind: 'returned' } },
      { call: 3, end: { kind: 'returned' } },
      { call: 4, end: { kind: 'returned' } },
    ]);
  });
});
