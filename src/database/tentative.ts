import type { Transaction } from '../store/transaction.ts';
import type { DatabaseCore } from './core.ts';
import { rollBack } from './run-reducer.ts';

/**
 * Runs `work` in a transaction and takes everything back: rows, results of views, and, unlike a
 * failed transaction, the values of sequences. It leaves no trace.
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

/** Returns a function that undoes a transaction that begins now, including its sequence values. */
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
