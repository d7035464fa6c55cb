import type { Canary } from '../deployed/deploy.ts';
import { type CallFigures, figuresSince } from '../supervision/recent-calls.ts';
import { canaryFault, passedText } from './judge-canary.ts';

export type CanaryView =
  | { readonly kind: 'watched' }
  | { readonly kind: 'passed'; readonly reason: string }
  | { readonly kind: 'faulty'; readonly reason: string };

/** Watches the calls of one database since a deploy. */
export class CanaryWatch {
  readonly #canary: Canary;
  readonly #endMillis: number;
  readonly #start: CallFigures;

  /** `now` is on a clock that only goes forward; `calls`: those until now. */
  constructor(canary: Canary, now: number, calls: CallFigures) {
    this.#canary = canary;
    this.#endMillis = now + canary.seconds * 1_000;
    this.#start = calls;
  }

  look(now: number, calls: CallFigures): CanaryView {
    const since = figuresSince(calls, this.#start);
    const reason = canaryFault(this.#canary.before, since);
    if (reason !== undefined) return { kind: 'faulty', reason };
    if (now < this.#endMillis) return { kind: 'watched' };
    return { kind: 'passed', reason: passedText(since) };
  }
}
