import { Random } from '../../src/testing/random.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { Gone, pause, post } from './kill-rounds.ts';
import { Remote } from './remote.ts';
import { type Program, written } from './written-module.ts';

export interface ScheduleKillReport {
  /** Rows that ran once, and were acknowledged before. */
  readonly once: number;
  /** Ticks of the row with an interval. */
  readonly ticks: number;
  /** Such rows for each second in which the service ran under load. */
  readonly rowsPerSecond: number;
}

const database = 'clockwork';
const intervalMicros = 20_000;
const writers = 4;
/** Rows that one call arms. */
const batch = 20;

/** Its runs are noted with the key of their row; `tick` makes up for all that it has missed. */
function clockwork(): Promise<Program> {
  return written({
    tables: {
      job: '{}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt(), key: t.string() }',
      tick: '{}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() }',
      ran: '{ public: true }, { n: t.u64().primaryKey().autoInc(), key: t.string() }',
      ticked: '{ public: true }, { id: t.u8().primaryKey(), count: t.u64() }',
    },
    exports: `
      export const work = db.reducer({ onSchedule: job }, { job: job.rowType }, (ctx, { job }) => {
        ctx.db.ran.insert({ n: 0n, key: job.key });
      });
      const all = { onSchedule: tick, catchUp: 'all' };
      export const count = db.reducer(all, { tick: tick.rowType }, (ctx) => {
        const before = ctx.db.ticked.id.find(0);
        if (before) ctx.db.ticked.id.update({ id: 0, count: before.count + 1n });
        else ctx.db.ticked.insert({ id: 0, count: 1n });
      });
      export const begin = db.init((ctx) => {
        ctx.db.tick.insert({ id: 0n, at: ScheduleAt.interval(${intervalMicros}n) });
      });
      export const arm = db.reducer({ millis: t.i64(), key: t.string() }, (ctx, { millis, key }) => {
        const micros = ctx.timestamp.microsSinceUnixEpoch + millis * 1000n;
        for (let at = 0; at < ${batch}; at++) {
          const due = ScheduleAt.time(micros + BigInt(at) * 1000n);
          ctx.db.job.insert({ id: 0n, at: due, key: key + '/' + at });
        }
      });`,
  });
}

/**
 * Kills a service with SIGKILL while its schedules run, and looks when it has started again:
 *
 * - each row that runs once, whose insertion was acknowledged, has run, and none ran twice;
 * - each due time of an interval had one run: their number is that of the intervals that passed.
 */
export async function scheduleKillRounds(
  rounds: number,
  seed: number,
): Promise<ScheduleKillReport> {
  const random = new Random(seed);
  const sandbox = await Sandbox.make();
  try {
    let service = await sandbox.start(['--log-level', 'error']);
    const book = await Book.begin(service, await Remote.of(service.url));
    for (let round = 0; round < rounds; round += 1) {
      const load = Promise.all(
        Array.from({ length: writers }, (_, writer) => arm(service, book, `${round}/${writer}`)),
      );
      const millis = 100 + random.below(400);
      await pause(millis);
      book.loadMillis += millis;
      service.child.kill('SIGKILL');
      await service.ended;
      await load;
      await pause(random.below(200));
      service = await sandbox.start(['--log-level', 'error']);
      await book.check(service, `seed ${seed}, round ${round}`);
    }
    const code = await service.stop();
    if (code !== 0) throw new Error(`the service ended with ${code}:\n${service.output}`);
    return book.report;
  } finally {
    sandbox.remove();
  }
}

/** Arms rows until the service is gone. */
async function arm({ url }: RunningService, book: Book, name: string): Promise<void> {
  const where = `${url}/v1/database/${database}/call/arm?confirmed=true`;
  for (let turn = 0; ; turn += 1) {
    const key = `${name}/${turn}`;
    const keys = Array.from({ length: batch }, (_, at) => `${key}/${at}`);
    for (const each of keys) book.asked.add(each);
    try {
      const { status, text } = await post(where, JSON.stringify([(turn * 37) % 300, key]));
      if (status !== 200) throw new Error(`arm: ${status} ${text}`);
      for (const each of keys) book.acknowledged.add(each);
      await pause(2);
    } catch (error) {
      if (error instanceof Gone) return;
      throw error;
    }
  }
}

interface Ticks {
  /** When the next tick is due, in microseconds. */
  readonly due: number;
  readonly count: number;
}

/** What is known of the rows that were armed, and of the ticks. */
class Book {
  readonly asked = new Set<string>();
  readonly acknowledged = new Set<string>();
  loadMillis = 0;
  readonly #owner: Remote;
  /** When the first tick was due. */
  #first = 0;
  #ticks = 0;

  private constructor(owner: Remote) {
    this.#owner = owner;
  }

  static async begin(service: RunningService, owner: Remote): Promise<Book> {
    const book = new Book(owner);
    const where = `${service.url}/v1/database/${database}?host_type=Js`;
    const headers = { authorization: `Bearer ${owner.token}` };
    const answer = await fetch(where, { method: 'PUT', body: await clockwork(), headers });
    if (!answer.ok) throw new Error(`publishing: ${answer.status} ${await answer.text()}`);
    const { due, count } = await book.#readTicks(service);
    book.#first = due - count * intervalMicros;
    return book;
  }

  get report(): ScheduleKillReport {
    const once = this.acknowledged.size;
    return { once, ticks: this.#ticks, rowsPerSecond: (once / this.loadMillis) * 1_000 };
  }

  async check(service: RunningService, where: string): Promise<void> {
    const fail = (words: string) => {
      throw new Error(`${where}: ${words}`);
    };
    let left = 1;
    while (left > 0) left = (await rowsOf(service, 'SELECT id FROM job', this.#owner)).length;
    const rows = await rowsOf(service, 'SELECT key FROM ran', this.#owner);
    const ran = rows.map(([key]) => String(key));
    const once = new Set(ran);
    if (once.size !== ran.length) fail('a row ran twice');
    for (const key of this.acknowledged) if (!once.has(key)) fail(`${key} did not run`);
    for (const key of once) if (!this.asked.has(key)) fail(`${key} was never asked for`);
    const { due, count } = await this.#readTicks(service);
    const expected = (due - this.#first) / intervalMicros;
    if (count !== expected) fail(`${count} ticks ran, and ${expected} were due`);
    this.#ticks = count;
  }

  /** Both of one moment: nothing ran between the looks at the first. */
  async #readTicks(service: RunningService): Promise<Ticks> {
    for (;;) {
      const due = await this.#dueOf(service);
      const [row] = await rowsOf(service, 'SELECT count FROM ticked', this.#owner);
      if (due === (await this.#dueOf(service))) return { due, count: Number(row?.[0] ?? 0) };
    }
  }

  async #dueOf({ url }: RunningService): Promise<number> {
    const headers = { authorization: `Bearer ${this.#owner.token}` };
    const answer = await fetch(`${url}/v1/database/${database}/schedules`, { headers });
    const { schedules } = (await answer.json()) as { schedules: { name: string }[] };
    const tick = schedules.find(({ name }) => name === 'tick') as { next_due?: number } | undefined;
    if (tick?.next_due === undefined) throw new Error(`no schedule: ${answer.status}`);
    return tick.next_due;
  }
}

async function rowsOf(
  { url }: RunningService,
  statement: string,
  { token }: Remote,
): Promise<unknown[][]> {
  const headers = { authorization: `Bearer ${token}` };
  const where = `${url}/v1/database/${database}/sql`;
  const answer = await fetch(where, { method: 'POST', body: statement, headers });
  if (!answer.ok) throw new Error(`${statement}: ${answer.status} ${await answer.text()}`);
  return JSON.parse(await answer.text())[0].rows;
}
