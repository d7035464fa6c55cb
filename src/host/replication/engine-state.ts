import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';

/** Whether the engine of the cluster takes commits, as this host sees it. */
export interface EngineState {
  /** True: for a while nothing was acknowledged, and nobody knows when something will be. */
  readonly isAway: boolean;
  /** Has `changed` called when `isAway` has changed, until the answer is called. */
  onChange(changed: () => void): () => void;
  /** Why it takes no commits, as far as that can be found out now. Never rejects. */
  findTrouble(): Promise<string | undefined>;
}

/** Waits until the engine takes commits. Throws `database.noEngine` if that takes too long. */
export async function untilTaken(engine: EngineState | undefined): Promise<void> {
  if (engine?.isAway !== true) return;
  let timer: NodeJS.Timeout | undefined;
  let forget: () => void = () => undefined;
  const isTaken = await new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, limits.waitLeaderMillis, false);
    forget = engine.onChange(() => {
      if (!engine.isAway) resolve(true);
    });
  });
  clearTimeout(timer);
  forget();
  if (!isTaken) throw noEngine();
}

/** A request that had not begun when the engine of its cluster took no commits. */
export function noEngine(): Refusal {
  return new Refusal({
    code: 'database.noEngine',
    message:
      'The engine of the cluster takes no commits at the moment (database.noEngine). ' +
      'Nothing was done; try again.',
    retryAfterSeconds: 1,
  });
}
