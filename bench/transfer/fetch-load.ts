import { type Load, Transfers } from './load.ts';

/**
 * Posts transfers as a Node program does: with the `fetch` of the platform, which keeps connections
 * and opens one more for each request that is in flight beside others.
 */
export async function fetchLoad(url: string, load: Load): Promise<void> {
  const transfers = new Transfers(load.workload);
  const call = (from: number, to: number): Promise<Response> =>
    fetch(`${url}/transfer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ from, to, amount: 1 }),
    });
  const run = async (): Promise<void> => {
    for (let isOn = true; isOn; ) {
      transfers.next();
      const sentAt = performance.now();
      const { status } = await call(transfers.from, transfers.to);
      if (status !== 204) throw new Error('a transfer was refused');
      isOn = load.meter.replied(sentAt, performance.now());
    }
  };
  await Promise.all(Array.from({ length: load.sockets * load.inFlight }, run));
}
