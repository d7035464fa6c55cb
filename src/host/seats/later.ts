import { limits } from '../../limits.ts';

/** Runs `work` when the next durable mark is due; does not keep the process alive. */
export function later(work: () => void): void {
  setTimeout(work, limits.durableMarkMillis).unref();
}
