import { Random } from '../../../src/testing/random.ts';
import type { ProductType } from '../../../src/values/type.ts';
import type { Person } from '../running.ts';
import { type Program, writtenFrom } from '../written-module.ts';
import { Bag } from './bags.ts';
import type { House } from './house.ts';
import { type Entry, Ledger, Model, type Step } from './ledger.ts';
import { OurClient } from './our-client.ts';
import {
  bellType,
  clockType,
  extraOf,
  idOf,
  makePlan,
  type Plan,
  type ProgramVersion,
  type Row,
  relationsOf,
  rowTypeOf,
  sourceOf,
} from './plan.ts';
import { Queries, type Query, type Viewer, type World } from './queries.ts';
import { RawClient } from './raw-client.ts';

export interface OracleOptions {
  readonly seed: number;
  readonly steps: number;
  readonly house: House;
}

export interface OracleReport {
  readonly commits: number;
  readonly quietPoints: number;
  readonly queries: number;
  readonly drops: number;
  readonly restarts: number;
}

/**
 * Random clients of a random module do random things at the same time. Now and then everybody waits
 * until all is done; then each client must know exactly what its queries give when they are asked
 * afresh, by SQL and by a model that shares nothing with the engine; and must have seen each commit
 * since it came once and in order.
 */
export async function runOracle({ seed, steps, house }: OracleOptions): Promise<OracleReport> {
  const oracle = new Oracle(seed, house);
  try {
    await oracle.begin();
    for (let step = 0; step < steps; step += 1) await oracle.step();
    await oracle.quiet();
    return oracle.report;
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
  } finally {
    oracle.end();
  }
}

const clientsMax = 10;

class Oracle {
  readonly #random: Random;
  readonly #house: House;
  readonly #plan: Plan;
  readonly #queries: Queries;
  readonly #ledger = new Ledger();
  readonly #model: Model;
  /** Without it, the model alone says what the tables hold. */
  readonly #hasSql: boolean;
  readonly #database: string;
  readonly #types: ReadonlyMap<string, ProductType>;
  #people: Person[] = [];
  #raw: RawClient[] = [];
  #ours: OurClient[] = [];
  #version: ProgramVersion = 'one';
  readonly #programs = new Map<ProgramVersion, Program>();
  #entries: Entry[] = [];
  #lastTune = 0;
  #report = { quietPoints: 0, queries: 0, drops: 0, restarts: 0 };

  constructor(seed: number, house: House) {
    this.#random = new Random(seed);
    this.#house = house;
    this.#plan = makePlan(this.#random);
    this.#queries = new Queries(this.#plan, this.#random.fork());
    this.#hasSql = this.#random.chance(0.5);
    this.#database = `oracle-${seed}`;
    const isUnique = new Set(
      this.#plan.tables.flatMap(({ name, id: { key } }) =>
        key === 'primary' || key === 'unique' ? [name] : [],
      ),
    );
    const names = this.#plan.tables.map(({ name }) => name);
    this.#model = new Model(names, (name) => isUnique.has(name));
    this.#types = new Map([
      ...[...relationsOf(this.#plan)].map(([name, table]) => [name, rowTypeOf(table)] as const),
      ['clock', clockType],
      ['bell', bellType],
    ]);
  }

  get report(): OracleReport {
    return { commits: this.#entries.length, ...this.#report };
  }

  async begin(): Promise<void> {
    for (let at = 0; at < 4; at += 1) {
      const answer = await fetch(`${this.#house.url}/v1/identity`, { method: 'POST' });
      this.#people.push((await answer.json()) as Person);
    }
    await this.#publish('one');
  }

  end(): void {
    for (const client of this.#raw) client.drop();
    for (const client of this.#ours) client.close();
  }

  async step(): Promise<void> {
    const random = this.#random;
    const choice = random.below(1_000);
    if (choice < 560) this.#call();
    else if (choice < 700) this.#subscribe();
    else if (choice < 780) this.#any()?.unsubscribe(random);
    else if (choice < 850) await this.#arrive();
    else if (choice < 885) await this.#part();
    else if (choice < 935) await this.#sql();
    else if (choice < 940) await this.#publish(this.#version === 'one' ? 'two' : 'one');
    else if (choice < 942) await this.#restart();
    else if (choice < 985) await pause(random.below(4));
    else await this.quiet();
    if (choice % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Waits until everything that was asked for is done and told, and compares. */
  async quiet(): Promise<void> {
    this.#raw = this.#raw.filter((client) => this.#isThere(client));
    await until('clients are settled', () => this.#ours.every((client) => client.isSettled));
    await this.#untilOthersLeft();
    await Promise.all(this.#raw.map((client) => client.untilQuiet()));
    const entries = await this.#journal();
    this.#ledger.check(entries);
    const base = await this.#tables(entries);
    const world = { base, version: this.#version };
    // What waits to be applied behind a decompression has its turn.
    await pause(5);
    await Promise.all(this.#raw.map((client) => client.untilQuiet()));
    for (const client of this.#raw) client.check(world, entries);
    await this.#compareWithSql(world);
    await until(
      'our clients agree',
      () => this.#ours.every((client) => agrees(client, world)),
      () => {
        for (const client of this.#ours) client.check(world);
      },
    );
    this.#report.quietPoints += 1;
  }

  #isThere(client: RawClient): boolean {
    if (client.fault !== undefined) throw client.fault;
    return client.isOpen;
  }

  #any(): RawClient | OurClient | undefined {
    const all = [...this.#raw.filter((client) => client.isOpen), ...this.#ours];
    return all.length === 0 ? undefined : this.#random.pick(all);
  }

  #call(): void {
    const client = this.#any();
    const random = this.#random;
    const steps = Array.from({ length: 1 + random.below(4) }, () => this.#randomStep());
    if (random.chance(0.08))
      steps.push(random.chance(0.8) ? ['fail', '', 'no'] : ['crash', '', '']);
    client?.call(steps, random.chance(0.2));
  }

  #randomStep(): Step {
    const random = this.#random;
    const table = random.pick(this.#plan.tables);
    const choice = random.below(12);
    if (choice < 2) return ['cut', table.name, random.below(4)];
    if (choice === 2) {
      this.#lastTune += 1;
      return ['ring', '', `tune ${this.#lastTune}`];
    }
    const id = idOf(table, random.below(12));
    const [a, b, text] = [random.below(4), random.below(4), `w${random.below(4)}`];
    return ['put', table.name, { id, a, b, text, extra: extraOf(table, random.below(3)) }];
  }

  #subscribe(): void {
    this.#any()?.subscribe(this.#queries.set());
  }

  async #arrive(): Promise<void> {
    if (this.#raw.length + this.#ours.length >= clientsMax) return;
    const random = this.#random;
    const person = random.pick(this.#people);
    const options = {
      url: this.#house.url,
      database: this.#database,
      plan: this.#plan,
      types: this.#types,
      ledger: this.#ledger,
      person,
      viewer: this.#viewerOf(person),
      random: random.fork(),
    };
    if (random.chance(0.3)) this.#ours.push(new OurClient(options));
    else this.#raw.push(await RawClient.open(options));
  }

  /** Somebody's socket is cut, or somebody leaves for good. */
  async #part(): Promise<void> {
    const random = this.#random;
    const client = this.#any();
    if (client === undefined) return;
    this.#report.drops += 1;
    if (client instanceof OurClient && random.chance(0.2)) {
      this.#ours.splice(this.#ours.indexOf(client), 1);
      client.close();
    } else if (client instanceof OurClient || random.chance(0.5)) client.drop();
    else await client.leave();
  }

  async #sql(): Promise<void> {
    if (!this.#hasSql) return;
    const random = this.#random;
    const { name } = random.pick(this.#plan.tables);
    const [a, b] = [random.below(4), random.below(4)];
    const statement = random.pick([
      `UPDATE ${name} SET b = ${b} WHERE a = ${a}`,
      `UPDATE ${name} SET text = 'w${b}' WHERE b = ${a}`,
      `UPDATE ${name} SET a = ${a} WHERE text = 'w${b}'`,
      `DELETE FROM ${name} WHERE a = ${a} AND b = ${b}`,
    ]);
    await this.#ask(statement, this.#people[0] as Person);
  }

  async #publish(version: ProgramVersion): Promise<void> {
    const known = this.#programs.get(version);
    const body = known ?? (await writtenFrom(sourceOf(this.#plan, version)));
    this.#programs.set(version, body);
    const where = `${this.#house.url}/v1/database/${this.#database}?host_type=Js`;
    const headers = { authorization: `Bearer ${this.#people[0]?.token}` };
    const answer = await fetch(where, { method: 'PUT', headers, body });
    if (!answer.ok) throw new Error(`publishing: ${await answer.text()}`);
    this.#version = version;
  }

  async #restart(): Promise<void> {
    this.#report.restarts += 1;
    await this.#house.restart();
  }

  #viewerOf(person: Person): Viewer {
    return { identity: `0x${person.identity}`, isOwner: person === this.#people[0] };
  }

  /** Clients that were dropped have left, and their last calls have run. */
  async #untilOthersLeft(): Promise<void> {
    const end = Date.now() + 20_000;
    for (;;) {
      this.#raw = this.#raw.filter((client) => this.#isThere(client));
      const count = this.#raw.length + this.#ours.length;
      const answer = await fetch(`${this.#house.url}/v1/metrics`);
      const found = (await answer.text()).matchAll(/^reducerdb_connections\{.*\} (\d+)$/gm);
      const connections = [...found].reduce((sum, [, one]) => sum + Number(one), 0);
      if (connections === count) return;
      if (Date.now() > end) throw new Error(`${connections} are connected, not ${count}`);
      await pause(5);
    }
  }

  async #journal(): Promise<readonly Entry[]> {
    const owner = this.#people[0] as Person;
    const rows = await this.#ask('SELECT n, tag, who, script FROM journal', owner);
    const entries = rows.map((row) => {
      const [n, tag, who, script] = row as [number, number, readonly [string], string];
      return { n, tag, who, steps: JSON.parse(script) as Step[] };
    });
    entries.sort((one, other) => one.n - other.n);
    const known = this.#entries;
    this.#entries = entries;
    // A commit that was seen stays, unless the service was killed before it was safe.
    const isSame = known.every(({ tag }, at) => entries[at]?.tag === tag);
    if (!isSame) throw new Error('commits that were there have gone or changed places');
    for (const entry of entries.slice(known.length)) this.#model.apply(entry);
    return entries;
  }

  async #tables(entries: readonly Entry[]): Promise<ReadonlyMap<string, readonly Row[]>> {
    const base = new Map<string, readonly Row[]>();
    for (const { name } of this.#plan.tables) {
      const rows = (await this.#ask(
        `SELECT * FROM ${name}`,
        this.#people[0] as Person,
      )) as unknown as Row[];
      base.set(name, rows);
      if (this.#hasSql) continue;
      const [got, wanted] = [
        Bag.of(rows).lines.join('\n'),
        Bag.of(this.#model.rows(name)).lines.join('\n'),
      ];
      if (got === wanted) continue;
      throw new Error(`after ${entries.length} commits ${name} has\n${got}\nnot\n${wanted}`);
    }
    return base;
  }

  /** The model and the SQL door must say the same of a few queries. */
  async #compareWithSql(world: World): Promise<void> {
    for (let count = 0; count < 6; count += 1) {
      const query: Query = this.#queries.one();
      if (query.from === 'clock' || query.isEvent === true || query.isDoubtful === true) continue;
      const person = this.#random.pick(this.#people);
      const expected = query.rows(world, this.#viewerOf(person));
      if (expected === undefined) continue;
      const [got, wanted] = [
        Bag.of(await this.#ask(query.sql, person)).lines.join('\n'),
        Bag.of(expected).lines.join('\n'),
      ];
      this.#report.queries += 1;
      if (got !== wanted) throw new Error(`${query.sql} gives\n${got}\nnot\n${wanted}`);
    }
  }

  async #ask(statement: string, person: Person): Promise<readonly unknown[][]> {
    const where = `${this.#house.url}/v1/database/${this.#database}/sql`;
    const headers = { authorization: `Bearer ${person.token}` };
    const answer = await fetch(where, { method: 'POST', headers, body: statement });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${statement}: ${text}`);
    return JSON.parse(text)[0]?.rows ?? [];
  }
}

function agrees(client: OurClient, world: World): boolean {
  try {
    client.check(world);
    return true;
  } catch {
    return false;
  }
}

/** Looks again and again; `explain` throws what is wrong when it takes too long. */
async function until(what: string, isTrue: () => boolean, explain?: () => void): Promise<void> {
  const end = Date.now() + 20_000;
  while (!isTrue()) {
    if (Date.now() > end) {
      explain?.();
      throw new Error(`in vain: ${what}`);
    }
    await pause(5);
  }
}

function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}
