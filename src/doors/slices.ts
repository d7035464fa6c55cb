import { limits } from '../limits.ts';

/**
 * Works on the text of one client in the gateway, in slices between which the gateway serves all
 * others. All such work takes turns: together it has `limits.sliceMillisMax` of each round of the
 * event loop, however much of it there is. `steps` yields at least every millisecond or so.
 */
export function inSlices<Result>(steps: Generator<undefined, Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const goOn = (): boolean => {
      try {
        const { done, value } = steps.next();
        if (done) resolve(value);
        return done === true;
      } catch (error) {
        reject(error);
        return true;
      }
    };
    waiting.push(goOn);
    if (waiting.length === 1) setImmediate(runSlice);
  });
}

/** Work under way, the next first; each call returns whether it has ended. */
const waiting: (() => boolean)[] = [];

function runSlice(): void {
  const endMillis = performance.now() + limits.sliceMillisMax;
  do {
    const [next] = waiting;
    if (next === undefined) return;
    const hasEnded = next();
    waiting.shift();
    if (!hasEnded) waiting.push(next);
  } while (performance.now() < endMillis);
  if (waiting.length > 0) setImmediate(runSlice);
}
