import { limits } from '../../limits.ts';
import type { FromWorker } from './worker-messages.ts';

/**
 * Bounds the unsolicited messages of a database's process. An actor stays far below (see
 * `actor.ts`, `warnings.ts`), so a process that exceeds the bounds is no longer an actor, and
 * `take` throws. Messages about the database's own work are not counted, since an actor sends as
 * many as it works: turns, durable writes, log lines, what it asks of its cluster. They are paid
 * for in time, by the pauses of `ProcessWorker`. Links are counted where programs are given, and
 * questions of a member where they are answered.
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
      case 'member':
      case 'role':
      case 'handedOver':
        return;
      case 'memory':
      case 'read':
      case 'askSnapshot':
      case 'leaveSnapshot':
      case 'readable':
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
      case 'lane':
      case 'lanesBusy':
      case 'laneReplaced':
      case 'endLane':
      case 'snapshotPort':
        throw new Error(`a message of the kind ${kind}, which only a thread sends`);
      default:
        throw new Error(`a message of the kind ${String(kind satisfies never).slice(0, 32)}`);
    }
  }
}

/** Factor by which the bounds exceed what an actor sends at most. */
const margin = 4;

/**
 * Allows a number of messages per second, however they arrive: after this process stalled,
 * everything sent meanwhile arrives at once. `firstSeconds`: as many as in this time can arrive at
 * the start.
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
