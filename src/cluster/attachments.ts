import type {
  AttachedClient,
  AttachedSink,
  Attachment,
  LeaderLine,
} from '../host/replication/leader-line.ts';
import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { Attached, type AttachedGroup, type AttachedLeader } from './attached.ts';

export interface AttachmentsOptions {
  readonly now: () => number;
  /** Name of this host. */
  readonly me: string;
  /** The other host that leads a database; `undefined`: none is known, or this one leads. */
  readonly leaderOf: (database: DatabaseIdentity) => AttachedLeader | undefined;
  /** See `LeaderLine`. */
  readonly reaches?: (database: DatabaseIdentity) => boolean;
}

/** Clients that are connected with this host, and databases that other hosts lead. */
export class Attachments implements LeaderLine {
  readonly #options: AttachmentsOptions;
  readonly #groups = new Map<DatabaseIdentity, AttachedGroup>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /** Clients that are attached to this host. */
  get count(): number {
    return [...this.#groups.values()].reduce((sum, { all }) => sum + all.size, 0);
  }

  attach(client: AttachedClient, sink: AttachedSink): Attachment {
    const group = this.#groupOf(client.database);
    const attached = new Attached(client, sink, {
      ...{ group, now: this.#options.now, me: this.#options.me },
      leader: () => this.#options.leaderOf(client.database),
      gone: () => {
        group.all.delete(attached);
        group.restless.delete(attached);
        this.#leave(group);
      },
    });
    group.all.add(attached);
    group.restless.add(attached);
    this.#timer ??= setInterval(() => this.#look(), limits.attachAgainMillis).unref();
    queueMicrotask(() => attached.look());
    return attached;
  }

  reaches(database: DatabaseIdentity): boolean {
    return this.#options.reaches?.(database) ?? true;
  }

  /** Somebody else may lead a database now. */
  changed(database: DatabaseIdentity): void {
    for (const attached of [...(this.#groups.get(database)?.all ?? [])]) attached.look();
  }

  #groupOf(database: DatabaseIdentity): AttachedGroup {
    const known = this.#groups.get(database);
    if (known !== undefined) return known;
    const group = { database, all: new Set<Attached>(), restless: new Set<Attached>(), waiting: 0 };
    this.#groups.set(database, group);
    return group;
  }

  #leave({ database, all }: AttachedGroup): void {
    if (all.size > 0) return;
    this.#groups.delete(database);
    if (this.#groups.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    for (const { restless } of [...this.#groups.values()]) {
      for (const attached of [...restless]) attached.look();
    }
  }
}
