/** Unpredictable bytes, from the machine or seeded by a simulation. */
export interface Entropy {
  /** Overwrites all of `bytes`. */
  fill(bytes: Uint8Array): void;
}
