/** The measured work of one step of a plan, for EXPLAIN ANALYZE. */
export interface Measurement {
  /** Number of rows that it returned. */
  rows: number;
  /** Number of times it was opened. */
  loops: number;
  /** Milliseconds spent in it, including the steps inside it. */
  millis: number;
}

/** What each step of one plan took while it ran; a step is known by its identity. */
export class Measurements {
  readonly #byStep = new Map<object, Measurement>();

  of(step: object): Measurement {
    const known = this.#byStep.get(step);
    if (known !== undefined) return known;
    const measurement: Measurement = { rows: 0, loops: 0, millis: 0 };
    this.#byStep.set(step, measurement);
    return measurement;
  }
}
