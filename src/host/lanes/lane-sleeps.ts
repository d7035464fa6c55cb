import type { Alarm, MakeAlarm } from '../../database/alarm.ts';
import type { ToLane } from './lane-messages.ts';

/** Time that does not pass by itself, for the lanes of one database: a test moves it. */
export interface LaneTime {
  readonly makeAlarm: MakeAlarm;
  readonly nowMicros: () => bigint;
  /** Called when one of the counts may have changed. */
  counted(calls: CallCounts): void;
}

export interface CallCounts {
  /** Calls that compute, or wait for a lane, and requests to elsewhere that are under way. */
  readonly busy: number;
  /** Calls that have begun and wait for a sleep or a request. */
  readonly waiting: number;
}

const sleepMicrosMin = 1_000n;

/** The sleeps of one lane, where time is given: they end when an alarm rings. */
export class LaneSleeps {
  readonly #time: LaneTime;
  readonly #tell: (message: ToLane) => void;
  readonly #alarms = new Map<number, Alarm>();

  constructor(time: LaneTime, tell: (message: ToLane) => void) {
    this.#time = time;
    this.#tell = tell;
  }

  begin(sleep: number, micros: bigint): void {
    const { makeAlarm, nowMicros } = this.#time;
    // Where no time passed, one that sleeps again and again would keep the clock from going on.
    const atMicros = nowMicros() + (micros > sleepMicrosMin ? micros : sleepMicrosMin);
    const alarm = makeAlarm(() => {
      if (nowMicros() < atMicros) alarm.set(atMicros);
      else this.#tell({ kind: 'slept', sleep, nowMicros: nowMicros() });
    });
    this.#alarms.set(sleep, alarm);
    alarm.set(atMicros);
  }

  /** It is over, and so is what followed from it; or nobody waits for it any more. */
  end(sleep: number): void {
    this.#alarms.get(sleep)?.dispose();
    this.#alarms.delete(sleep);
  }

  endAll(): void {
    for (const sleep of this.#alarms.keys()) this.end(sleep);
  }
}
