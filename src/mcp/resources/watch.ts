import { limits } from '../../limits.ts';
import type { Watch, WatchRequest } from '../../mcp-protocol/resource.ts';
import { findDatabase } from '../open-database.ts';
import type { McpSession } from '../session.ts';
import { type Address, addressOf, type TableAddress } from './address.ts';
import { LogWatch } from './log-watch.ts';
import { Notices } from './notices.ts';
import { SnapshotWatch } from './snapshot-watch.ts';
import { TablesWatch } from './tables-watch.ts';
import type { WatchedPart } from './watched-part.ts';

export interface ResourceWatchOptions {
  readonly request: WatchRequest;
  readonly session: McpSession;
  /** URIs of the resources that the session is listed. */
  readonly list: () => Promise<readonly string[]>;
  /** What a resource shows the session; `undefined`: nothing. */
  readonly read: (address: Address) => Promise<string | undefined>;
}

/**
 * Tells a client of what it watches, as long as it may read it. What it may do is looked at again
 * whenever somebody loses something; a token that is revoked, or expires, ends the watch.
 */
export class ResourceWatch implements Watch {
  readonly list: boolean;
  readonly #options: ResourceWatchOptions;
  readonly #notices: Notices;
  readonly #parts: readonly WatchedPart[];
  readonly #forget: readonly (() => void)[];
  #uris: readonly string[] = [];
  /** What changed while it was opened: some of it may turn out not to be watched. */
  #early: Set<string> | undefined = new Set();

  private constructor(options: ResourceWatchOptions) {
    const { request, session } = options;
    const { host, caller } = session;
    this.#options = options;
    this.list = request.list;
    this.#notices = new Notices(limits.watchNoticeMillis, (uri) => {
      if (uri === listUri) request.listChanged();
      else request.updated(uri);
    });
    this.#parts = this.#makeParts();
    this.#forget = [
      host.onDatabaseChange((identity) => this.#examine(identity)),
      host.grants.onLoss(() => this.#examineCaller()),
      host.grants.whenExpired(caller, caller.tokenId, () => this.#end()),
    ];
  }

  static async open(options: ResourceWatchOptions): Promise<ResourceWatch> {
    const watch = new ResourceWatch(options);
    try {
      const opened = await Promise.all(watch.#parts.map((part) => part.open()));
      const watched = new Set(opened.flat());
      watch.#uris = [...new Set(options.request.uris)].filter((uri) => watched.has(uri));
      const early = watch.#early;
      watch.#early = undefined;
      for (const uri of early ?? []) watch.#changed(uri);
      return watch;
    } catch (error) {
      watch.close();
      throw error;
    }
  }

  get uris(): readonly string[] {
    return this.#uris;
  }

  close(): void {
    for (const forget of this.#forget) forget();
    for (const part of this.#parts) part.close();
    this.#notices.close();
  }

  #makeParts(): WatchedPart[] {
    const { request, session, list, read } = this.#options;
    const changed = (uri: string) => this.#changed(uri);
    // A client that asks again is told what is wrong.
    const failed = () => this.#end();
    const parts: WatchedPart[] = [];
    const tables = new Map<string, Map<string, TableAddress>>();
    for (const uri of [...new Set(request.uris)].slice(0, limits.watchedResourcesMax)) {
      const address = addressOf(uri);
      if (address?.kind === 'table') {
        const ofDatabase = tables.get(address.database) ?? new Map<string, TableAddress>();
        tables.set(address.database, ofDatabase.set(uri, address));
      } else if (address?.kind === 'logs') {
        parts.push(new LogWatch({ session, uri, target: address.database, changed, failed }));
      } else if (address !== undefined) {
        const concerns = concernsOf(address, session);
        const snapshot = { uri, read: () => read(address), concerns, changed, failed };
        parts.push(new SnapshotWatch(snapshot));
      }
    }
    for (const [target, addresses] of tables) {
      parts.push(new TablesWatch({ session, target, addresses, changed, failed }));
    }
    if (request.list) {
      const readList = async () => (await list()).join('\n');
      const concerns = () => true;
      parts.push(new SnapshotWatch({ uri: listUri, read: readList, concerns, changed, failed }));
    }
    return parts;
  }

  #changed(uri: string): void {
    if (this.#early !== undefined) this.#early.add(uri);
    else if (uri === listUri || this.#uris.includes(uri)) this.#notices.note(uri);
  }

  #examine(database?: bigint): void {
    for (const part of this.#parts) part.examine(database);
  }

  #examineCaller(): void {
    const { host, caller } = this.#options.session;
    if (host.grants.isRevoked(caller.tokenId)) this.#end();
    else this.#examine();
  }

  #end(): void {
    this.close();
    this.#options.request.ended();
  }
}

function concernsOf(address: Address, session: McpSession): (database: bigint) => boolean {
  if (address.kind === 'page') return () => false;
  if (address.kind === 'databases') return () => true;
  return (database) => {
    const found = findDatabase(address.database, session)?.database;
    return found === undefined || found.identity === database;
  };
}

/** Stands for the list itself among what is watched; no URI is empty. */
const listUri = '';
