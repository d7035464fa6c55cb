import { limits } from '../limits.ts';
import { isForSpace } from '../log/log-error.ts';
import type { DatabaseCore } from './core.ts';
import { connectedClients, disconnectClient, endLeftover } from './lifecycle.ts';
import { nowOf } from './procedures/lane-transaction.ts';
import type { Progress } from './progress.ts';
import { failMarked } from './schedules/run-scheduled.ts';
import type { ScheduledMark } from './schedules/scheduled-mark.ts';
import { noTicket } from './ticket.ts';

/**
 * What the actor before this one has left over: connections, and a scheduled run that ended it.
 * After a crash all of it is dealt with before the first request. The next leader of a database of
 * a cluster serves at once, waits a moment for connections that other hosts announce, and ends the
 * others beside its requests, some in each turn.
 */
export class Leftovers {
  readonly #core: DatabaseCore;
  readonly #progress: Progress;
  #skipsFirst = false;
  #dueMicros = 0n;
  /** The same, by the monotonic clock. */
  #dueMillis = 0;

  constructor(core: DatabaseCore, progress: Progress) {
    this.#core = core;
    this.#progress = progress;
  }

  /** Disconnects all connections, each in its own transaction, durably. */
  async endAll(nowMicros: bigint, skipFirst: boolean): Promise<void> {
    const core = this.#core;
    const { lastMicros } = core;
    const timestampMicros = nowMicros > lastMicros ? nowMicros : lastMicros;
    await this.#writeFirst(() => {
      connectedClients(core).forEach((client, at) => {
        this.#progress.calling(noTicket);
        disconnectClient(core, { ...client, timestampMicros }, skipFirst && at === 0);
        core.log.write();
      });
    });
  }

  /** Leaves all connections to turns that come so many milliseconds later. */
  begin(skipsFirst: boolean, waitMillis: number): void {
    if (this.#core.full !== undefined) return;
    const { clock } = this.#core;
    this.#skipsFirst = skipsFirst;
    this.#dueMicros = clock.nowMicros() + BigInt(waitMillis * 1_000);
    this.#dueMillis = clock.monotonicMillis() + waitMillis;
    const { leftover, connections } = this.#core;
    for (const { connectionId, ...client } of connectedClients(this.#core)) {
      // Those that this host has served as a follower go on here.
      if (!connections.has(connectionId)) leftover.set(connectionId, client);
    }
  }

  /** True if connections are to be ended now. */
  get areDue(): boolean {
    return this.#remain && this.#core.clock.monotonicMillis() >= this.#dueMillis;
  }

  /** When they are to be ended; `undefined`: none remain. */
  get dueMicros(): bigint | undefined {
    return this.#remain ? this.#dueMicros : undefined;
  }

  /** The same, if that is still to come: the clock may have been set meanwhile. */
  get alarmMicros(): bigint | undefined {
    if (!this.#remain) return undefined;
    const { clock } = this.#core;
    const left = Math.max(0, Math.ceil(this.#dueMillis - clock.monotonicMillis()));
    return clock.nowMicros() + BigInt(left * 1_000);
  }

  get #remain(): boolean {
    return this.#core.leftover.size > 0;
  }

  /**
   * Disconnects some, each in its own transaction. `write` is called after each: the next one may
   * end the actor.
   */
  goOn(write: () => void): void {
    const core = this.#core;
    const until = core.clock.monotonicMillis() + limits.turnMillisMax;
    let count = 0;
    for (const connectionId of core.leftover.keys()) {
      const isLate = count > 0 && core.clock.monotonicMillis() >= until;
      if (isLate || count >= limits.leftoversPerTurnMax) return;
      this.#progress.calling(noTicket);
      endLeftover(core, { connectionId, timestampMicros: nowOf(core) }, this.#skipsFirst);
      this.#skipsFirst = false;
      write();
      count++;
    }
  }

  /** Counts a scheduled run that ended an actor as failed, durably. */
  async failScheduled(mark: ScheduledMark, message: string): Promise<void> {
    await this.#writeFirst(() => {
      failMarked(this.#core, mark, message);
      this.#core.log.write();
    });
  }

  async #writeFirst(work: () => void): Promise<void> {
    try {
      work();
      this.#progress.resting();
      await this.#core.log.sync();
    } catch (error) {
      if (isForSpace(error)) await this.#core.log.takeBack();
      throw error;
    }
  }
}

/** The earlier of two times; one that is absent does not count. */
export function earlier(one: bigint | undefined, other: bigint | undefined): bigint | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one < other ? one : other;
}
