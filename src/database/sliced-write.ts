import { assert, present } from '../assert.ts';
import { limits } from '../limits.ts';
import type { QueryBudget } from '../sql/budget.ts';
import { type PreparedWrite, type StatementWrite, startWrite } from '../sql/statement.ts';
import { PinRevokedError } from '../store/table-pin.ts';
import { type AskedStatement, askedStatement } from './asked-statement.ts';
import type { DatabaseCore } from './core.ts';
import type { CommitOffset, SqlRows } from './outcome.ts';
import type { AskedQuery, WriteRun } from './paused-query.ts';
import { budgetOf } from './read-run.ts';
import { afterWriting, commitInTransaction } from './run-write.ts';

/**
 * A write that searches for its rows in slices, then changes and commits them within one.
 *
 * ```
 *  finding ──▶ finding      the slice is over: others run, and may write
 *  finding ──▶ committed    no write meanwhile affects it, or each only row by row
 *  finding ──▶ again        another write affects it, or pins would hold too much: it searches
 *                           again, without pauses after `limits.writeSlicedRunsMax` times
 * ```
 *
 * So it has the effect of a write that ran entirely at the moment of its commit. Until then it
 * exists only in its own memory.
 */
export class SlicedWrite implements WriteRun {
  readonly kind = 'write';
  isWriting = false;
  readonly #core: DatabaseCore;
  readonly #asked: AskedQuery;
  /** The current search; `undefined` until the next one begins. */
  #finding: Finding | undefined;
  #runs = 0;
  #result: (SqlRows & { readonly offset: CommitOffset }) | undefined;

  /** `statement` is a write without EXPLAIN. Throws `SqlFailure`. */
  constructor(core: DatabaseCore, asked: AskedQuery, statement: AskedStatement) {
    this.#core = core;
    this.#asked = asked;
    this.#finding = this.#begin(statement);
  }

  /** Throws `SqlFailure`, in which case nothing was changed. */
  run(): 'done' | 'paused' {
    for (;;) {
      const step = this.#find();
      if (step === 'paused') return 'paused';
      if (step === 'found') break;
      this.dispose();
      if (this.#runs < limits.writeSlicedRunsMax) return 'paused';
    }
    this.#commit();
    return 'done';
  }

  result(): SqlRows & { readonly offset: CommitOffset } {
    return present(this.#result, 'the result of a write that is done');
  }

  startAgain(): void {
    this.dispose();
    this.#runs = 0;
  }

  dispose(): void {
    this.#finding?.execution.dispose();
    this.#finding?.budget.release();
    this.#finding = undefined;
  }

  #find(): 'found' | 'paused' | 'again' {
    const { query, acceptedMicros } = this.#asked;
    this.#finding ??= this.#begin(askedStatement(this.#core, query, acceptedMicros));
    const finding = this.#finding;
    try {
      if (finding.execution.run() === 'found') {
        return this.#isOfNow(finding) ? 'found' : 'again';
      }
    } catch (error) {
      if (error instanceof PinRevokedError) return 'again';
      throw error;
    }
    if (!finding.isShared) finding.budget.share(finding.memory);
    finding.isShared = true;
    return 'paused';
  }

  #begin({ statement, request, times }: AskedStatement): Finding {
    assert(statement.kind === 'write', 'a write stays one');
    const inOneGo = this.#runs >= limits.writeSlicedRunsMax;
    const { memory, ...given } = request;
    // Pausing must not add a limit that a statement without pauses does not have.
    const budget = budgetOf({
      ...{ ...times, sliceMillis: this.#core.slices.millis },
      stallMillisMax: Number.POSITIVE_INFINITY,
    });
    const rowsInOneGo = inOneGo ? Number.POSITIVE_INFINITY : limits.writeRowsInOneGo;
    const execution = startWrite(statement, { ...given, budget }, rowsInOneGo);
    this.#runs += 1;
    const { offset } = this.#core.store;
    return { statement, execution, budget, memory, offset, isShared: false };
  }

  /** Brings what was found up to date; false if that is impossible. */
  #isOfNow({ offset, statement, execution }: Finding): boolean {
    const { store } = this.#core;
    if (store.offset === offset) return true;
    // Pins do not track the results of views or computed tables, which are replaced as a whole.
    const isStored = statement.compiled.plan.tables.every(
      ({ id }) => store.table(id) !== undefined,
    );
    return isStored && execution.catchUp(limits.writeLaterRowsMax);
  }

  #commit(): void {
    const core = this.#core;
    const { query, acceptedMicros } = this.#asked;
    const { execution } = present(this.#finding, 'what was found');
    this.isWriting = true;
    const rows = commitInTransaction(core, query, acceptedMicros, (transaction) =>
      afterWriting(core, acceptedMicros, transaction, execution.write(transaction)),
    );
    this.isWriting = false;
    this.#result = { ...rows, offset: core.store.offset };
  }
}

interface Finding {
  readonly statement: PreparedWrite;
  readonly execution: StatementWrite;
  readonly budget: QueryBudget;
  readonly memory: AskedStatement['request']['memory'];
  /** The commit against whose rows it began. */
  readonly offset: CommitOffset;
  /** True once it has paused: its memory then comes from `memory`. */
  isShared: boolean;
}
