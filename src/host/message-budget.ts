import { limits } from '../limits.ts';
import type { FromWorker } from './worker-messages.ts';

/**
 * How many messages the process of a database may send that nobody asked it for. An actor keeps
 * itself far below (see `actor.ts`, `warnings.ts`), so what passes it is no actor any more, and
 * `take` throws. What carries the database's own work is not counted, since an actor sends as much
 * as it does: turns, what is durable, lines of its log. It is paid for in time, by the pauses of
 * `ProcessWorker`. Links are counted where programs are given.
 */
export class MessageBudget {
  readonly #warnings = new Allowance(limits.workerWarningsPerMinute / 60, 60);
  readonly #reports = new Allowance(limits.workerReportsPerSecond, 10);
  readonly #once = new Set<FromWorker['kind']>();

  take({ kind }: FromWorker): void {
    switch (kind) {
      case 'turn':
      case 'durable':
      case 'lines':
      case 'link':
        return;
      case 'memory':
      case 'read':
        this.#reports.take(kind);
        return;
      case 'warn':
        this.#warnings.take(kind);
        return;
      case 'opened':
      case 'examined':
      case 'ended':
      case 'closed':
        if (this.#once.has(kind)) throw new Error(`\`${kind}\` a second time`);
        this.#once.add(kind);
        return;
      default:
        throw new Error(`a message of the kind ${String(kind).slice(0, 32)}`);
    }
  }
}

/** By how much it is wider than what an actor sends at most. */
const margin = 4;

/**
 * So many messages in a second, whenever they come: after this process stood still, all that were
 * sent meanwhile come at once. `firstSeconds`: as many as in this time may come at the start.
 */
class Allowance {
  readonly #perMilli: number;
  #left: number;
  #at = performance.now();

  constructor(perSecond: number, firstSeconds: number) {
    this.#perMilli = (margin * perSecond) / 1_000;
    this.#left = firstSeconds * 1_000 * this.#perMilli;
  }

  take(kind: string): void {
    const now = performance.now();
    const most = limits.workerStallMillisMax * this.#perMilli;
    this.#left = Math.min(most, this.#left + (now - this.#at) * this.#perMilli);
    this.#at = now;
    if (this.#left < 1) throw new Error(`more messages of the kind \`${kind}\` than it may`);
    this.#left -= 1;
  }
}
