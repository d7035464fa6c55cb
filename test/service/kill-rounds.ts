import { request as httpRequest } from 'node:http';
import { Random } from '../../src/testing/random.ts';
import { program } from './built-program.ts';
import { type RunningService, Sandbox } from './harness.ts';

export interface KillReport {
  readonly rounds: number;
  readonly acknowledged: number;
  readonly present: number;
  readonly wasted: number;
}

const writers = 8;
const database = 'ledger';

/**
 * Writes over real sockets, kills the service with SIGKILL in the middle, starts it again and looks:
 *
 * - every call whose confirmed answer arrived is there, once;
 * - nothing is there that was never asked for;
 * - a row that was seen has the id that it was seen with;
 * - no id that a caller saw, also in the words of a refusal, ever belongs to another row.
 */
export async function killRounds(rounds: number, seed: number): Promise<KillReport> {
  const random = new Random(seed);
  const sandbox = await Sandbox.make();
  const book = new Book();
  try {
    let service = await sandbox.start(['--log-level', 'error']);
    await publish(service);
    for (let round = 0; round < rounds; round += 1) {
      const load = startLoad(service, book);
      await pause(100 + random.below(400));
      service.child.kill('SIGKILL');
      await service.ended;
      await load;
      service = await sandbox.start(['--log-level', 'error']);
      book.check(await readAll(service), `seed ${seed}, round ${round}`);
    }
    const code = await service.stop();
    if (code !== 0) throw new Error(`the service ended with ${code}:\n${service.output}`);
    return book.report(rounds);
  } finally {
    sandbox.remove();
  }
}

interface Row {
  readonly id: bigint;
  readonly key: string;
}

/** What callers know: what they asked for, what was acknowledged, which ids they have seen. */
class Book {
  readonly asked = new Set<string>();
  readonly acknowledged = new Set<string>();
  readonly seen = new Map<string, bigint>();
  readonly wasted = new Set<bigint>();
  readonly next = Array.from({ length: writers }, () => 0);
  #present = 0;

  check(rows: readonly Row[], where: string): void {
    const fail = (words: string) => {
      throw new Error(`${where}: ${words}`);
    };
    const byKey = new Map(rows.map((row) => [row.key, row.id]));
    const byId = new Map(rows.map((row) => [row.id, row.key]));
    if (byKey.size !== rows.length) fail('a row is there twice');
    if (byId.size !== rows.length) fail('two rows have one id');
    for (const key of this.acknowledged) if (!byKey.has(key)) fail(`${key} is lost`);
    for (const key of byKey.keys()) if (!this.asked.has(key)) fail(`${key} was never asked for`);
    for (const [key, id] of this.seen) {
      if (byKey.get(key) !== id) fail(`${key} had id ${id}, has ${byKey.get(key)}`);
    }
    for (const id of this.wasted) {
      if (byId.has(id)) fail(`id ${id} was seen and is used again by ${byId.get(id)}`);
    }
    for (const [key, id] of byKey) this.seen.set(key, id);
    this.#present = rows.length;
  }

  report(rounds: number): KillReport {
    return {
      rounds,
      acknowledged: this.acknowledged.size,
      present: this.#present,
      wasted: this.wasted.size,
    };
  }
}

/** All writers write until the service is gone; resolves when the last one has noticed. */
async function startLoad(service: RunningService, book: Book): Promise<void> {
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(service, book, writer)));
}

async function write({ url }: RunningService, book: Book, writer: number): Promise<void> {
  const call = `${url}/v1/database/${database}/call`;
  for (let turn = 0; ; turn += 1) {
    const number = book.next[writer] ?? 0;
    book.next[writer] = number + 1;
    const key = `${writer}/${number}`;
    book.asked.add(key);
    try {
      const answer = await post(`${call}/append?confirmed=true`, JSON.stringify([writer, number]));
      if (answer.status !== 200) throw new Error(`append: ${answer.status} ${answer.text}`);
      book.acknowledged.add(key);
      if (turn % 7 === 3) await waste(`${call}/waste?confirmed=true`, book, writer);
    } catch (error) {
      if (error instanceof Gone) return;
      throw error;
    }
  }
}

async function waste(where: string, book: Book, writer: number): Promise<void> {
  const { status, text } = await post(where, JSON.stringify([writer]));
  const id = /^wasted (\d+)$/.exec(text)?.[1];
  if (status !== 530 || id === undefined) throw new Error(`waste: ${status} ${text}`);
  book.wasted.add(BigInt(id));
}

async function readAll({ url }: RunningService): Promise<Row[]> {
  const where = `${url}/v1/database/${database}/sql`;
  const { status, text } = await post(where, 'SELECT id, writer, number FROM entry');
  if (status !== 200) throw new Error(`reading: ${status} ${text}`);
  const rows = JSON.parse(text)[0].rows as [number, number, number][];
  return rows.map(([id, writer, number]) => ({ id: BigInt(id), key: `${writer}/${number}` }));
}

async function publish({ url }: RunningService): Promise<void> {
  const where = `${url}/v1/database/${database}?host_type=Js`;
  const answer = await fetch(where, { method: 'PUT', body: await program('ledger') });
  if (!answer.ok) throw new Error(`publishing: ${answer.status} ${await answer.text()}`);
}

/** The service went away before it answered: the outcome is not known. */
export class Gone extends Error {}

export function post(url: string, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const outgoing = httpRequest(url, { method: 'POST', headers }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk) => {
        text += chunk;
      });
      incoming.on('error', () => reject(new Gone()));
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text }));
    });
    outgoing.on('error', () => reject(new Gone()));
    outgoing.end(body);
  });
}

export function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}
