import { limits } from '../limits.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import { type BootId, bootId } from '../shared-log/host-ids.ts';
import { bigintToHex } from '../values/hex.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import type { LinkClient } from './link-client.ts';

export interface SteppingDownOptions {
  readonly me: BootId;
  readonly now: () => number;
  readonly client: Pick<LinkClient, 'askHost'>;
  /** The other hosts that live. */
  readonly others: () => readonly SeenHost[];
  /** Has a database look at its log at once. */
  readonly wake: (database: DatabaseIdentity) => void;
}

/**
 * Leaders that say themselves that they cannot go on with a database, because their disk is full or
 * has failed: their process lives and beats, so nobody else would notice. A hint, which decides
 * when others try: who leads is for the log to say.
 */
export class SteppingDown {
  readonly #options: SteppingDownOptions;
  readonly #said = new Map<DatabaseIdentity, { readonly boot: BootId; readonly at: number }>();

  constructor(options: SteppingDownOptions) {
    this.#options = options;
  }

  /** This host has led a database, and cannot any more. */
  tell(database: DatabaseIdentity): void {
    const { me, client, others } = this.#options;
    const path = `down/${bigintToHex(database, 64)}/${bigintToHex(me, 32)}`;
    // Who does not hear of it waits until this host has ended.
    for (const { address } of others()) client.askHost(address, path).catch(() => undefined);
  }

  /** What another host says; `undefined`: something else. */
  answer(path: string): object | undefined {
    const [, hex, boot] = /^down\/([0-9a-f]{64})\/([0-9a-f]{32})$/.exec(path) ?? [];
    if (hex === undefined || boot === undefined) return undefined;
    const database = databaseIdentity(BigInt(`0x${hex}`));
    if (this.#said.size >= limits.placeHintsMax) this.#said.clear();
    this.#said.set(database, { boot: bootId(BigInt(`0x${boot}`)), at: this.#options.now() });
    this.#options.wake(database);
    return {};
  }

  /** Somebody leads: what another one has said before counts no more. */
  led(database: DatabaseIdentity, leader: BootId): void {
    if (this.#said.get(database)?.boot !== leader) this.#said.delete(database);
  }

  /** True if that process has said so of late; it may have found room since. */
  has(database: DatabaseIdentity, leader: BootId | undefined): boolean {
    const said = this.#said.get(database);
    if (said === undefined || said.boot !== leader) return false;
    return this.#options.now() - said.at < limits.stepDownMillis;
  }
}
