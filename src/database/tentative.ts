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
  const takeBack = rollbackFrom(core);
  const transaction = core.store.begin();
  core.views.beginTry();
  try {
    return work(transaction);
  } finally {
    takeBack(transaction);
    core.views.endTry();
  }
}

/** What takes a transaction that begins now back to here, with what it drew from sequences. */
export function rollbackFrom(core: DatabaseCore): (transaction: Transaction) => void {
  const { store, program } = core;
  const positions = store.sequencePositions();
  const sequencesBack = program.systemTables.beforeSequencesMove();
  return (transaction) => {
    rollBack(core, transaction);
    store.returnSequences(positions);
    sequencesBack();
  };
}
