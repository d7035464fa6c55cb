import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Isolation } from '../../src/host/workers/isolation.ts';
import { writeBundle } from '../service/cli-support.ts';
import { descendantsOf } from '../service/descendants.ts';
import { RunningService, type RunOptions, root, Sandbox } from '../service/harness.ts';

const runaways = {
  spin: 'for (;;);',
  eat: 'const all = []; for (;;) all.push(new Array(1_000).fill(all.length));',
  grow: `const s = 2n ** 29n; const all = [${Array(80).fill('(1n << s)').join()}]; for (;;) all.pop();`,
} as const;

const runawaySource = `
  import { schema } from 'reducerdb/server';
  const db = schema({});
  export default db;
  ${Object.entries(runaways)
    .map(([name, body]) => `export const ${name} = db.reducer(() => { ${body} });`)
    .join('\n')}
`;

/** Its only job is due at once and never ends; the one after it is noted. */
const endlessJob = `
  import { ScheduleAt, schema, t, table } from 'reducerdb/server';
  const job = table({}, { id: t.u64().primaryKey(), at: t.scheduleAt() });
  const ran = table({ public: true }, { id: t.u64() });
  const db = schema({ job, ran });
  export default db;
  export const begin = db.init((ctx) => {
    for (const id of [1n, 2n]) ctx.db.job.insert({ id, at: ScheduleAt.time(BigInt(id)) });
  });
  export const work = db.reducer({ onSchedule: job }, { job: job.rowType }, (ctx, { job }) => {
    if (job.id === 1n) for (;;);
    ctx.db.ran.insert({ id: job.id });
  });
`;

const ledger = path.join(root, 'test/fixtures/modules/ledger');
const databases = ['ledger', 'neighbour'] as const;
export type DatabaseName = (typeof databases)[number];

/** How long anything may take before it counts as not happening. */
export const patienceMillis = 60_000 * Number(process.env.TEST_SLOWNESS ?? 1);

/** What callers know: what they asked for, and what was acknowledged as durable. */
class Book {
  readonly asked = new Set<string>();
  readonly acknowledged = new Set<string>();
}

export interface Answer {
  /** 0: the connection broke, or there is no service. */
  readonly status: number;
  readonly text: string;
}

/**
 * A service with two databases that faults are tried on, and a book of what their callers know.
 * After each fault every acknowledged row must be there, once, and nothing that nobody asked for.
 */
export class Bed {
  readonly sandbox: Sandbox;
  readonly isolation: Isolation;
  readonly #books = new Map<string, Book>(databases.map((name) => [name, new Book()]));
  #service: RunningService | undefined;
  #lastWriter = 0;

  private constructor(sandbox: Sandbox, isolation: Isolation) {
    this.sandbox = sandbox;
    this.isolation = isolation;
  }

  /** `mount`: puts a file system on the folder of the data, before there is any. */
  static async make(isolation: Isolation, mount?: (folder: string) => void): Promise<Bed> {
    const bed = new Bed(await Sandbox.make(), isolation);
    mkdirSync(bed.data, { recursive: true });
    mount?.(bed.data);
    await bed.start();
    for (const name of databases) await bed.sandbox.ok(['publish', name, '-p', ledger]);
    await bed.write('ledger', 20);
    await bed.write('neighbour', 20);
    return bed;
  }

  get data(): string {
    return path.join(this.sandbox.folder, 'root/data');
  }

  get service(): RunningService {
    if (this.#service === undefined) throw new Error('no service runs');
    return this.#service;
  }

  get pid(): number {
    return this.service.child.pid ?? 0;
  }

  /** A module to publish. */
  get program(): string {
    return ledger;
  }

  /** Of databases that run in processes. */
  databaseProcesses(): number[] {
    return this.children('reducerdb ').filter((pid) =>
      /reducerdb [0-9a-f]{16}/.test(commandOf(pid)),
    );
  }

  /** Processes of the service whose command line or name contains `word`. */
  children(word: string): number[] {
    return descendantsOf(this.pid).filter((pid) => commandOf(pid).includes(word));
  }

  /** Where the log of a database is, in the data folder. */
  async logFolder(name: DatabaseName): Promise<string> {
    const answer = await this.ask('GET', `/v1/database/${name}/identity`);
    const identity = answer.text.replace(/\W/g, '').replace(/^0x/, '');
    const folder = path.join(this.data, 'databases', identity);
    const log = readdirSync(folder).find((entry) => entry.startsWith('log'));
    return path.join(folder, log ?? 'log');
  }

  async start(flags: readonly string[] = [], options: RunOptions = {}): Promise<RunningService> {
    const service = this.launch(flags, options);
    await service.untilReady();
    return service;
  }

  /** Starts it and does not wait. */
  launch(flags: readonly string[] = [], options: RunOptions = {}): RunningService {
    const address = `127.0.0.1:${this.sandbox.port}`;
    const own = ['start', '--listen-addr', address, '--log-level', 'info'];
    const words = [...own, '--isolation', this.isolation, ...flags];
    const child = this.sandbox.spawn(words, options);
    this.#service = new RunningService(child, this.sandbox.url);
    return this.#service;
  }

  /** Throws unless a start is refused with 1 and in these words, without a stack. */
  async refusedStart(
    expected: RegExp,
    flags: readonly string[] = [],
    options: RunOptions = {},
  ): Promise<void> {
    const words = ['start', '--listen-addr', '127.0.0.1:0', '--log-level', 'warn', ...flags];
    const { code, stderr } = await this.sandbox.run(words, options);
    if (code !== 1) throw new Error(`it ended with ${code}`);
    if (/^\s+at /m.test(stderr)) throw new Error(`a stack:\n${stderr}`);
    said(stderr.slice(stderr.indexOf('Error: ')), expected);
  }

  async stop(): Promise<void> {
    const code = await this.service.stop();
    this.#service = undefined;
    if (code !== 0) throw new Error(`the service ended with ${code}`);
  }

  async kill(): Promise<void> {
    const service = this.service;
    this.#service = undefined;
    service.child.kill('SIGKILL');
    await service.ended;
  }

  async ask(method: string, where: string, body?: string): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    const init = { method, headers, ...(body === undefined ? {} : { body }) };
    try {
      const answer = await fetch(this.sandbox.url + where, init);
      return { status: answer.status, text: await answer.text() };
    } catch (error) {
      return { status: 0, text: String(error) };
    }
  }

  sql(name: DatabaseName | 'endless', statement: string): Promise<Answer> {
    return this.ask('POST', `/v1/database/${name}/sql`, statement);
  }

  /** For callers that come another way. */
  noteOf(name: DatabaseName) {
    const { asked, acknowledged } = this.#bookOf(name);
    return {
      asked: (writer: number, number: number) => void asked.add(`${writer}/${number}`),
      acknowledged: (writer: number, number: number) =>
        void acknowledged.add(`${writer}/${number}`),
    };
  }

  /** One row more, which is noted when it is acknowledged. */
  async append(name: DatabaseName, writer: number, number: number): Promise<Answer> {
    const note = this.noteOf(name);
    note.asked(writer, number);
    const where = `/v1/database/${name}/call/append?confirmed=true`;
    const answer = await this.ask('POST', where, JSON.stringify([writer, number]));
    if (answer.status === 200) note.acknowledged(writer, number);
    return answer;
  }

  /** Rows one after another, all of which must be acknowledged. */
  async write(name: DatabaseName, count: number): Promise<void> {
    const writer = this.newWriter();
    for (let number = 0; number < count; number += 1) {
      const { status, text } = await this.append(name, writer, number);
      if (status !== 200) throw new Error(`${name}: ${status} ${text}`);
    }
  }

  newWriter(): number {
    this.#lastWriter += 1;
    return this.#lastWriter;
  }

  /** Callers of both databases who write until `stop`, or until there is no service any more. */
  load(callers = 4): Load {
    const load = new Load();
    const write = async (name: DatabaseName) => {
      const writer = this.newWriter();
      for (let number = 0; !load.isOver; number += 1) {
        const answer = await this.append(name, writer, number);
        if (answer.status === 0) return;
        load.note(answer);
        if (answer.status !== 200) await pause(20);
      }
    };
    load.under(databases.flatMap((name) => Array.from({ length: callers }, () => write(name))));
    return load;
  }

  /** Waits until callers have had so many answers. */
  async underLoad(count = 40): Promise<Load> {
    const load = this.load();
    await until(`${count} calls are answered`, () => load.acknowledged >= count);
    return load;
  }

  /** Throws unless both databases hold what was acknowledged, once, and nothing else. */
  async intact(): Promise<void> {
    if (this.#service === undefined || this.#service.child.exitCode !== null) await this.start();
    for (const name of databases) {
      const statement = 'SELECT writer, number FROM entry';
      const answer = await eventually(`${name} answers`, () => this.sql(name, statement));
      const [{ rows }] = JSON.parse(answer.text) as [{ rows: [number, number][] }];
      const keys = rows.map(([writer, number]) => `${writer}/${number}`);
      const there = new Set(keys);
      const { asked, acknowledged } = this.#bookOf(name);
      const lost = [...acknowledged].filter((key) => !there.has(key));
      const strange = keys.filter((key) => !asked.has(key));
      if (lost.length > 0) throw new Error(`${name}: lost ${lost.length}, such as ${lost[0]}`);
      if (strange.length > 0) throw new Error(`${name}: nobody asked for ${strange[0]}`);
      if (there.size !== keys.length) throw new Error(`${name}: a row is there twice`);
      await this.write(name, 1);
    }
  }

  /** Calls what never ends by itself, in a database of its own, and sees that it is ended. */
  async runaway(reducer: keyof typeof runaways): Promise<Answer> {
    const bundle = await writeBundle(this.sandbox, 'runaway', runawaySource);
    await this.sandbox.ok(['publish', 'runaway', '-j', bundle]);
    const answer = await this.ask('POST', `/v1/database/runaway/call/${reducer}`, '[]');
    if (answer.status !== 402) throw new Error(`${reducer}: ${answer.status} ${answer.text}`);
    return answer;
  }

  /** Publishes a database with a job that never ends, and sees that it is ended and has failed. */
  async endlessJob(): Promise<void> {
    const bundle = await writeBundle(this.sandbox, 'endless', endlessJob);
    await this.sandbox.ok(['publish', 'endless', '-j', bundle]);
    await until('the next job runs', async () => {
      const { status, text } = await this.sql('endless', 'SELECT id FROM ran');
      return status === 200 && text.includes('[[2]]');
    });
    const list = JSON.parse(await this.sandbox.ok(['schedule', 'list', 'endless', '--json']));
    const [{ armed_rows: armed }] = list.schedules;
    if (armed !== 0) throw new Error(`${armed} jobs are left`);
    const log = await this.sandbox.ok(['logs', 'endless']);
    const times = log.match(/was stopped.*scheduled: table job, row 1,/g)?.length ?? 0;
    if (times !== 1) throw new Error(`the job was ended ${times} times:\n${log}`);
  }

  /** Makes a copy of the data folder, which `restore` puts back, or a part of it. */
  keep(): void {
    cpSync(this.data, this.#kept, { recursive: true });
  }

  restore(part = '.'): void {
    rmSync(path.join(this.data, part), { recursive: true, force: true });
    cpSync(path.join(this.#kept, part), path.join(this.data, part), { recursive: true });
  }

  async remove(): Promise<void> {
    if (this.#service !== undefined) await this.kill();
    this.sandbox.remove();
  }

  get #kept(): string {
    return path.join(this.sandbox.folder, 'kept');
  }

  #bookOf(name: string): Book {
    const book = this.#books.get(name);
    if (book === undefined) throw new Error(`no database ${name}`);
    return book;
  }
}

/** Callers who write at the same time. */
export class Load {
  isOver = false;
  acknowledged = 0;
  /** By status: what was not acknowledged. */
  readonly refusals = new Map<number, string>();
  #all: Promise<unknown> = Promise.resolve();

  under(callers: readonly Promise<void>[]): void {
    this.#all = Promise.all(callers);
  }

  note({ status, text }: Answer): void {
    if (status === 200) this.acknowledged += 1;
    else this.refusals.set(status, text);
  }

  /** Resolves when the last caller has its answer. */
  async stop(): Promise<void> {
    this.isOver = true;
    await this.#all;
  }
}

export function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}

/** Waits for something to be so. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMillis;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`it does not happen that ${what}`);
    await pause(20);
  }
}

/** Asks until it is answered with 200. */
export async function eventually(what: string, ask: () => Promise<Answer>): Promise<Answer> {
  let answer = await ask();
  await until(what, async () => {
    if (answer.status !== 200) answer = await ask();
    return answer.status === 200;
  }).catch((error: Error) => {
    throw new Error(`${error.message}: ${answer.status} ${answer.text}`);
  });
  return answer;
}

/** Throws unless the text is as expected; gives what matched, for a report. */
export function said(text: string, expected: RegExp): string {
  const found = expected.exec(text);
  if (found === null) throw new Error(`not ${expected}:\n${text.slice(-2_000)}`);
  return found[0];
}

function commandOf(pid: number): string {
  const file = `/proc/${pid}/cmdline`;
  return existsSync(file) ? readFileSync(file, 'latin1').replaceAll('\0', ' ') : '';
}
