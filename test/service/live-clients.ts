import { setTimeout as sleep } from 'node:timers/promises';
import {
  connect,
  type Library,
  own,
  published,
  subscribe,
  type TavernClient,
} from '../support/tavern-client.ts';
import { written } from './written-module.ts';

/** As the bindings of the tavern want it; the same key twice makes two persons. */
export function ledgerModule() {
  return written({
    tables: {
      person: `{ public: true }, {
        id: t.u32().primaryKey(),
        name: t.string(),
        seat: t.u32(),
      }`,
    },
    exports: `
      export const add = db.reducer(
        { id: t.u32(), name: t.string(), seat: t.u32() },
        (ctx, { name, seat }) => {
          ctx.db.person.insert({ id: Number(ctx.db.person.count()) + 1, name, seat });
        },
      );
    `,
  });
}

export interface LiveCalls {
  /** Called before a call with a key of its own; then, if it was acknowledged. */
  asked(key: string): void;
  acknowledged(key: string): void;
}

export interface LiveClientsOptions extends LiveCalls {
  readonly urls: readonly string[];
  readonly database: string;
  readonly token: string;
}

/** A host that was stopped accepts connections, and says nothing. */
const answerMillisMax = 10_000;
const callPauseMillis = 50;
const comeAgainMillis = 250;
const caughtUpMillisMax = 90_000 * Number(process.env.TEST_SLOWNESS ?? 1);
const libraries = [own, ...published.filter(({ version }) => version === 2)];

/** One of each library at each host, which watch all persons and call `add` all the time. */
export class LiveClients {
  readonly #clients: readonly LiveClient[];

  constructor({ urls, ...options }: LiveClientsOptions) {
    this.#clients = urls.flatMap((uri, at) =>
      libraries.map((library) => {
        const name = `${library === own ? 'own' : 'peer'}-${at}`;
        return new LiveClient({ ...options, library, uri, name });
      }),
    );
  }

  /** Ends the calls; resolves when none is under way. */
  async rest(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.rest()));
  }

  /** How often clients have come anew: those of this product come back by themselves. */
  get comeCounts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#clients.map(({ name, comeCount }) => [name, comeCount]));
  }

  /** What clients see unlike what is there, once they had time to, and were told wrong. */
  async faults(there: () => Promise<readonly string[]>): Promise<string[]> {
    const found = await Promise.all(this.#clients.map((client) => client.faults(there)));
    return found.flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }
}

interface LiveClientOptions extends LiveCalls {
  readonly library: Library;
  readonly uri: string;
  readonly name: string;
  readonly database: string;
  readonly token: string;
}

class LiveClient {
  readonly name: string;
  comeCount = 0;
  readonly #options: LiveClientOptions;
  readonly #wrong: string[] = [];
  readonly #life: Promise<void>;
  #calling: Promise<void> = Promise.resolve();
  #client: TavernClient | undefined;
  /** The persons that the client has been told of, by what it was told. */
  #told = new Map<number, string>();
  #calls = 0;
  #isResting = false;
  #isClosed = false;

  constructor(options: LiveClientOptions) {
    this.name = options.name;
    this.#options = options;
    this.#life = this.#live();
  }

  async rest(): Promise<void> {
    this.#isResting = true;
    await this.#calling;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#client?.conn.disconnect();
    await this.#life;
  }

  async faults(there: () => Promise<readonly string[]>): Promise<string[]> {
    const until = performance.now() + caughtUpMillisMax;
    for (;;) {
      // Read each time: a call that nobody waits for any more may still be done.
      const names = [...(await there())].sort();
      const [seen, told] = [this.#seen, this.#toldNames];
      if (seen.join() === names.join() && told.join() === names.join()) return this.#wrong;
      if (performance.now() > until) {
        const counts = `${seen.length} persons, and was told of ${told.length}`;
        return [...this.#wrong, `${this.name} sees ${counts}, where there are ${names.length}`];
      }
      await sleep(comeAgainMillis);
    }
  }

  get #seen(): string[] {
    const { conn } = this.#client ?? {};
    return conn === undefined ? [] : Array.from(conn.db.person.iter(), ({ name }) => name).sort();
  }

  get #toldNames(): string[] {
    return [...this.#told.values()].sort();
  }

  /** Comes again whenever it is disconnected, as an app does, unless its library does that. */
  async #live(): Promise<void> {
    while (!this.#isClosed) {
      const client = await this.#come();
      if (client === undefined) {
        await sleep(comeAgainMillis);
        continue;
      }
      this.comeCount += 1;
      this.#client = client;
      this.#calling = this.#call(client);
      if (this.#isClosed) client.conn.disconnect();
      if (this.#isLasting) break;
      await client.gone;
      this.#client = undefined;
      await this.#calling;
    }
  }

  get #isLasting(): boolean {
    return this.#options.library === own;
  }

  async #come(): Promise<TavernClient | undefined> {
    const { library, uri, database, token } = this.#options;
    const coming = connect(library, { uri, database, token });
    try {
      const client = await inTime(coming);
      this.#watch(client);
      await inTime(Promise.race([subscribe(client.conn), client.gone]));
      return client;
    } catch {
      // It may come later, and nobody waits for it.
      coming.then(
        ({ conn }) => conn.disconnect(),
        () => undefined,
      );
      return undefined;
    }
  }

  #watch({ conn }: TavernClient): void {
    const told = new Map<number, string>();
    this.#told = told;
    conn.db.person.onInsert((_, { id, name }) => {
      if (told.has(id)) this.#wrong.push(`${this.name} was told twice of ${id}`);
      told.set(id, name);
    });
    conn.db.person.onDelete((_, { id }) => {
      this.#wrong.push(`${this.name} was told that ${id} is gone`);
      told.delete(id);
    });
  }

  /** One call after the other until it is disconnected; one without an answer is left. */
  async #call({ conn, gone }: TavernClient): Promise<void> {
    let isGone = false;
    void gone.then(() => {
      isGone = !this.#isLasting;
    });
    while (!isGone && !this.#isResting && !this.#isClosed) {
      const key = `${this.name}-${this.#calls++}`;
      this.#options.asked(key);
      try {
        await inTime(conn.reducers.add?.({ id: 0, name: key, seat: 0 }));
        this.#options.acknowledged(key);
      } catch {
        // Nobody knows what came of it.
      }
      await sleep(callPauseMillis);
    }
  }
}

async function inTime<T>(work: Promise<T> | undefined): Promise<T> {
  const timer = new AbortController();
  const late = sleep(answerMillisMax, undefined, { signal: timer.signal }).then(() => {
    throw new Error('no answer');
  });
  late.catch(() => undefined);
  try {
    return (await Promise.race([work, late])) as T;
  } finally {
    timer.abort();
  }
}
