import { setImmediate as nextMessages } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ProgramSource } from '../../database/program-source.ts';
import { limits } from '../../limits.ts';
import type { LaneCall } from '../../module/lane.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import type { LaneDeath, ToLane } from './lane-messages.ts';
import { LanePool } from './lane-pool.ts';
import { LaneWindow } from './window.ts';

/** A lane without a thread, which does what a test says. */
interface FakeLane {
  readonly port: MessagePort;
  /** Numbers of the calls that it was given. */
  readonly calls: number[];
  /** What else it was told. */
  readonly told: ToLane[];
  readonly window: LaneWindow;
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
    generation: 1,
    hardeningFile: '',
    nowMillis: () => time.millis,
    programOf: () => ({ hash: '', linked, described: new Uint8Array(0), publishedMicros: 1n }),
    report: () => undefined,
    startLane: (start, port, ended) => {
      const die = (death: LaneDeath): void => {
        lane.isClosed = true;
        port.close();
        ended(death);
      };
      const lane: FakeLane = {
        port,
        calls: [],
        told: [],
        window: new LaneWindow(start.window),
        isClosed: false,
        isReplaced: false,
        die,
      };
      port.on('message', (message: ToLane) => {
        if (message.kind === 'start') lane.calls.push(message.call.number);
        else if (message.kind === 'close') die({ cause: 'died', message: '' });
        else lane.told.push(message);
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
    const lane = open().find(({ calls }) => calls.includes(number));
    lane?.port.postMessage({ kind: 'ended', call: number, end: { kind: 'returned', value } });
    await settled();
  };
  /** The lane that was given a call reports that it waits. */
  const waits = async (number: number): Promise<void> => {
    await settled();
    const lane = open().find(({ calls }) => calls.includes(number));
    lane?.port.postMessage({ kind: 'waiting', call: number });
    await settled();
  };
  return { desk, lanes, open, finish, waits, time };
}

/** A message has arrived, and its answer. */
async function settledOnce(): Promise<void> {
  for (let left = 3; left > 0; left -= 1) await nextMessages();
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

  it('[living 2.6] end calls that take too long, but not those of schedules', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { desk, open } = pool();
      desk.start(call(1), source);
      desk.start({ ...call(2), isScheduled: true }, source);
      await settled();
      vi.advanceTimersByTime(limits.procedureMillisMax + 1);
      await settled();
      const text = 'The procedure ran longer than 600 s and was stopped.';
      expect(desk.takeEnded()).toMatchObject([{ call: 1, end: { kind: 'lost', text } }]);
      expect(open().map(({ calls }) => calls)).toEqual([[2]]);
      await desk.stop(0);
    } finally {
      vi.useRealTimers();
    }
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

  it('[living 2.2] take the next call when all that they have wait', async () => {
    const { desk, lanes, waits, finish } = pool();
    desk.start(call(1), source);
    await waits(1);
    expect(desk.start(call(2), source)).toBe('started');
    // It computes, so the next one gets a lane of its own.
    expect(desk.start(call(3), source)).toBe('started');
    await settled();
    expect(lanes.map(({ calls }) => calls)).toEqual([[1, 2], [3]]);
    await waits(2);
    await waits(3);
    desk.start(call(4), source);
    await settled();
    // The one with the fewest.
    expect(lanes.map(({ calls }) => calls)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    await finish(1);
    await finish(4);
    expect(desk.takeEnded().map((ended) => ended.call)).toEqual([1, 4]);
    await desk.stop(0);
  });

  it('[living 2.2] that run their program are given a call last', async () => {
    const { desk, lanes, waits } = pool();
    for (const number of [1, 2, 3, 4]) desk.start(call(number), source);
    await settled();
    for (const number of [1, 2, 3, 4]) await waits(number);
    for (const lane of lanes.slice(0, 3)) lane.window.computing = 1;
    desk.start(call(5), source);
    await waits(5);
    for (const lane of lanes) lane.window.computing = 1;
    expect(desk.start(call(6), source)).toBe('started');
    await settled();
    expect(lanes.map(({ calls }) => calls)).toEqual([[1, 6], [2], [3], [4, 5]]);
    await desk.stop(0);
  });

  it('[living 2.2] have so many calls and no more', async () => {
    const { desk, lanes } = pool();
    const most = limits.laneCallsMax * limits.databaseLanesMax;
    for (let number = 1; number <= most + 1; number += 1) {
      const place = desk.start(call(number), source);
      await settledOnce();
      for (const lane of lanes) {
        if (lane.calls.at(-1) === number) lane.port.postMessage({ kind: 'waiting', call: number });
      }
      await settledOnce();
      expect(place).toBe(number > most ? 'queued' : 'started');
    }
    expect(lanes.map(({ calls }) => calls.length)).toEqual(Array(4).fill(limits.laneCallsMax));
    await desk.stop(0);
  });

  it('[living 2.8] get to know that nobody waits for a call', async () => {
    const { desk, lanes, waits, finish } = pool();
    desk.start(call(1), source);
    await waits(1);
    desk.start(call(2), source);
    desk.cancel(1, 'gone');
    await settled();
    const reason = 'the caller is gone';
    expect(lanes[0]?.told).toEqual([{ kind: 'abort', call: 1, reason }]);
    await finish(1);
    desk.cancel(1, 'gone');
    const stopped = desk.stop(60_000);
    await settled();
    const stops = { kind: 'abort', call: 2, reason: 'the database stops' };
    expect(lanes[0]?.told.slice(1)).toEqual([stops]);
    await finish(2);
    await stopped;
  });

  it('[living 2.6] lose calls that wait with the one that computes', async () => {
    const { desk, lanes, waits } = pool();
    desk.start(call(1), source);
    await waits(1);
    desk.start(call(2), source);
    await settled();
    lanes[0]?.die({ cause: 'budget', message: 'too long' });
    await settled();
    const text =
      'The procedure was waiting on a lane that was ended because of another call; call it ' +
      'again. too long';
    expect(desk.takeEnded()).toMatchObject([
      { call: 1, end: { code: 'procedure.stopped', text } },
      { call: 2, end: { code: 'procedure.overBudget', text: 'too long' } },
    ]);
    // One that goes on after a wait is known by the memory that both share.
    for (const number of [3, 4]) {
      desk.start(call(number), source);
      await waits(number);
    }
    const [, lane] = lanes;
    if (lane !== undefined) lane.window.computing = 3;
    lane?.die({ cause: 'budget', message: 'too long' });
    await settled();
    expect(desk.takeEnded()).toMatchObject([
      { call: 3, end: { code: 'procedure.overBudget' } },
      { call: 4, end: { code: 'procedure.stopped' } },
    ]);
    await desk.stop(0);
  });

  describe('with calls that take too long', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
    afterEach(() => void vi.useRealTimers());

    it('[living 2.6] end alone where they wait, else with their lane', async () => {
      const { desk, lanes, open, waits, finish } = pool();
      desk.start(call(1), source);
      await waits(1);
      vi.advanceTimersByTime(limits.procedureMillisMax / 2);
      desk.start(call(2), source);
      await waits(2);
      vi.advanceTimersByTime(limits.procedureMillisMax / 2);
      await settled();
      const code = 'procedure.overBudget';
      expect(desk.takeEnded()).toMatchObject([{ call: 1, end: { kind: 'lost', code } }]);
      expect([open().length, lanes[0]?.told]).toEqual([1, [{ kind: 'drop', call: 1 }]]);
      // What it still says of it counts no more.
      await finish(1);
      lanes[0]?.port.postMessage({ kind: 'dropped', call: 1 });
      await settled();
      expect(desk.takeEnded()).toEqual([]);
      if (lanes[0] !== undefined) lanes[0].window.computing = 2;
      vi.advanceTimersByTime(limits.procedureMillisMax / 2);
      await settled();
      expect(desk.takeEnded()).toMatchObject([{ call: 2, end: { kind: 'lost', code } }]);
      expect(open()).toEqual([]);
      await desk.stop(0);
    });
  });

  it('[living 2.8] drop calls that have not begun when their caller is gone', async () => {
    const { desk, lanes, finish } = pool();
    for (let number = 1; number <= 6; number += 1) desk.start(call(number), source);
    desk.cancel(5, 'gone');
    desk.cancel(1, 'gone');
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
