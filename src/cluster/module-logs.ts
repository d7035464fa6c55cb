import type { LogsElsewhere } from '../host/replication/logs-elsewhere.ts';
import { limits } from '../limits.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import { bigintToHex } from '../values/hex.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import type { LinkClient } from './link-client.ts';

export interface ModuleLogsOptions {
  readonly client: Pick<LinkClient, 'askHost'>;
  /** The other hosts, and those of them that live. */
  readonly others: () => readonly SeenHost[];
  readonly living: () => readonly SeenHost[];
  /** The newest lines of this host's log of a module. */
  readonly own: (database: DatabaseIdentity, lines: number) => Promise<string>;
}

/** Logs of modules lie where the modules ran: who reads one asks all hosts. */
export class ModuleLogs {
  readonly #options: ModuleLogsOptions;

  constructor(options: ModuleLogsOptions) {
    this.#options = options;
  }

  /** At most `limits.logTailLinesMax` lines of each host that lives. */
  async elsewhere(database: DatabaseIdentity, lines: number): Promise<LogsElsewhere> {
    const { client, others, living } = this.#options;
    const boots = new Set(living().map(({ boot }) => boot));
    const count = Math.min(lines, limits.logTailLinesMax);
    const asked = others().map(async ({ boot, name, address }) => {
      if (!boots.has(boot)) return { name, text: undefined };
      const path = `log/${bigintToHex(database, 64)}/${count}`;
      const answer = await client.askHost(address, path).catch(() => undefined);
      const text = (answer as { readonly text?: unknown } | undefined)?.text;
      return { name, text: typeof text === 'string' ? text : undefined };
    });
    const answers = await Promise.all(asked);
    return {
      texts: answers.flatMap(({ text }) => (text === undefined ? [] : [text])),
      silent: answers.flatMap(({ name, text }) => (text === undefined ? [name] : [])),
    };
  }

  /** What another host asks; `undefined`: something else. */
  answer(path: string): Promise<object> | undefined {
    const [, hex, count] = /^log\/([0-9a-f]{64})\/(\d{1,9})$/.exec(path) ?? [];
    if (hex === undefined || count === undefined) return undefined;
    const lines = Math.min(Number(count), limits.logTailLinesMax);
    const database = databaseIdentity(BigInt(`0x${hex}`));
    return this.#options.own(database, lines).then((text) => ({ text }));
  }
}
