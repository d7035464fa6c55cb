import { unreachable } from '../../assert.ts';
import { querySetId, type SetId } from '../../database/live/set-id.ts';
import type { LiveConnection, LiveEvent, LiveSink } from '../../host/feeds/live-connection.ts';
import { temporaryConnection } from '../../host/supervision/temporary-connection.ts';
import type { OpenDatabase } from '../open-database.ts';

export interface TablesConnectionOptions {
  /** The watched queries by the URI of their resource. */
  readonly queries: ReadonlyMap<string, string>;
  readonly changed: (uri: string) => void;
  /** Called when watching ended: for all queries, or for one that failed. */
  readonly lost: () => void;
}

/** Live queries over a separate connection, identified by their URIs. */
export class TablesConnection implements LiveSink {
  readonly #options: TablesConnectionOptions;
  /** The index is the id of the set. */
  readonly #uris: readonly string[];
  readonly #watched = new Set<string>();
  readonly #live: LiveConnection;
  #unanswered: number;
  #settle: (uris: readonly string[]) => void = () => undefined;
  /** URIs of the accepted queries; resolves when the database has answered for all. */
  readonly opened: Promise<readonly string[]>;

  /** Throws `Refusal` if the database does not serve and will not. */
  constructor({ handle, caller }: OpenDatabase, options: TablesConnectionOptions) {
    this.#options = options;
    this.#uris = [...options.queries.keys()];
    this.#unanswered = this.#uris.length;
    this.opened = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const connectionId = temporaryConnection().id;
    this.#live = handle.live({ caller, connectionId, confirmed: true, dialect: 'full' }, this);
    for (const [at, query] of [...options.queries.values()].entries()) {
      const set = { setId: querySetId(at), queries: [query], knowsEvents: false };
      this.#live.send({ kind: 'subscribe', requestId: at, ...set });
    }
  }

  deliver(events: readonly LiveEvent[]): void {
    for (const event of events) this.#take(event);
  }

  ended(): void {
    this.#unanswered = 0;
    this.#settle([]);
    this.#options.lost();
  }

  close(): void {
    this.#settle([]);
    this.#live.close();
  }

  #take(event: LiveEvent): void {
    switch (event.kind) {
      case 'updated':
        for (const { setId } of event.sets) this.#changed(setId);
        return;
      case 'setFailed':
        this.#watched.delete(this.#uris[event.setId] ?? '');
        this.#changed(event.setId);
        this.#options.lost();
        return;
      case 'subscribed':
        this.#answered(event.request.setId, event.outcome.kind === 'applied');
        return;
      case 'refused':
        if (event.request.kind === 'subscribe') this.#answered(event.request.setId, false);
        return;
      case 'connected':
      case 'called':
      case 'resumed':
      case 'unsubscribed':
      case 'oneOff':
      case 'procedure':
        // It waits for none of these.
        return;
      default:
        unreachable(event);
    }
  }

  #changed(setId: SetId): void {
    const uri = this.#uris[setId];
    if (uri !== undefined) this.#options.changed(uri);
  }

  #answered(setId: SetId, isWatched: boolean): void {
    const uri = this.#uris[setId];
    if (isWatched && uri !== undefined) this.#watched.add(uri);
    this.#unanswered -= 1;
    if (this.#unanswered === 0) this.#settle([...this.#watched]);
  }
}
