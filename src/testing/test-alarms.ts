import type { Alarm, MakeAlarm } from '../database/alarm.ts';

/** Alarms that ring when a test moves its clock. */
export class TestAlarms {
  readonly #alarms = new Set<TestAlarm>();

  readonly make: MakeAlarm = (ring) => {
    const alarm = new TestAlarm(ring, () => this.#alarms.delete(alarm));
    this.#alarms.add(alarm);
    return alarm;
  };

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

class TestAlarm implements Alarm {
  atMicros = never;
  readonly #ring: () => void;
  readonly #forget: () => void;
  #answered: () => void = () => undefined;

  constructor(ring: () => void, forget: () => void) {
    this.#ring = ring;
    this.#forget = forget;
  }

  set(atMicros: bigint | undefined): void {
    this.atMicros = atMicros ?? never;
    this.#answered();
  }

  dispose(): void {
    this.set(undefined);
    this.#forget();
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
