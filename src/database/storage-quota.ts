import type { CommitLog } from '../log/commit-log.ts';
import { hiddenTableIds } from '../schema/system-tables.ts';
import type { Store } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import { bytesText } from '../values/bytes-text.ts';

/** What of a database's log is on the disk, as far as others than the database know it. */
export interface KeptLog {
  /** Bytes of its records that are gone, or saved by packing; absent: as at its start. */
  readonly goneLogBytes?: number;
  /** Bytes of the logs that this one has replaced and that are still there. */
  readonly replacedLogBytes?: number;
}

/** Limits on what a database may hold. Plain data: it crosses threads. Absent: unlimited. */
export interface StorageLimits extends KeptLog {
  /** Bytes of row slots in its tables, without indexes. */
  readonly rowBytesMax?: number | undefined;
  /** Bytes of its log on the disk. */
  readonly logBytesMax?: number | undefined;
  /** Why rows, or the log, must not grow although the database itself is within its limits. */
  readonly ownerRowFault?: string | undefined;
  readonly ownerLogFault?: string | undefined;
}

/** The usage that counts against `StorageLimits`, and the program that serves. */
export interface StorageUse {
  readonly rowBytes: number;
  readonly logBytes: number;
  readonly programBytes: number;
}

interface Stored {
  readonly store: Store;
  readonly log: CommitLog;
}

/**
 * Decides whether an open transaction may be committed. Beyond the row limit, one that would leave
 * more rows than before is refused; beyond the log limit, only one that does nothing but delete is
 * accepted, since every change makes the log longer. So reads and deletes keep working. Of the log
 * counts what is kept, so that one whose history is shortened can always be written to.
 *
 * Costs a few comparisons while nothing is exceeded, and never anything per row.
 */
export class StorageQuota {
  #limits: StorageLimits = {};
  #isLimited = false;

  set limits(limits: StorageLimits) {
    this.#limits = limits;
    const { goneLogBytes: _, replacedLogBytes: __, ...bounds } = limits;
    this.#isLimited = Object.values(bounds).some((limit) => limit !== undefined);
  }

  /** Bytes of the log that are kept, which is what counts. */
  logBytesOf({ bytes, goneBytes }: CommitLog): number {
    const { goneLogBytes = goneBytes, replacedLogBytes = 0 } = this.#limits;
    return Math.max(0, bytes - goneLogBytes) + replacedLogBytes;
  }

  /**
   * Why it must not be committed; `undefined` if it may be. The reducers that run when clients
   * connect and disconnect have some room beyond the limit, so that read-only callers can connect.
   */
  faultOf(stored: Stored, transaction: Transaction, isOfCall: boolean): string | undefined {
    if (!this.#isLimited) return undefined;
    return (
      this.#logFault(stored, transaction, isOfCall) ?? this.#rowFault(stored, transaction, isOfCall)
    );
  }

  /** Why the rows of other tables, which take so many bytes, must not take the place of all. */
  faultOfRows({ store }: Pick<Stored, 'store'>, rowBytes: number): string | undefined {
    const { rowBytesMax } = this.#limits;
    if (rowBytesMax === undefined || rowBytes <= rowBytesMax) return undefined;
    if (rowBytes <= rowBytesOf(store)) return undefined;
    return fault({ what: 'rows', used: rowBytes, most: rowBytesMax });
  }

  #rowFault({ store }: Stored, transaction: Transaction, isOfCall: boolean): string | undefined {
    const { rowBytesMax, ownerRowFault } = this.#limits;
    if (rowBytesMax === undefined && ownerRowFault === undefined) return undefined;
    const most = roomy(rowBytesMax ?? Number.POSITIVE_INFINITY, isOfCall);
    // Rows that the transaction has deleted still have their slots.
    const beforeCommit = rowBytesOf(store);
    if (beforeCommit <= most && (ownerRowFault === undefined || !isOfCall)) return undefined;
    const { inserted, deleted } = transaction.netBytes();
    if (inserted <= deleted) return undefined;
    const after = beforeCommit - deleted;
    if (after > most) return fault({ what: 'rows', used: after, most: rowBytesMax ?? 0 });
    return isOfCall ? ownerRowFault : undefined;
  }

  #logFault({ log }: Stored, transaction: Transaction, isOfCall: boolean): string | undefined {
    const { logBytesMax, ownerLogFault } = this.#limits;
    const used = logBytesMax === undefined ? 0 : this.logBytesOf(log);
    const isOver = logBytesMax !== undefined && used > roomy(logBytesMax, isOfCall);
    const isOwnersOver = ownerLogFault !== undefined && isOfCall;
    if (!isOver && !isOwnersOver) return undefined;
    if (transaction.netBytes().inserted === 0) return undefined;
    if (isOver) return fault({ what: 'log', used, most: logBytesMax });
    return ownerLogFault;
  }
}

/** Bytes of rows that a database holds now. */
export function rowBytesOf({ tables }: Pick<Store, 'tables'>): number {
  let bytes = 0;
  for (const { spec, heap, held } of tables) {
    // Hidden rows exist because rows of the module do. Rows that are kept for readers are gone.
    const counts = spec.kind === 'user' || hiddenTableIds.has(spec.id);
    if (counts) bytes += heap.usedBytes - held.waitingBytes;
  }
  return bytes;
}

function roomy(most: number, isOfCall: boolean): number {
  return isOfCall ? most : most + most / 8 + 2 ** 20;
}

function fault({ what, used, most }: { what: 'rows' | 'log'; used: number; most: number }): string {
  const whose = what === 'rows' ? 'rows of this database' : 'log of this database';
  const verb = what === 'rows' ? 'would take' : 'takes';
  const next = what === 'rows' ? 'Delete rows' : logAdvice;
  return quotaText(`the ${whose} ${verb} ${bytesText(used)}`, bytesText(most), next);
}

const logAdvice =
  'Shorten its history with `reducerdb retention set` or `retention forget`, reset the database';

/** The text for who has reached a quota: what is used, of which limit, and what makes room. */
export function quotaText(used: string, limit: string, advice: string): string {
  return (
    `Quota exceeded: ${used}, and the limit is ${limit}. ` +
    `${advice}, or ask an operator of the service for more`
  );
}
