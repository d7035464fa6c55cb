import { limits } from '../limits.ts';

/** Runs `work` when the next mark of what is durable is due; keeps no process from ending. */
export function later(work: () => void): void {
  setTimeout(work, limits.durableMarkMillis).unref();
}
