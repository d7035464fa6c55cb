/** One pending wake-up of the actor. */
export interface Alarm {
  /**
   * Rings at this time, in microseconds since the Unix epoch, or earlier: the actor checks its
   * clock and sets the alarm again. Replaces the time set before; `undefined`: it does not ring.
   */
  set(atMicros: bigint | undefined): void;
  /** Never rings again. */
  dispose(): void;
}

/** Creates an alarm, which does not keep a process alive. */
export type MakeAlarm = (ring: () => void) => Alarm;
