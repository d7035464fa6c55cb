import type { LogStream } from '../../host/databases/module-log.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { findDatabase } from '../open-database.ts';
import type { McpSession } from '../session.ts';
import { followLog, mayReadLog } from './log-lines.ts';
import type { WatchedPart } from './watched-part.ts';

export interface LogWatchOptions {
  readonly session: McpSession;
  readonly uri: string;
  /** The database, as named in the URI. */
  readonly target: string;
  readonly changed: (uri: string) => void;
  /** Called when the log cannot be followed any further. */
  readonly failed: (error: unknown) => void;
}

/** Watches the log of a module by following it. */
export class LogWatch implements WatchedPart {
  readonly #options: LogWatchOptions;
  #stream: LogStream | undefined;

  constructor(options: LogWatchOptions) {
    this.#options = options;
  }

  async open(): Promise<readonly string[]> {
    this.#follow();
    return this.#stream === undefined ? [] : [this.#options.uri];
  }

  examine(database?: DatabaseIdentity): void {
    const { uri, changed, failed } = this.#options;
    const found = this.#find();
    if (found !== undefined && this.#stream === undefined) this.open().catch(failed);
    else if (found === undefined && this.#stream !== undefined) this.close();
    // A reset empties the log without a line that says so.
    else if (database === undefined || found?.identity !== database) return;
    changed(uri);
  }

  close(): void {
    void this.#stream?.return?.();
    this.#stream = undefined;
  }

  #find() {
    const { session, target } = this.#options;
    const found = findDatabase(target, session)?.database;
    return found !== undefined && mayReadLog(session, found) ? found : undefined;
  }

  #follow(): void {
    const found = this.#find();
    if (found === undefined) return;
    const stream = followLog(this.#options.session, found);
    this.#stream = stream;
    this.#tellOf(stream).catch(this.#options.failed);
  }

  async #tellOf(stream: LogStream): Promise<void> {
    const { uri, changed } = this.#options;
    for await (const _lines of stream) changed(uri);
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    changed(uri);
  }
}
