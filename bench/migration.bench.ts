/** What a migration of many rows takes, and what callers beside it wait for. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildModule } from '../src/bundle/build-module.ts';
import { Database } from '../src/database/database.ts';
import { createCore } from '../src/database/open-database.ts';
import { migrationToken } from '../src/database/program-hash.ts';
import { noProgress } from '../src/database/progress.ts';
import { ticketNumber } from '../src/database/ticket.ts';
import type { DatabaseReply, DatabaseRequest, TurnReport } from '../src/database/turn.ts';
import { linkHere } from '../src/host/linking/local-linker.ts';
import { programHash } from '../src/host/linking/program-hash.ts';
import { programLoader } from '../src/host/seats/program-loader.ts';
import { MachineClock } from '../src/node/clock.ts';
import { MachineDisk } from '../src/node/disk.ts';
import { machineAlarms } from '../src/node/machine-alarm.ts';
import { nextTurn } from '../src/node/next-turn.ts';
import { ownerRights } from '../src/sql/rights.ts';
import { connectionNumber } from '../src/values/connection-number.ts';
import { encodeValue } from '../src/values/encode.ts';
import { asOwner, callerIdentity, databaseIdentity } from '../src/values/identity-roles.ts';
import { product } from '../src/values/special-types.ts';
import { filesOf, inFolder } from '../test/support/migration-program.ts';

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
}

/** Calls that wait for their answers at the same time. */
const callers = 16;
const rowsMax = 5_000_000;

const module = (columns: string) => `
import { schema, table, t } from 'reducerdb/server';
const item = table({ public: true }, { id: t.u32().primaryKey(), name: t.string(), ${columns} });
const tally = table({}, { id: t.u32().primaryKey(), count: t.u32() });
const db = schema({ item, tally });
export default db;
export const fill = db.reducer({ first: t.u32(), count: t.u32() }, (ctx, { first, count }) => {
  for (let id = first; id < first + count; id++) fillRow(ctx, id);
});
export const touch = db.reducer({ id: t.u32(), count: t.u32() }, (ctx, { id, count }) => {
  const row = ctx.db.item.id.find(id);
  if (row !== undefined) ctx.db.item.id.update({ ...row, name: 'name ' + count });
});
`;

const before = module('').concat(
  "function fillRow(ctx, id) { ctx.db.item.insert({ id, name: 'name ' + id }); }\n",
);
const after = module('size: t.u32()').concat('function fillRow() {}\n');
const options = `  steps: (m) => [m.addColumn('item', 'size', { fill: (old) => old.name.length })],`;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  try {
    const rowCount = Math.ceil(rowsMax * scale);
    const [first, second] = await programs();
    const bench = await MigrationBench.start(folder, first);
    await bench.fill(rowCount);
    const isTiny = scale < 0.01;
    await bench.callsFor(isTiny ? 100 : 3_000);
    const alone = await bench.callsFor(isTiny ? 100 : 5_000);
    const beside = await bench.callsBeside(bench.publish(second));
    await bench.stop();
    const { millis, waits } = beside;
    return [
      {
        name: 'rows of a migration beside calls',
        unit: 'rows/s',
        value: (rowCount / millis) * 1_000,
      },
      {
        name: 'calls beside it, without it as baseline (bar: 0.6 of it)',
        unit: 'calls/s',
        value: (waits.length / millis) * 1_000,
        baseline: (alone.waits.length / alone.millis) * 1_000,
      },
      {
        name: 'a call beside it, p99, without it as baseline',
        unit: 'ms',
        value: shareOf(waits, 0.99),
        baseline: shareOf(alone.waits, 0.99),
      },
      {
        name: 'the longest a call waits, without it as baseline',
        unit: 'ms',
        value: shareOf(waits, 1),
        baseline: shareOf(alone.waits, 1),
      },
      {
        name: 'writers stand still for the last slice and the swap (bar: 50)',
        unit: 'ms',
        value: bench.swapMillis,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function programs(): Promise<[Uint8Array, Uint8Array]> {
  const build = async (folder: string) => (await buildModule(folder)).program;
  const first = await inFolder({ 'src/index.ts': before }, build);
  const migrations = [{ id: '0001-size', before, options }];
  return [first, await inFolder(await filesOf({ module: after, migrations }), build)];
}

interface Calls {
  readonly millis: number;
  /** How long each has waited, in milliseconds. */
  readonly waits: readonly number[];
}

/** A database in this thread, with its files on the disk. */
class MigrationBench {
  /** How long the turn of the swap took, from the one before it. */
  swapMillis = 0;
  readonly #database: Database;
  readonly #hash: () => string;
  readonly #waiting = new Map<number, (reply: DatabaseReply) => void>();
  #lastTicket = 0;
  #rowCount = 0;
  #turnAt = 0;
  #migratesSince: number | undefined;
  /** Calls that were made before. */
  #waitsBefore = 0;

  private constructor(make: (bench: MigrationBench) => Database, hash: () => string) {
    this.#database = make(this);
    this.#hash = hash;
  }

  static async start(folder: string, program: Uint8Array): Promise<MigrationBench> {
    let bench: MigrationBench | undefined;
    const clock = new MachineClock();
    const around = {
      identity,
      ownerIdentity: asOwner(caller.identity),
      disk: new MachineDisk(folder),
      clock,
      entropy: { fill: (bytes: Uint8Array) => void bytes.fill(7) },
      statementMillisMax: 10_000,
      report: () => undefined,
      warn: () => undefined,
      loader: programLoader(linkHere, noProgress),
      hash: programHash,
      progress: noProgress,
      makeAlarm: machineAlarms(clock),
      nextTurn,
      owner: {
        handOver: (turn: TurnReport) => bench?.settle(turn),
        durable: () => undefined,
        stopped: ({ error }: { error: unknown }) => {
          throw error;
        },
      },
    };
    const core = await createCore(around, { kind: 'js', bytes: program }, 1n);
    bench = new MigrationBench(
      () => new Database(core, around),
      () => core.program.hash,
    );
    return bench;
  }

  settle({ results }: TurnReport): void {
    for (const { ticket, reply } of results) {
      if (reply.kind === 'migrating') {
        this.#migratesSince ??= performance.now();
        continue;
      }
      if (reply.kind === 'updated') this.swapMillis = performance.now() - this.#turnAt;
      this.#waiting.get(ticket)?.(reply);
      this.#waiting.delete(ticket);
    }
    this.#turnAt = performance.now();
  }

  async fill(rowCount: number): Promise<void> {
    this.#rowCount = rowCount;
    const params = product(['first', { kind: 'u32' }], ['count', { kind: 'u32' }]);
    for (let first = 0; first < rowCount; first += 10_000) {
      const count = Math.min(10_000, rowCount - first);
      await this.#call('fill', encodeValue(params, [first, count]));
    }
  }

  async publish(bytes: Uint8Array): Promise<void> {
    const next = Buffer.from(programHash(bytes)).toString('hex');
    const token = migrationToken(programHash, identity, this.#hash(), next);
    const permission = { policy: 'breakClients', token } as const;
    const reply = await this.#request({
      kind: 'update',
      program: { kind: 'js', bytes },
      permission,
    });
    if (reply.kind !== 'updated') throw new Error(JSON.stringify(reply));
  }

  callsFor(millis: number): Promise<Calls> {
    return this.callsUntil(new Promise((resolve) => setTimeout(resolve, millis)));
  }

  /** Keeps calls under way until something is done. */
  async callsUntil(done: Promise<void>): Promise<Calls> {
    const params = product(['id', { kind: 'u32' }], ['count', { kind: 'u32' }]);
    const waits: number[] = [];
    const startedAt = performance.now();
    let isDone = false;
    const ended = done.finally(() => {
      isDone = true;
    });
    const one = async (number: number): Promise<void> => {
      for (let count = 0; !isDone; count += 1) {
        const id = (number * 7_919 + count * 104_729) % this.#rowCount;
        const calledAt = performance.now();
        await this.#call('touch', encodeValue(params, [id, count]));
        if (calledAt < (this.#migratesSince ?? Number.POSITIVE_INFINITY)) {
          this.#waitsBefore = waits.length + 1;
        }
        waits.push(performance.now() - calledAt);
      }
    };
    await Promise.all([ended, ...Array.from({ length: callers }, (_, number) => one(number))]);
    return { millis: performance.now() - startedAt, waits };
  }

  /** From the first row on: before that, the program is linked, here in the same thread. */
  async callsBeside(publishing: Promise<void>): Promise<Calls> {
    const startedAt = performance.now();
    const { millis, waits } = await this.callsUntil(publishing);
    const since = this.#migratesSince;
    // A small one is done at once.
    if (since === undefined) return { millis, waits };
    return { millis: millis - (since - startedAt), waits: waits.slice(this.#waitsBefore) };
  }

  stop(): Promise<void> {
    return this.#database.close();
  }

  async #call(reducer: string, args: Uint8Array): Promise<void> {
    const connection = {
      kind: 'temporary' as const,
      id: connectionNumber(BigInt(this.#lastTicket + 1_000)),
    };
    const { schemaVersion } = this.#database.description;
    const call = { caller, connection, reducer, args, schemaVersion, confirmed: false };
    const reply = await this.#request({ kind: 'call', call });
    if (reply.kind !== 'called') throw new Error(JSON.stringify(reply));
  }

  #request(request: DatabaseRequest): Promise<DatabaseReply> {
    const ticket = ticketNumber(++this.#lastTicket);
    return new Promise((resolve) => {
      this.#waiting.set(ticket, resolve);
      this.#database.submit({ ticket, request, acceptedMicros: BigInt(ticket) });
    });
  }
}

const identity = databaseIdentity(5n);
const caller = { identity: callerIdentity(1n), rights: ownerRights, jwtPayload: '' };

function shareOf(waits: readonly number[], share: number): number {
  const sorted = [...waits].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
