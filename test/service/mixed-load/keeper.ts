import { type Client, connect, type WatchedQuery } from '../../../src/client/index.ts';
import type { Ledger } from './ledger.ts';
import type * as market from './market.ts';

interface ZoneTotal {
  readonly zone: number;
  readonly changed: bigint;
}

interface EntryId {
  readonly id: number;
}

const newestCount = 20;

/**
 * A client of `reducerdb/client` that keeps rows at hand all the time: the items of a zone, all
 * entries, a group of each zone, and the newest entries.
 */
export class Keeper {
  readonly #client: Client<typeof market>;
  readonly #zone: number;
  readonly #totals: WatchedQuery<ZoneTotal>;
  readonly #newest: WatchedQuery<EntryId>;

  private constructor(client: Client<typeof market>, zone: number) {
    this.#client = client;
    this.#zone = zone;
    this.#totals = client.watch<ZoneTotal>(
      'SELECT zone, SUM(changes) AS changed FROM item GROUP BY zone',
    );
    this.#newest = client.watch<EntryId>(
      `SELECT id FROM entry ORDER BY id DESC LIMIT ${newestCount}`,
    );
  }

  static async open(url: string, database: string, zone: number): Promise<Keeper> {
    const client = connect<typeof market>({ uri: url, database });
    const keeper = new Keeper(client, zone);
    for (const watched of [keeper.#totals, keeper.#newest]) watched.subscribe(() => undefined);
    const queries = [`SELECT * FROM item WHERE zone = ${zone}`, 'SELECT * FROM entry'];
    await Promise.all([
      client.subscribe(queries).applied,
      keeper.#totals.ready(),
      keeper.#newest.ready(),
    ]);
    return keeper;
  }

  /** What it has otherwise than the ledger, once nothing is under way any more. */
  differences(ledger: Ledger): string[] {
    const found: string[] = [];
    const compare = (what: string, kept: unknown, acknowledged: unknown): void => {
      if (String(kept) === String(acknowledged)) return;
      found.push(`${what}: a client has ${kept}, acknowledged were ${acknowledged}`);
    };
    for (const { id, changes } of this.#client.db.item) {
      compare(`changes of item ${id}`, changes, ledger.changes[id]);
    }
    const ids = [...this.#client.db.entry].map(({ id }) => id).sort(ascending);
    const entries = [...ledger.entries].sort(ascending);
    compare('entries', ids, entries);
    const newest = this.#newest.get().rows.map(({ id }) => id);
    compare('newest entries', newest.sort(ascending), entries.slice(-newestCount));
    for (const { zone, changed } of this.#totals.get().rows) {
      compare(`changes in zone ${zone}`, changed, ledger.changesOfZone[zone]);
    }
    compare('zones', this.#totals.get().rows.length, ledger.changesOfZone.length);
    const inZone = Math.ceil((ledger.itemCount - this.#zone) / ledger.changesOfZone.length);
    compare('items of a zone', this.#client.db.item.count(), inZone);
    return found;
  }

  leave(): void {
    this.#client.disconnect();
  }
}

function ascending(one: number, other: number): number {
  return one - other;
}
