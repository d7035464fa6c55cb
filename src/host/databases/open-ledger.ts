import type { Clock } from '../../database/clock.ts';
import { limits } from '../../limits.ts';
import type { Report } from '../../node/report-line.ts';
import { Ledger } from '../ledger/ledger.ts';
import { type LedgerBounds, LedgerMemory, type LedgerStore } from '../ledger/ledger-files.ts';
import type { DatabaseFiles } from '../registry/database-files.ts';

export interface OpenLedgerOptions {
  readonly ledger?: Partial<LedgerBounds>;
  readonly clock: Clock;
  readonly report: Report;
}

/**
 * Opens the ledgers of a host, or removes them if none are kept. Where their folder cannot be used,
 * they are kept in memory.
 */
export async function openLedger(
  { ledger = {}, clock, report }: OpenLedgerOptions,
  files: DatabaseFiles,
): Promise<Ledger | undefined> {
  const { keepMillis = limits.ledgerKeepMillis, bytesMax = limits.ledgerBytesMax } = ledger;
  if (keepMillis === 0) {
    await files.removeLedgers().catch((error: unknown) => {
      report({ level: 'warn', message: `Files of ledgers stay: ${String(error)}` });
    });
    return undefined;
  }
  let store: LedgerStore;
  try {
    store = await files.openLedgers({ keepMillis, bytesMax }, clock.nowMicros());
  } catch (error) {
    const message = `The ledgers cannot be opened, and are kept in memory: ${String(error)}`;
    report({ level: 'error', message });
    store = new LedgerMemory();
  }
  return new Ledger({ store, clock, report, keepMillis });
}
