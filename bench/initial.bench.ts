/**
 * The first rows of a large table, over a WebSocket, while somebody else writes: how fast they come,
 * and how long the writer is kept waiting meanwhile. Subscriber and writer are processes of their own.
 */
import type { Caller } from './load/caller.ts';
import { LoadProcess } from './load/load-process.ts';
import { type BenchService, serviceWith } from './load/service.ts';
import type { Subscriber } from './load/subscriber.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

const tableRows = 1_000_000;
const rounds = 5;
const rowsPerCall = 50_000;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const rows = Math.max(1_000, Math.round(tableRows * scale));
  const service = await serviceWith('board');
  const caller = await LoadProcess.start<Caller>('caller.ts');
  const subscriber = await LoadProcess.start<Subscriber>('subscriber.ts');
  try {
    return await measure(rows, service, caller, subscriber);
  } finally {
    await caller.stop();
    await subscriber.stop();
    await service.stop();
  }
}

async function measure(
  rows: number,
  { port }: BenchService,
  caller: LoadProcess<Caller>,
  subscriber: LoadProcess<Subscriber>,
): Promise<Figure[]> {
  const board = { port, database: 'board' };
  await caller.ask('connect', board);
  await caller.ask('call', { reducer: 'open', args: [1] });
  for (let from = 0; from < rows; from += rowsPerCall) {
    const args = [from, Math.min(rowsPerCall, rows - from)];
    await caller.ask('call', { reducer: 'join', args });
  }
  const alone = await dripping(caller, () => new Promise((resolve) => setTimeout(resolve, 500)));
  const text = 'SELECT * FROM player';
  const first = [];
  const calls = [];
  for (let round = 0; round < rounds; round++) {
    const one = subscriber.ask('firstRows', { ...board, text });
    const writing = await dripping(caller, () => one);
    const { rowCount, ...told } = await one;
    if (rowCount !== rows) throw new Error(`${rowCount} of ${rows} rows came`);
    first.push(told);
    calls.push(writing);
  }
  const seconds = median(first.map((told) => told.seconds));
  const bytes = first[0]?.byteCount ?? 0;
  const name = `first rows of ${rows}`;
  return [
    { name: `${name}: rows`, unit: 'rows/s', value: rows / seconds },
    { name: `${name}: on the wire`, unit: 'MB/s', value: bytes / 1e6 / seconds },
    { name: `${name}: until all are there, median`, unit: 'ms', value: seconds * 1000 },
    {
      name: `${name}: longest call of another in a round, median of ${rounds}`,
      unit: 'ms',
      value: median(calls.map((one) => one.longestMillis)),
    },
    {
      name: `${name}: longest call of another in all rounds`,
      unit: 'ms',
      value: Math.max(...calls.map((one) => one.longestMillis)),
    },
    {
      name: `${name}: call of another, median`,
      unit: 'ms',
      value: median(calls.map((one) => one.p50)),
    },
    { name: 'without first rows: longest call', unit: 'ms', value: alone.longestMillis },
    { name: 'without first rows: call, median', unit: 'ms', value: alone.p50 },
  ];
}

/** Has calls made, one after another, until `work` is done. */
async function dripping(caller: LoadProcess<Caller>, work: () => Promise<unknown>) {
  const drip = caller.ask('drip', {});
  await work();
  await caller.ask('hush', {});
  return drip;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
