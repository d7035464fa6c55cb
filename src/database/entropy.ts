/** Unpredictable bytes; the machine's or a simulation's seeded ones. */
export interface Entropy {
  /** Overwrites all of `bytes`. */
  fill(bytes: Uint8Array): void;
}
