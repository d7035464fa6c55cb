import { MessageChannel } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import type { LaneDeath, LaneStart, StartLane } from '../lanes/lane-messages.ts';
import { LaneWindow } from '../lanes/window.ts';
import type { ToWorker } from '../messages/worker-messages.ts';
import { LaneService, SeatLanes } from './seat-lanes.ts';

const closed: LaneDeath = { cause: 'closed', message: 'ended by a test' };

/** Lanes without threads: they run until they are ended. */
function service() {
  const running: ((death: LaneDeath) => void)[] = [];
  const started: LaneStart[] = [];
  const replaced: DatabaseIdentity[] = [];
  const startLane: StartLane = (start, port, ended) => {
    started.push(start);
    const end = (death: LaneDeath): void => {
      running.splice(running.indexOf(end), 1);
      port.close();
      ended(death);
    };
    running.push(end);
    return { end, replaced: () => replaced.push(start.identity) };
  };
  const lanes = { places: new LaneService(), startLane };
  const seat = (identity = databaseIdentity(1n)) => {
    const sent: ToWorker[] = [];
    const database = { identity, generation: 1 };
    const seatLanes = new SeatLanes(lanes, database, (message) => sent.push(message));
    let last = 0;
    const ask = (): number => {
      last += 1;
      const { port2: port } = new MessageChannel();
      seatLanes.start({ kind: 'lane', lane: last, start: start(), port });
      return last;
    };
    const wanted = () =>
      sent.flatMap((message) => (message.kind === 'lanesWanted' ? [message.isWanted] : []));
    const ended = () =>
      sent.flatMap((message) => (message.kind === 'laneEnded' ? [message.lane] : []));
    return { seatLanes, ask, wanted, ended };
  };
  return { running, started, replaced, seat };
}

function start(): LaneStart {
  const program = {
    hash: '',
    linked: { script: '', sourceMap: '', seed: new Uint8Array(32), imports: [] },
    described: new Uint8Array(0),
    publishedMicros: 1n,
  };
  const window = new LaneWindow().buffer;
  const identity = databaseIdentity(1n);
  const rest = { program, window, hardeningFile: '', isTimeGiven: false };
  return { identity, generation: 1, ...rest };
}

describe('the lanes of a service', () => {
  it('[living 2.1] are bounded, and go to those who wait in the order of their requests', () => {
    const { running, seat } = service();
    const [busy, second, third] = [seat(), seat(), seat()];
    for (let left = limits.hostLanesMax; left > 0; left -= 1) busy.ask();
    expect([running.length, busy.wanted()]).toEqual([limits.hostLanesMax, []]);
    second.ask();
    third.ask();
    expect(running).toHaveLength(limits.hostLanesMax);
    // Who comes later hears of it as well: its own idle lanes may be what somebody waits for.
    expect([busy.wanted(), second.wanted(), third.wanted()]).toEqual([[true], [true], [true]]);
    busy.seatLanes.end(1, closed);
    expect([running.length, busy.ended(), busy.wanted()]).toEqual([16, [1], [true]]);
    // It is the lane of the second: the third still waits, until another one ends.
    second.seatLanes.end(1, closed);
    expect([running.length, second.ended(), third.wanted()]).toEqual([16, [1], [true, false]]);
    third.seatLanes.end(1, closed);
    expect([running.length, busy.wanted(), third.ended()]).toEqual([15, [true, false], [1]]);
  });

  it('[living 2.1] are not kept for those who no longer wait', () => {
    const { running, seat } = service();
    const [busy, gone, last] = [seat(), seat(), seat()];
    for (let left = limits.hostLanesMax; left > 0; left -= 1) busy.ask();
    gone.ask();
    gone.ask();
    gone.seatLanes.end(1, closed);
    expect([gone.ended(), busy.wanted()]).toEqual([[1], [true]]);
    gone.seatLanes.endAll();
    expect([gone.ended(), busy.wanted()]).toEqual([
      [1, 2],
      [true, false],
    ]);
    busy.seatLanes.end(5, closed);
    expect(running).toHaveLength(limits.hostLanesMax - 1);
    last.ask();
    expect([running.length, last.wanted()]).toEqual([limits.hostLanesMax, []]);
    last.seatLanes.endAll();
    busy.seatLanes.endAll();
    expect(running).toHaveLength(0);
  });

  it('[living 2.7] are those of the database on the seat, whatever its actor says', () => {
    const { started, seat } = service();
    const other = seat(databaseIdentity(2n));
    other.ask();
    expect(started.map(({ identity }) => identity)).toEqual([databaseIdentity(2n)]);
    other.seatLanes.endAll();
  });

  it('[living 2.3] that wait hear later that their program was replaced', () => {
    const { replaced, seat } = service();
    const [busy, late] = [seat(), seat(databaseIdentity(2n))];
    for (let left = limits.hostLanesMax; left > 0; left -= 1) busy.ask();
    late.ask();
    late.seatLanes.replaced(1);
    busy.seatLanes.replaced(3);
    expect(replaced).toEqual([databaseIdentity(1n)]);
    busy.seatLanes.end(1, closed);
    expect(replaced).toEqual([databaseIdentity(1n), databaseIdentity(2n)]);
    busy.seatLanes.endAll();
    late.seatLanes.endAll();
  });
});
