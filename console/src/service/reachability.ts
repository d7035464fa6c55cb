import { Store } from './store.ts';

/**
 * Whether the service answers. `generation` counts how often it came back: what was read before is
 * then read again.
 */
export interface Reachability {
  readonly isLost: boolean;
  readonly generation: number;
}

export const reachability = new Store<Reachability>({ isLost: false, generation: 0 });

const firstDelayMillis = 500;
const longestDelayMillis = 8_000;
let isAsking = false;

/** A request got no answer: asks until the service is there again. */
export function reportLost(): void {
  reachability.set({ ...reachability.get(), isLost: true });
  if (isAsking) return;
  isAsking = true;
  askAgain(firstDelayMillis);
}

function askAgain(delayMillis: number): void {
  setTimeout(async () => {
    const isThere = await fetch('/v1/ping').then(
      (answer) => answer.ok,
      () => false,
    );
    if (!isThere) return askAgain(Math.min(delayMillis * 2, longestDelayMillis));
    isAsking = false;
    const { generation } = reachability.get();
    reachability.set({ isLost: false, generation: generation + 1 });
  }, delayMillis);
}
