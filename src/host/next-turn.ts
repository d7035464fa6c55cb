/** Lets messages, finished syncs and timers have their chance. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
