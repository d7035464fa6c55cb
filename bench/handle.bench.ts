/**
 * The transfer reducer (2 reads, 2 updates), from call to durable reply, without the doors: through
 * the handle of a database on its own thread. The baseline, measured in the same run, is the
 * smallest loop that promises the same: accounts in a typed array, one record a transfer into a
 * buffer, one write and one fdatasync for all transfers that wait.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startService } from '../src/service/start-service.ts';
import { accounts, inFlight, oneWaitingCaller, openBank, throughHandle } from './load/bank.ts';
import { oneSyncMillis, syncData } from './transfer/one-sync.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  /** The baseline's figure in the same run, divided by this one: 1 is as fast, 2 half as fast. */
  readonly ratio?: number;
}

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
