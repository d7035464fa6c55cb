import type { Transaction } from '../store/transaction.ts';
import type { DatabaseCore } from './core.ts';
import { rollBack } from './run-reducer.ts';

/**
 * Runs `work` in a transaction and takes all of it back: rows, results of views, and, unlike a
 * transaction that failed, the values of sequences. Nobody learns that it ran.
 */
export function tentatively<Result>(
  core: DatabaseCore,
  work: (transaction: Transaction) => Result,
): Result {
  const positions = core.store.sequencePositions();
  const transaction = core.store.begin();
  core.views.beginTry();
  core.program.systemTables.forgetSequences();
  try {
    return work(transaction);
  } finally {
    rollBack(core, transaction);
    core.views.endTry();
    core.store.returnSequences(positions);
    core.program.systemTables.forgetSequences();
  }
}
