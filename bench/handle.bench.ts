/**
 * The transfer reducer (2 reads, 2 updates), from call to durable reply, without the doors: through
 * the handle of a database on its own thread. The baseline, measured in the same run, is the
 * smallest loop that promises the same: accounts in a typed array, one record a transfer into a
 * buffer, one write and one fdatasync for all transfers that wait.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildModule } from '../src/bundle/build-module.ts';
import type { HostedDatabase } from '../src/host/host-types.ts';
import { type Service, startService } from '../src/service/start-service.ts';
import { median, oneSyncMillis, syncData } from './transfer/one-sync.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  /** The baseline's figure in the same run, divided by this one: 1 is as fast, 2 half as fast. */
  readonly ratio?: number;
}

const accounts = 10_000;
const inFlight = 320;
const bank = fileURLToPath(new URL('./modules/bank', import.meta.url));

export async function benchmarks(scale: number): Promise<Figure[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  const service = await startService({
    listen: { host: '127.0.0.1', port: 0 },
    dataDirectory: folder,
    logLevel: 'silent',
  });
  try {
    const database = await openBank(service);
    const prototype = await prototypeLoop(folder, Math.ceil(200_000 * scale));
    const handle = await throughHandle(service, database, Math.ceil(200_000 * scale));
    const waiting = await oneWaitingCaller(service, database, Math.ceil(300 * scale));
    const sync = await oneSyncMillis(folder, Math.ceil(100 * scale));
    return [
      { name: 'prototype loop, 320 in flight, fdatasync', unit: 'transfers/s', value: prototype },
      {
        name: 'handle, 320 in flight, durable reply',
        unit: 'transfers/s',
        value: handle,
        ratio: prototype / handle,
      },
      { name: 'one fdatasync of 4 KiB, median', unit: 'ms', value: sync },
      {
        name: 'handle, one caller waiting, median of a durable reply',
        unit: 'ms',
        value: waiting,
        ratio: waiting / sync,
      },
    ];
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function openBank(service: Service): Promise<HostedDatabase> {
  const { program } = await buildModule(bank, {});
  const caller = { identity: 7n, payload: '', isAnonymous: false };
  await service.host.publish({
    caller,
    target: 'bank',
    program: { kind: 'js', bytes: program },
    clear: false,
    policy: 'compatible',
    token: undefined,
    confirmMillis: 5_000,
  });
  const database = service.host.database('bank');
  const seen = service.host.callerFor(caller, database);
  await database.handle.connect(seen, 1n);
  const args = new Uint8Array(12);
  new DataView(args.buffer).setUint32(0, accounts, true);
  new DataView(args.buffer).setBigInt64(4, 1_000_000n, true);
  await call(service, database, 'open', args);
  return database;
}

async function call(
  service: Service,
  database: HostedDatabase,
  reducer: string,
  args: Uint8Array,
): Promise<void> {
  const { schemaVersion } = await database.handle.describe();
  const caller = service.host.callerFor(
    { identity: 7n, payload: '', isAnonymous: false },
    database,
  );
  const connection = { kind: 'open', id: 1n } as const;
  const confirmed = true;
  const outcome = await database.handle.call({
    caller,
    connection,
    reducer,
    args,
    schemaVersion,
    confirmed,
  });
  if (outcome.kind !== 'committed') throw new Error(JSON.stringify(outcome.error));
}

function transferArgs(turn: number): Uint8Array {
  const args = new Uint8Array(16);
  const view = new DataView(args.buffer);
  view.setUint32(0, (turn * 7919) % accounts, true);
  view.setUint32(4, (turn * 104_729 + 1) % accounts, true);
  view.setBigInt64(8, 1n, true);
  return args;
}

async function throughHandle(
  service: Service,
  database: HostedDatabase,
  transfers: number,
): Promise<number> {
  let turn = 0;
  const caller = async () => {
    while (turn < transfers) {
      turn += 1;
      await call(service, database, 'transfer', transferArgs(turn));
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: inFlight }, caller));
  return transfers / ((performance.now() - started) / 1000);
}

/** The median time that one caller waits for its durable reply, in milliseconds. */
async function oneWaitingCaller(
  service: Service,
  database: HostedDatabase,
  transfers: number,
): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < transfers; turn += 1) {
    const started = performance.now();
    await call(service, database, 'transfer', transferArgs(turn));
    times.push(performance.now() - started);
  }
  return median(times);
}

const recordBytes = 120;

/** Transfers over a typed array, recorded and synced in groups of all that are in flight. */
async function prototypeLoop(folder: string, transfers: number): Promise<number> {
  const balances = new BigInt64Array(accounts).fill(1_000_000n);
  const group = inFlight;
  const buffer = new Uint8Array(group * recordBytes);
  const view = new DataView(buffer.buffer);
  const file = openSync(path.join(folder, 'prototype.log'), 'w');
  const started = performance.now();
  for (let done = 0; done < transfers; done += group) {
    for (let at = 0; at < group; at += 1) {
      const turn = done + at;
      const from = (turn * 7919) % accounts;
      const to = (turn * 104_729 + 1) % accounts;
      balances[from] = (balances[from] ?? 0n) - 1n;
      balances[to] = (balances[to] ?? 0n) + 1n;
      view.setUint32(at * recordBytes, from, true);
      view.setBigInt64(at * recordBytes + 4, balances[from] ?? 0n, true);
      view.setUint32(at * recordBytes + 12, to, true);
      view.setBigInt64(at * recordBytes + 16, balances[to] ?? 0n, true);
    }
    writeSync(file, buffer);
    await syncData(file);
  }
  const seconds = (performance.now() - started) / 1000;
  closeSync(file);
  return transfers / seconds;
}
