import type { Alarm, MakeAlarm } from '../database/alarm.ts';

/** Alarms that ring when a test moves its clock. */
export class TestAlarms {
  readonly #alarms = new Set<TestAlarm>();

  /** Called when an alarm is set. */
  readonly #wasSet: () => void;
  #waiting: (() => void)[] = [];

  constructor(wasSet: () => void) {
    this.#wasSet = wasSet;
  }

  readonly make: MakeAlarm = (ring) => {
    const alarm = new TestAlarm(ring, {
      forget: () => this.#alarms.delete(alarm),
      wasSet: () => {
        this.#wasSet();
        for (const resolve of this.#waiting.splice(0)) resolve();
      },
    });
    this.#alarms.add(alarm);
    return alarm;
  };

  /** Resolves when an alarm is set the next time. */
  nextSet(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The alarm that rings first; `undefined`: none rings until then. */
  first(untilMicros: bigint): { readonly atMicros: bigint; ringOut(): Promise<void> } | undefined {
    let first: TestAlarm | undefined;
    for (const alarm of this.#alarms) {
      if (alarm.atMicros > untilMicros) continue;
      if (first === undefined || alarm.atMicros < first.atMicros) first = alarm;
    }
    return first;
  }
}

/** Later than every time. */
const never = 2n ** 80n;

interface AlarmEvents {
  forget(): void;
  wasSet(): void;
}

class TestAlarm implements Alarm {
  atMicros = never;
  readonly #ring: () => void;
  readonly #events: AlarmEvents;
  #answered: () => void = () => undefined;

  constructor(ring: () => void, events: AlarmEvents) {
    this.#ring = ring;
    this.#events = events;
  }

  set(atMicros: bigint | undefined): void {
    this.atMicros = atMicros ?? never;
    this.#answered();
    this.#events.wasSet();
  }

  dispose(): void {
    this.set(undefined);
    this.#events.forget();
  }

  /** Rings, and resolves when the actor has done what was due: it then sets its alarm again. */
  ringOut(): Promise<void> {
    this.atMicros = never;
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#ring();
    });
  }
}
