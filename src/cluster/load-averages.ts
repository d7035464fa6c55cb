import { limits } from '../limits.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

/** Time that the leader of a database has spent in turns, since some moment. */
export interface TurnTime {
  readonly host: HostId;
  readonly term: number;
  readonly turnMillis: number;
}

interface Averaged {
  readonly led: TurnTime;
  readonly at: number;
  readonly load: number;
}

/** The share of its time that each leader spends in turns: a moving average over a minute. */
export class LoadAverages {
  readonly #averages = new Map<DatabaseIdentity, Averaged>();

  /** Notes what a leader has done by now; returns the average, of what nobody leads the last. */
  note(database: DatabaseIdentity, led: TurnTime | undefined, now: number): number {
    const before = this.#averages.get(database);
    if (led === undefined) return before?.load ?? 0;
    const load = before === undefined ? 0 : averaged(before, led, now);
    this.#averages.set(database, { led, at: now, load });
    return load;
  }

  /** Forgets all but these. */
  keep(databases: { has(database: DatabaseIdentity): boolean }): void {
    for (const database of this.#averages.keys()) {
      if (!databases.has(database)) this.#averages.delete(database);
    }
  }

  clear(): void {
    this.#averages.clear();
  }
}

function averaged({ led: before, at, load }: Averaged, led: TurnTime, now: number): number {
  const passed = now - at;
  const spent = led.turnMillis - before.turnMillis;
  // Another actor counts from its own beginning.
  const isSame = led.host === before.host && led.term === before.term && spent >= 0;
  if (!isSame || passed <= 0) return load;
  const weight = 1 - Math.exp(-passed / limits.loadAverageMillis);
  return load + (Math.min(1, spent / passed) - load) * weight;
}
