import { existsSync } from 'node:fs';
import path from 'node:path';
import { Refusal } from '../../database/outcome.ts';
import { isNoSpace } from '../../log/disk.ts';
import { ProgramError } from '../../module/runner.ts';
import type { Report } from '../../node/report-line.ts';
import { toHex } from '../../values/hex.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity, OwnerIdentity } from '../../values/identity-roles.ts';
import type { KeptPlace, KeptPrograms } from '../linking/kept-programs.ts';
import type { Linker } from '../linking/linker.ts';
import { linkerVersion } from '../linking/linker-version.ts';
import type { LinkOutcome } from '../messages/worker-messages.ts';

export interface DatabaseLinkerOptions {
  readonly identity: DatabaseIdentity;
  /** Absent: of a database that is not there yet. */
  readonly owner?: OwnerIdentity | undefined;
  /** `undefined`: nothing is kept, as for a database in memory. */
  readonly programs: KeptPrograms | undefined;
  readonly linker: Pick<Linker, 'link'>;
  readonly report: Report;
}

/** Links programs for the actors of one database, and keeps each one before one serves it. */
export class DatabaseLinker {
  readonly #options: DatabaseLinkerOptions;

  constructor(options: DatabaseLinkerOptions) {
    this.#options = options;
  }

  /** The place where its actors look first. */
  get kept(): KeptPlace | undefined {
    const { programs } = this.#options;
    if (programs === undefined) return undefined;
    // A process of a database has another working directory.
    return { folder: path.resolve(programs.folder), linkerVersion: toHex(linkerVersion()) };
  }

  /** `isReopening`: see `LinkRequest`. Never rejects. */
  async link(bytes: Uint8Array, isReopening: boolean): Promise<LinkOutcome> {
    const outcome = await this.#link(bytes, isReopening);
    if (outcome.kind === 'linked') await this.#keep(outcome.bytes);
    return outcome;
  }

  /**
   * For a worker that only examines a program: it need not wait until the program is kept. The next
   * actor does: it has to have `kept` before. Aborting leaves the queue. Never rejects.
   */
  async linkAside(
    bytes: Uint8Array,
    signal?: AbortSignal,
  ): Promise<{ outcome: LinkOutcome; kept: Promise<void> }> {
    const outcome = await this.#link(bytes, false, signal);
    // The outcome is transferred to the worker while a copy is written.
    const kept = outcome.kind === 'linked' ? this.#keep(new Uint8Array(outcome.bytes)) : undefined;
    return { outcome, kept: kept ?? Promise.resolve() };
  }

  async #link(bytes: Uint8Array, isReopening: boolean, signal?: AbortSignal): Promise<LinkOutcome> {
    const { identity, owner = identity, linker } = this.#options;
    const database = identityToHex(identity);
    try {
      const linked = await linker.link({
        ...{ bytes, database, isReopening, signal },
        owner: identityToHex(owner),
      });
      return { kind: 'linked', bytes: linked };
    } catch (error) {
      if (error instanceof Refusal) return { kind: 'refused', body: error.body };
      if (error instanceof ProgramError) return { kind: 'failed', message: error.message };
      return { kind: 'failed', message: `the program could not be linked: ${String(error)}` };
    }
  }

  /** A program that cannot be kept is linked again the next time. */
  async #keep(linked: Uint8Array): Promise<void> {
    const database = identityToHex(this.#options.identity);
    const { programs } = this.#options;
    try {
      await programs?.keep(linked);
    } catch (error) {
      // The write that follows reports this, and what happens next.
      if (isNoSpace(error)) return;
      // The database was deleted while it was linked.
      if (programs !== undefined && !existsSync(path.dirname(programs.folder))) return;
      const message = `Database ${database}: its linked program is not kept: ${String(error)}`;
      this.#options.report({ level: 'warn', message, about: { database } });
    }
  }
}
