import { limits } from '../limits.ts';
import type { MemoryShare } from '../sql/budget.ts';
import { SqlFailure } from '../sql/failure.ts';
import { anonymous, type CallerKey, callerKeyOf } from './caller-key.ts';
import type { Caller } from './outcome.ts';

/**
 * Memory held by all reads of one database, including paused ones and results, and by its paused
 * writes. It is bounded per caller and per database, and known at any moment, so that none of it
 * counts as the module's. The first bytes of a read are not counted (`limits.sqlUncountedBytes`):
 * small reads are answered while large ones hold the whole budget.
 */
export class StatementMemory {
  #bytes = 0;
  readonly #byCaller = new Map<CallerKey, number>();

  get bytes(): number {
    return this.#bytes;
  }

  /** The share that one read of the caller takes memory from. */
  shareOf(caller: Pick<Caller, 'identity' | 'isAnonymous'>): MemoryShare {
    const key = callerKeyOf(caller);
    return {
      take: (bytes) => this.#take(key, bytes),
      giveBack: (bytes) => this.#add(key, -bytes),
    };
  }

  #take(key: CallerKey, bytes: number): void {
    const { sqlCallerMemoryBytesMax, sqlDatabaseMemoryBytesMax } = limits;
    if ((this.#byCaller.get(key) ?? 0) + bytes > sqlCallerMemoryBytesMax) {
      const whose = key === anonymous ? 'Statements of anonymous callers' : 'Your statements';
      throw tooMuch(whose, sqlCallerMemoryBytesMax);
    }
    if (this.#bytes + bytes > sqlDatabaseMemoryBytesMax) {
      throw tooMuch('The statements that run in this database', sqlDatabaseMemoryBytesMax);
    }
    this.#add(key, bytes);
  }

  #add(key: CallerKey, bytes: number): void {
    this.#bytes += bytes;
    const left = (this.#byCaller.get(key) ?? 0) + bytes;
    if (left === 0) this.#byCaller.delete(key);
    else this.#byCaller.set(key, left);
  }
}

function tooMuch(whose: string, bytesMax: number): SqlFailure {
  const message =
    `${whose} together need more than ${bytesMax / (1024 * 1024)} MiB of memory; try again when ` +
    'one of them has ended, or add a LIMIT, narrow the WHERE clause or add an index';
  return new SqlFailure({ code: 'sql.busy', message });
}
