import { type OpenDatabase, openDatabase } from './open-database.ts';
import { TablesConnection } from './resources/tables-connection.ts';
import { readingOnly } from './session.ts';
import type { ToolContext } from './tool.ts';

/** Notes when the rows of one statement may have changed, until it is closed. */
export class RowWait {
  readonly #connection: TablesConnection;
  readonly #ending = new AbortController();
  #hasChanged = false;
  #wake: () => void = () => undefined;

  private constructor(open: OpenDatabase, sql: string) {
    this.#connection = new TablesConnection(open, {
      queries: new Map([['rows', sql]]),
      changed: () => {
        this.#hasChanged = true;
        this.#wake();
      },
      lost: () => this.#end(),
    });
  }

  /**
   * Begins to watch. Watching writes nothing: lifecycle reducers leave no trace. Returns
   * `undefined` if the statement cannot be watched.
   */
  static async begin(
    database: string,
    sql: string,
    context: ToolContext,
  ): Promise<RowWait | undefined> {
    const session = readingOnly(context.session);
    const wait = new RowWait(openDatabase(database, { ...context, session }), sql);
    const watched = await wait.#connection.opened;
    if (watched.length > 0) return wait;
    wait.close();
    return undefined;
  }

  /**
   * Waits for the next change. `ended`: nothing more will be noted. `tooLate`: none came before
   * `signal` was aborted.
   */
  async next(signal: AbortSignal): Promise<'changed' | 'ended' | 'tooLate'> {
    const isOver = () => this.#hasChanged || this.#ending.signal.aborted || signal.aborted;
    if (!isOver()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    if (this.#hasChanged) {
      this.#hasChanged = false;
      return 'changed';
    }
    return this.#ending.signal.aborted ? 'ended' : 'tooLate';
  }

  close(): void {
    this.#end();
    this.#connection.close();
  }

  #end(): void {
    this.#ending.abort();
    this.#wake();
  }
}
