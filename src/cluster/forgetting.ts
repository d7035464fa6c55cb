import type { DatabaseRole } from '../host/replication/database-role.ts';
import { limits } from '../limits.ts';
import type { Report } from '../node/report-line.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import type { HostId } from '../shared-log/host-ids.ts';

export interface ForgettingOptions {
  readonly me: HostId;
  readonly hosts: () => readonly SeenHost[];
  /** True if the engine answers this host: else it does not know who is silent. */
  readonly isEngineReached: () => boolean;
  /** Whether this host leads the registry: one host does it for all. */
  readonly leadsRegistry: () => boolean;
  readonly roles: () => Iterable<DatabaseRole>;
  readonly forget: (host: HostId) => Promise<void>;
  readonly report: Report;
}

/**
 * Takes hosts off the list that have been silent for a day. Where a database is broken, nobody is
 * forgotten: the engine may have lost what only that host still has.
 */
export class Forgetting {
  readonly #options: ForgettingOptions;
  readonly #timer: NodeJS.Timeout;

  constructor(options: ForgettingOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.look(), limits.hostForgetLookMillis).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    const { isEngineReached, leadsRegistry, forget, report } = this.#options;
    if (!isEngineReached() || !leadsRegistry()) return;
    for (const { host, name, ageMillis } of forgettable(this.#options)) {
      try {
        await forget(host);
        const hours = Math.round(ageMillis / 3_600_000);
        const message = `host ${name} was silent for ${hours} h and is taken off the list`;
        report({ level: 'info', message });
      } catch {
        // The engine did not answer: it is looked at again.
      }
    }
  }
}

function forgettable({ me, hosts, roles }: ForgettingOptions): readonly SeenHost[] {
  if ([...roles()].some(({ kind }) => kind === 'broken')) return [];
  return hosts().filter(({ host, ageMillis }) => {
    return host !== me && ageMillis >= limits.hostForgottenMillis;
  });
}
