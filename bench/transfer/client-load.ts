import type * as library from '../../src/client/index.ts';
import { type Load, Transfers } from './load.ts';

/** The published entry `reducerdb/client`, as it is shipped. */
const entry = new URL('../../dist/client/index.js', import.meta.url).href;

/** What the load calls of the module in `bench/modules/bank`. */
interface Bank {
  transfer(args: { from: number; to: number; amount: bigint }): Promise<void>;
}

/**
 * Calls the reducer `transfer` as a program does: awaits `client.reducers.transfer(…)`, with as many
 * calls in flight on each connection as the load says. Every answer is confirmed.
 */
export async function clientLoad(url: string, database: string, load: Load): Promise<void> {
  const { connect }: typeof library = await import(entry);
  const transfers = new Transfers(load.workload);
  const clients = Array.from({ length: load.sockets }, () =>
    connect({ uri: url, database, confirmedReads: true }),
  );
  try {
    await Promise.all(
      clients.map(({ reducers }) => callAll(reducers as unknown as Bank, load, transfers)),
    );
  } finally {
    for (const client of clients) client.disconnect();
  }
}

async function callAll(bank: Bank, load: Load, transfers: Transfers): Promise<void> {
  const run = async (): Promise<void> => {
    for (let isOn = true; isOn; ) {
      transfers.next();
      const sentAt = performance.now();
      await bank.transfer({ from: transfers.from, to: transfers.to, amount: 1n });
      isOn = load.meter.replied(sentAt, performance.now());
    }
  };
  await Promise.all(Array.from({ length: load.inFlight }, run));
}
