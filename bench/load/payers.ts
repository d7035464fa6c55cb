/** Clients that move money between accounts, as fast as they are answered. */
import { type Measured, Meter } from '../transfer/meter.ts';
import { socketLoad } from '../transfer/socket-load.ts';
import { skewed, uniform, type Workload } from '../transfer/workload.ts';
import { obey } from './load-process.ts';

const skills = {
  /** Every reply is checked, and was durable. `count`: of all, those before it was measured too. */
  async pay({ port, database, accounts, exponent, millis }: Payments): Promise<Paid> {
    const workload = workloadOf(accounts, exponent);
    const meter = new Meter(millis / 4, millis);
    let count = 0;
    const replied = (sentAt: number, now: number): boolean => {
      count += 1;
      return meter.replied(sentAt, now);
    };
    const load = { workload, sockets: 8, inFlight: 40, meter: { replied } };
    await socketLoad(`http://127.0.0.1:${port}`, database, load);
    return { ...meter.measured(), count };
  },
};

let last: { readonly exponent: number; readonly workload: Workload } | undefined;

/** Drawn once for all rounds. */
function workloadOf(accounts: number, exponent: number): Workload {
  if (last?.exponent === exponent) return last.workload;
  const workload = exponent === 0 ? uniform(accounts) : skewed(accounts, exponent);
  last = { exponent, workload };
  return workload;
}

export type Payers = typeof skills;

interface Paid extends Measured {
  readonly count: number;
}

export interface Payments {
  readonly port: number;
  readonly database: string;
  readonly accounts: number;
  /** Of Zipf's law, by which accounts are wanted; 0: each as much as any other. */
  readonly exponent: number;
  readonly millis: number;
}

obey(skills);
