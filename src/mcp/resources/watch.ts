import { revocableIds } from '../../auth/claims.ts';
import type { Loss } from '../../host/registry/grants.ts';
import { limits } from '../../limits.ts';
import type { Watch } from '../../mcp-protocol/resource.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { listUri, makeParts, type WatchOptions } from './make-parts.ts';
import { Notices } from './notices.ts';
import type { WatchedPart } from './watched-part.ts';

/**
 * Notifies a client of changes to the resources it watches, while it may read them. Its rights are
 * checked again whenever any are lost; a revoked or expired token ends the watch.
 */
export class ResourceWatch implements Watch {
  readonly list: boolean;
  readonly #options: WatchOptions;
  readonly #notices: Notices;
  readonly #parts: readonly WatchedPart[];
  readonly #forget: readonly (() => void)[];
  #uris: readonly string[] = [];
  /** Changes during opening; some may concern URIs that turn out not to be watched. */
  #early: Set<string> | undefined = new Set();

  private constructor(options: WatchOptions) {
    const { request, session } = options;
    const { host, caller } = session;
    this.#options = options;
    this.list = request.list;
    this.#notices = new Notices(limits.watchNoticeMillis, (uri) => {
      if (uri === listUri) request.listChanged();
      else request.updated(uri);
    });
    this.#parts = makeParts(options, {
      changed: (uri) => this.#changed(uri),
      // A client that watches again gets the error.
      failed: () => this.#end(),
    });
    this.#forget = [
      host.onDatabaseChange((identity) => this.#examine(identity)),
      host.grants.onLoss((loss) => this.#examineCaller(loss)),
      host.grants.whenExpired(caller, caller.tokenId, () => this.#end()),
    ];
  }

  static async open(options: WatchOptions): Promise<ResourceWatch> {
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

  #changed(uri: string): void {
    if (this.#early !== undefined) this.#early.add(uri);
    else if (uri === listUri || this.#uris.includes(uri)) this.#notices.note(uri);
  }

  #examine(database?: DatabaseIdentity): void {
    for (const part of this.#parts) part.examine(database);
  }

  /** Checks the rights again, unless the loss concerns someone else. */
  #examineCaller(loss: Loss): void {
    const { caller } = this.#options.session;
    const holder = caller.capability?.by ?? caller.identity;
    if (loss.kind === 'token' && revocableIds(caller).includes(loss.id)) this.#end();
    if (loss.kind === 'role' && loss.identity === holder) this.#examine();
  }

  #end(): void {
    this.close();
    this.#options.request.ended();
  }
}
