import { createHash } from 'node:crypto';
import { RpcError } from '../../mcp-protocol/rpc-error.ts';
import type { WatchedPart } from './watched-part.ts';

export interface SnapshotWatchOptions {
  readonly uri: string;
  /** What it shows; `undefined`: nothing, or not to this caller. */
  readonly read: () => Promise<string | undefined>;
  /** Whether a change of this database may have changed it. */
  readonly concerns: (database: bigint) => boolean;
  readonly changed: (uri: string) => void;
  /** It could not be read again. */
  readonly failed: (error: unknown) => void;
}

/** Watches what no query shows, by looking at it again whenever it may have changed. */
export class SnapshotWatch implements WatchedPart {
  readonly #options: SnapshotWatchOptions;
  /** Of what it showed last: the text itself may be long. */
  #digest: string | undefined;
  #state: 'idle' | 'looking' | 'lookingAgain' | 'closed' = 'idle';

  constructor(options: SnapshotWatchOptions) {
    this.#options = options;
  }

  async open(): Promise<readonly string[]> {
    this.#digest = await this.#look();
    return this.#digest === undefined ? [] : [this.#options.uri];
  }

  examine(database?: bigint): void {
    if (database !== undefined && !this.#options.concerns(database)) return;
    if (this.#state === 'looking') this.#state = 'lookingAgain';
    if (this.#state === 'idle') this.#compare().catch(this.#options.failed);
  }

  close(): void {
    this.#state = 'closed';
  }

  async #compare(): Promise<void> {
    const { uri, changed } = this.#options;
    do {
      this.#state = 'looking';
      const digest = await this.#look();
      if (this.#isClosed) return;
      if (digest !== this.#digest) changed(uri);
      this.#digest = digest;
    } while (this.#isAskedAgain);
    this.#state = 'idle';
  }

  get #isClosed(): boolean {
    return this.#state === 'closed';
  }

  get #isAskedAgain(): boolean {
    return this.#state === 'lookingAgain';
  }

  /** What cannot be read, as its database does not serve, shows nothing until it can be again. */
  async #look(): Promise<string | undefined> {
    try {
      const text = await this.#options.read();
      return text === undefined ? undefined : digestOf(text);
    } catch (error) {
      if (error instanceof RpcError) return undefined;
      throw error;
    }
  }
}

/** Many watch the same text, and look at it one after another: it is hashed once. */
let newest = { text: '', digest: '' };

function digestOf(text: string): string {
  if (text !== newest.text) {
    newest = { text, digest: createHash('sha256').update(text).digest('base64') };
  }
  return newest.digest;
}
