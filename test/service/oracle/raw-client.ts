import type { Random } from '../../../src/testing/random.ts';
import type { ProductType } from '../../../src/values/type.ts';
import type { Person } from '../running.ts';
import { type Frame, SocketClient } from '../socket-client.ts';
import { type Speech, speechOf, type Version, versions } from '../speech.ts';
import { Bags } from './bags.ts';
import { type Heard, Listener, type SetChange, type TableChange } from './heard.ts';
import type { Entry, Ledger, Step } from './ledger.ts';
import type { Query, Viewer, World } from './queries.ts';

export interface RawOptions {
  readonly url: string;
  readonly database: string;
  readonly person: Person;
  readonly viewer: Viewer;
  readonly types: ReadonlyMap<string, ProductType>;
  readonly ledger: Ledger;
  readonly random: Random;
}

/** A set that a client has asked for. */
interface KeptSet {
  readonly id: number;
  readonly queries: readonly Query[];
  state: 'asked' | 'kept' | 'leaving';
  /** What it has been told of; version 1 does not say, so that all is in the client's. */
  readonly bags: Bags;
  /** The count of commits when it began and now; `undefined`: it does not watch it. */
  began: number | undefined;
  readonly events: string[];
}

/** A client of frames, of any version, that keeps count of the rows that it is told of. */
export class RawClient {
  readonly version: Version;
  readonly viewer: Viewer;
  readonly #client: SocketClient;
  readonly #speech: Speech;
  readonly #listener: Listener;
  readonly #ledger: Ledger;
  readonly #isConfirmed: boolean;
  readonly #sets = new Map<number, KeptSet>();
  readonly #calls = new Map<number, number>();
  readonly #bags = new Bags();
  /** By set, or of the connection for version 1: the last count of commits. */
  readonly #clocks = new Map<number | undefined, number>();
  #barriers: (() => void)[] = [];
  #wasFirst = false;
  #lastId = 0;
  fault: Error | undefined;

  private constructor(
    client: SocketClient,
    version: Version,
    isConfirmed: boolean,
    options: RawOptions,
  ) {
    this.version = version;
    this.#isConfirmed = isConfirmed;
    this.viewer = options.viewer;
    this.#client = client;
    this.#speech = speechOf(version);
    this.#listener = new Listener(version, options.types);
    this.#ledger = options.ledger;
    client.socket.on('message', (bytes: Buffer, isBinary) => this.#take({ bytes, isBinary }));
  }

  static async open(options: RawOptions): Promise<RawClient> {
    const { random, url, database, person } = options;
    const version = random.pick(versions);
    const compression = random.pick(['None', 'Gzip', 'Brotli']);
    const light = random.chance(0.3);
    const isConfirmed = random.pick([undefined, true, false]);
    const confirmed = isConfirmed === undefined ? '' : `&confirmed=${isConfirmed}`;
    const client = SocketClient.begin(url, database, {
      protocols: [`${version}.spacetimedb`],
      query: `compression=${compression}&light=${light}${confirmed}`,
      headers: { authorization: `Bearer ${person.token}` },
    });
    const isSafe = isConfirmed ?? !version.startsWith('v1');
    const raw = new RawClient(client, version, isSafe, options);
    await new Promise<void>((resolve, reject) => {
      client.socket.once('open', resolve);
      client.socket.once('error', reject);
    });
    client.socket.on('error', () => undefined);
    return raw;
  }

  get isOpen(): boolean {
    return this.#client.socket.readyState === 1;
  }

  get isOld(): boolean {
    return this.version.startsWith('v1');
  }

  call(steps: readonly Step[], isQuiet: boolean): void {
    const requestId = ++this.#lastId;
    const tag = this.#ledger.ask(steps);
    if (!(isQuiet && this.isOld)) this.#calls.set(requestId, tag);
    this.#client.send(this.#speech.call(requestId, 'run', [tag, JSON.stringify(steps)], isQuiet));
  }

  subscribe(queries: readonly Query[]): void {
    const id = ++this.#lastId;
    const set: KeptSet = {
      id,
      queries,
      state: 'asked',
      bags: new Bags(),
      began: undefined,
      events: [],
    };
    this.#sets.set(id, set);
    this.#client.send(
      this.#speech.subscribe(
        id,
        id,
        queries.map(({ sql }) => sql),
      ),
    );
  }

  unsubscribe(random: Random): void {
    const sets = [...this.#sets.values()].filter(({ state }) => state !== 'leaving');
    if (sets.length === 0) return;
    const set = random.pick(sets);
    set.state = 'leaving';
    this.#client.send(this.#speech.unsubscribe(set.id, set.id));
  }

  drop(): void {
    this.#client.socket.terminate();
  }

  async leave(): Promise<void> {
    await this.#client.close();
  }

  /** Resolves when everything was told that had happened before. */
  async untilQuiet(): Promise<void> {
    const isTold = new Promise<void>((resolve) => this.#barriers.push(resolve));
    this.#client.send(this.#speech.oneOff(++this.#lastId, 'SELECT * FROM clock'));
    await Promise.race([isTold, this.#client.ended]);
    if (this.fault !== undefined) throw this.fault;
    if (this.isOpen && this.#calls.size > 0) throw new Error('calls have no answer');
  }

  /** Compares what it knows with what it should. */
  check(world: World, entries: readonly Entry[]): void {
    for (const set of this.#sets.values()) {
      if (set.state !== 'kept') throw new Error(`the set ${set.id} has no answer`);
      this.#checkEvents(set, entries);
      if (!this.isOld) this.#same(set.queries, set.bags, world);
    }
    if (!this.isOld) return;
    const queries = [...this.#sets.values()].flatMap((set) => set.queries);
    this.#same(queries, this.#bags, world);
  }

  #same(queries: readonly Query[], known: Bags, world: World): void {
    const expected = new Bags();
    const texts = new Set<string>();
    for (const { sql, from, rows } of queries) {
      if (texts.has(sql.trim())) continue;
      texts.add(sql.trim());
      for (const row of rows(world, this.viewer) ?? []) {
        expected.of(from).add(JSON.stringify(row), 1);
      }
    }
    const [one, other] = [known.lines.join('\n'), expected.lines.join('\n')];
    if (one === other) return;
    const list = [...texts].join('\n');
    throw new Error(`${this.version} of ${list}\nknows\n${one}\nand there is\n${other}`);
  }

  #checkEvents({ began, events, queries }: KeptSet, entries: readonly Entry[]): void {
    if (!queries.some(({ isEvent }) => isEvent)) return;
    const expected = entries
      .filter(({ n }) => n > (began ?? 0))
      .flatMap(({ n, steps }) =>
        steps
          .filter(([kind]) => kind === 'ring')
          .map(([, , tune]) => JSON.stringify([n, tune]))
          .sort(),
      );
    if (events.join() !== expected.join()) {
      throw new Error(`heard ${events.join()} since ${began}, not ${expected.join()}`);
    }
  }

  #take(frame: Frame): void {
    try {
      for (const heard of this.#listener.read(frame)) this.#hear(heard);
    } catch (error) {
      this.fault ??= error as Error;
      this.drop();
    }
  }

  #hear(heard: Heard): void {
    if (!this.#wasFirst && heard.kind !== 'first') throw new Error(`${heard.kind} came first`);
    switch (heard.kind) {
      case 'first':
        this.#wasFirst = true;
        return;
      case 'applied':
        this.#applied(heard.setId, heard.tables);
        return;
      case 'left':
        this.#left(heard.setId, heard.tables);
        return;
      case 'refused':
        this.#refused(heard.setId, heard.error);
        return;
      case 'changed':
        if (heard.sets.length === 0) throw new Error('a change of nothing');
        this.#changed(heard.sets);
        return;
      case 'called':
        this.#called(heard.requestId, heard.error);
        this.#changed(heard.sets);
        return;
      case 'answered':
        this.#barriers.shift()?.();
    }
  }

  #applied(setId: number, tables: readonly TableChange[]): void {
    const set = this.#setOf(setId);
    if (set.queries.some((query) => this.#isBad(query))) throw new Error('a bad set was accepted');
    if (set.state === 'asked') set.state = 'kept';
    for (const change of tables) {
      if (change.table === 'bell') throw new Error('an event is there from the beginning');
      this.#apply(set, change);
    }
    set.began = this.#clocks.get(this.isOld ? undefined : setId);
  }

  #left(setId: number, tables: readonly TableChange[]): void {
    const set = this.#setOf(setId);
    this.#sets.delete(setId);
    // Version 1 says what goes, later ones what the set had.
    if (this.isOld) {
      for (const change of tables) this.#apply(set, change);
      return;
    }
    this.#clocks.delete(setId);
    const dropped = new Bags();
    for (const { table, inserts } of tables) {
      for (const row of inserts) if (table !== 'clock') dropped.of(table).add(row, 1);
    }
    const [one, other] = [dropped.lines.join('\n'), set.bags.lines.join('\n')];
    if (one !== other) throw new Error(`left with\n${one}\nafter having\n${other}`);
  }

  #refused(setId: number | undefined, error: string): void {
    if (setId === undefined) throw new Error(`all sets have failed: ${error}`);
    const set = this.#sets.get(setId);
    const isExpected = set?.queries.some((query) => this.#isBad(query));
    // It may have been asked to go before it was known to be refused.
    const isLate = set === undefined && error.includes('not found: ');
    if (!isExpected && !isLate) throw new Error(`the set ${setId} was refused: ${error}`);
    this.#sets.delete(setId);
  }

  #called(requestId: number, error: string | undefined): void {
    const tag = this.#calls.get(requestId);
    if (tag === undefined) throw new Error(`an answer to no call: ${requestId} ${error}`);
    this.#calls.delete(requestId);
    this.#ledger.told(tag, error === undefined ? 'committed' : 'failed', this.#isConfirmed);
  }

  #changed(sets: readonly SetChange[]): void {
    let last = -1;
    for (const { setId, tables } of sets) {
      const set = setId === undefined ? undefined : this.#setOf(setId);
      if (setId !== undefined && setId <= last) throw new Error('sets are out of order');
      last = setId ?? last;
      const rings: string[] = [];
      for (const change of tables) {
        if (change.table === 'bell') rings.push(...change.inserts);
        else this.#apply(set, change);
      }
      set?.events.push(...rings.sort());
    }
  }

  #apply(set: KeptSet | undefined, { table, deletes, inserts }: TableChange): void {
    if (table === 'clock') {
      this.#ticked(this.isOld ? undefined : set?.id, deletes, inserts);
      return;
    }
    const bags = this.isOld || set === undefined ? this.#bags : set.bags;
    for (const row of deletes) bags.of(table).add(row, -1);
    for (const row of inserts) bags.of(table).add(row, 1);
  }

  /** Each commit moves the clock by one: none is missed, none comes twice or out of order. */
  #ticked(key: number | undefined, deletes: readonly string[], inserts: readonly string[]): void {
    const before = this.#clocks.get(key);
    const [gone, come] = [deletes.map(countOf), inserts.map(countOf)];
    if (gone.join() !== (before === undefined ? '' : `${before}`)) {
      throw new Error(`the clock was ${before}, and ${gone.join()} goes`);
    }
    const [now] = come;
    if (now === undefined) this.#clocks.delete(key);
    else this.#clocks.set(key, now);
    const isNext = before === undefined || now === undefined || now === before + 1;
    if (!isNext || come.length > 1) throw new Error(`${come.join()} comes after ${before}`);
  }

  #isBad({ rows, isEvent = false }: Query): boolean {
    return (isEvent && this.isOld) || rows(nothing, this.viewer) === undefined;
  }

  #setOf(setId: number): KeptSet {
    const set = this.#sets.get(setId);
    if (set === undefined) throw new Error(`told of the unknown set ${setId}`);
    return set;
  }
}

const nothing: World = { base: new Map(), version: 'one' };

function countOf(row: string): number {
  return JSON.parse(row)[1];
}
