/** Time as a database sees it; the machine's or a simulation's. */
export interface Clock {
  /** Wall-clock time in microseconds since the Unix epoch. The machine can set it back. */
  nowMicros(): bigint;
  /** Milliseconds since an arbitrary start, with fraction; never goes back. For measuring spans. */
  monotonicMillis(): number;
}
