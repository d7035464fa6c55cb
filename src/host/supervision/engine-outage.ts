import type { Clock } from '../../database/clock.ts';
import { Refusal } from '../../database/outcome.ts';
import type { DatabaseRequest } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import type { Outbox } from '../feeds/outbox.ts';
import type { Pending, PendingRequests } from '../feeds/pending-requests.ts';
import { type EngineState, noEngine } from '../replication/engine-state.ts';

export interface OutageOptions {
  readonly engine: EngineState;
  readonly clock: Clock;
  readonly pending: PendingRequests;
  readonly outbox: Outbox;
  /** Called when requests can go to the actor, or answers to their callers. */
  readonly wake: () => void;
  /** Receives the code of requests that were refused, and how many. */
  readonly refused: (code: Refusal['body']['code'], count: number) => void;
}

/**
 * What becomes of the requests of one database while the engine of its cluster takes no commits:
 *
 * ```
 *  not begun: wait ── 8 s ──▶ `database.noEngine`, nothing was done
 *  begun: wait to be acknowledged ── 30 s ──▶ `database.lost`, the outcome is unknown
 * ```
 *
 * Reads whose callers do not wait for that go on.
 */
export class EngineOutage {
  readonly #options: OutageOptions;
  readonly #forget: () => void;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(options: OutageOptions) {
    this.#options = options;
    this.#forget = options.engine.onChange(() => this.#changed());
    this.#changed();
  }

  /** Which requests are held back; `undefined`: none is. */
  get held(): ((pending: Pending) => boolean) | undefined {
    return this.#isAway ? isHeld : undefined;
  }

  /** Answers those who wait for the engine: the service stops, and it is away. */
  giveUp(): void {
    this.#giveUp(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  }

  /** The database closes. */
  end(): void {
    this.#forget();
    clearInterval(this.#sweeper);
    if (this.#isAway) this.giveUp();
  }

  get #isAway(): boolean {
    return this.#options.engine.isAway;
  }

  #changed(): void {
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
    if (this.#isAway) {
      this.#sweeper = setInterval(() => this.#sweep(), limits.outageLookMillis).unref();
    }
    this.#options.wake();
  }

  #sweep(): void {
    const now = this.#options.clock.monotonicMillis();
    this.#giveUp(now - limits.waitLeaderMillis, now - limits.acknowledgeMillisMax);
  }

  /** Gives up requests that were accepted before these times: not begun, and begun. */
  #giveUp(waitingBefore: number, begunBefore: number): void {
    const { pending, outbox, wake, refused } = this.#options;
    const undone = pending.giveUpHeld(waitingBefore, noEngine());
    refused('database.noEngine', undone);
    const lost = pending.giveUpBegun(begunBefore, unacknowledged()) + outbox.expire(begunBefore);
    refused('database.lost', lost);
    if (undone + lost > 0) wake();
  }
}

/** True if a request writes, or its answer would wait for the engine. */
function isHeld(pending: Pending): boolean {
  const isConfirmed =
    pending.kind === 'feed' ? pending.feed.options.confirmed : pending.isConfirmed;
  switch (pending.request.kind) {
    case 'call':
    case 'procedure':
    case 'handler':
    case 'import':
    case 'update':
      return true;
    case 'query':
    case 'preview':
    case 'export':
    case 'schedules':
    case 'subscribe':
    case 'resume':
    case 'unsubscribe':
    case 'oneOff':
      return isConfirmed;
    default:
      return false;
  }
}

/** The answer to a caller who has waited long enough for the engine to acknowledge a request. */
export function expiredRefusal(request: DatabaseRequest): Refusal {
  const isRead = request.kind === 'query' && /^\s*select\b/i.test(request.query.sql);
  return isRead ? noEngine() : unacknowledged();
}

/** A request that was done, and that the engine has not acknowledged. */
function unacknowledged(): Refusal {
  return new Refusal({
    code: 'database.lost',
    message:
      'The engine of the cluster has not acknowledged what the request did ' +
      '(outcome: unknown): it may be kept, or lost. Look before you repeat it.',
  });
}
