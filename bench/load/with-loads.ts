/** A service with one database, a process that calls it, and one with those who watch. */
import type { Caller } from './caller.ts';
import { LoadProcess } from './load-process.ts';
import { type BenchService, serviceWith } from './service.ts';
import type { Watchers } from './watchers.ts';

type Work<Result> = (
  service: BenchService,
  caller: LoadProcess<Caller>,
  crowd: LoadProcess<Watchers>,
) => Promise<Result>;

/** Starts them for a module of `bench/modules`, and ends them. */
export async function withLoads<Result>(work: Work<Result>, module = 'board'): Promise<Result> {
  const service = await serviceWith(module);
  const caller = await LoadProcess.start<Caller>('caller.ts');
  const crowd = await LoadProcess.start<Watchers>('watchers.ts');
  try {
    await caller.ask('connect', { port: service.port, database: module });
    return await work(service, caller, crowd);
  } finally {
    await caller.stop();
    await crowd.stop();
    await service.stop();
  }
}

/** Of this process since `before`. */
export function cpuSeconds(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
