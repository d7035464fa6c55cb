import { type Contents, type Difference, noDifference } from './contents.ts';
import type { Optimistic, OptimisticHost, Predict } from './optimistic.ts';
import type { Tracked } from './requests.ts';

/**
 * Access to the predictions of calls (`optimistic.ts`), which are loaded on first use: without
 * predictions the shown rows are the server's.
 */
export class Predictions {
  readonly #host: OptimisticHost;
  readonly #tell: (difference: Difference | undefined) => void;
  #optimistic: Optimistic | undefined;

  /** `tell` receives the changes that predictions make on their own. */
  constructor(host: OptimisticHost, tell: (difference: Difference | undefined) => void) {
    this.#host = host;
    this.#tell = tell;
  }

  /** `undefined` before the first use. */
  get loaded(): Optimistic | undefined {
    return this.#optimistic;
  }

  async load(): Promise<Optimistic> {
    const [{ Optimistic }, { parseOneTable }] = await Promise.all([
      import('./optimistic.ts'),
      import('./one-table-query.ts'),
    ]);
    this.#optimistic ??= new Optimistic(this.#host, parseOneTable);
    return this.#optimistic;
  }

  /** Changes the rows below the predictions; those of calls that are `over` end. */
  beneath(
    change: (shown: Contents) => Difference,
    over?: ReadonlySet<Tracked>,
  ): Difference | undefined {
    const shown = this.#host.contents;
    if (shown === undefined) return undefined;
    const optimistic = this.#optimistic;
    return optimistic ? optimistic.beneath(() => change(shown), over) : change(shown);
  }

  add(call: Tracked, predict: Predict): void {
    const lay = (optimistic: Optimistic) => {
      if (!call.isSettled) this.#tell(optimistic.add(call, predict));
    };
    if (this.#optimistic !== undefined) lay(this.#optimistic);
    else this.load().then(lay).catch(this.#host.platform.report);
  }

  /** Whether the call has a prediction that is shown. */
  has(call: Tracked | undefined): boolean {
    return call !== undefined && this.#optimistic?.has(call) === true;
  }

  /** A prediction ends with its call, unless the rows of the answer have replaced it. */
  withdraw(call: Tracked): void {
    if (this.has(call)) this.#tell(this.beneath(() => noDifference, new Set([call])));
  }
}
