import { createHash } from 'node:crypto';
import { RpcError } from '../../mcp-protocol/rpc-error.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { WatchedPart } from './watched-part.ts';

export interface SnapshotWatchOptions {
  readonly uri: string;
  /** Reads the content; `undefined`: none, or none for this caller. */
  readonly read: () => Promise<string | undefined>;
  /** Whether a change of this database may have changed the content. */
  readonly concerns: (database: DatabaseIdentity) => boolean;
  readonly changed: (uri: string) => void;
  /** Called when the content cannot be read again. */
  readonly failed: (error: unknown) => void;
}

/** Watches content that no live query covers, by reading it again whenever it may have changed. */
export class SnapshotWatch implements WatchedPart {
  readonly #options: SnapshotWatchOptions;
  /** Digest of the last content, because the text may be long. */
  #digest: string | undefined;
  #state: 'idle' | 'looking' | 'lookingAgain' | 'closed' = 'idle';

  constructor(options: SnapshotWatchOptions) {
    this.#options = options;
  }

  async open(): Promise<readonly string[]> {
    this.#digest = await this.#look();
    return this.#digest === undefined ? [] : [this.#options.uri];
  }

  examine(database?: DatabaseIdentity): void {
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

  /** Returns the digest; a database that does not serve has no content until it does. */
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

/** Many watches read the same text one after another; it is hashed once. */
let newest = { text: '', digest: '' };

function digestOf(text: string): string {
  if (text !== newest.text) {
    newest = { text, digest: createHash('sha256').update(text).digest('base64') };
  }
  return newest.digest;
}
