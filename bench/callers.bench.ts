/**
 * What a commit costs the service that 30 or 1,000 callers see, each by rights of their own: behind a
 * row filter that joins, and through a view for each caller that returns a query. Compared with a
 * commit that as many see without either, in the same run. Callers and watchers are processes of
 * their own, and every update was durable before it was told.
 */
import type { Caller } from './load/caller.ts';
import type { LoadProcess } from './load/load-process.ts';
import type { Watchers } from './load/watchers.ts';
import { cpuSeconds, withLoads } from './load/with-loads.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  /** Of the same run. */
  readonly baseline: number;
  readonly bar: string;
}

/**
 * A commit that so many see behind a filter that joins, or each through a view of their own, and one
 * that as many see without either.
 */
export async function benchmarks(scale: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [callers, bar] of [
    [30, 'at most 3'],
    [Math.max(60, Math.round(1_000 * scale)), 'at most 20'],
  ] as const) {
    const commits = Math.max(64, Math.round((6_000 * scale * 30) / callers));
    const see = { callers, commits };
    figures.push(
      ...(await withLoads(async ({ port }, caller, crowd) => {
        await caller.ask('call', { reducer: 'open', args: [1] });
        const loads = { port, caller, crowd };
        const baseline = await microsOf('open_score', see, loads);
        const name = `a commit that ${callers} see`;
        const unit = 'µs of processor';
        const filtered = await microsOf('score', see, loads);
        // Results of views outlive those who watch them, so they are last.
        const viewed = await microsOf('scores_of_team', see, loads);
        return [
          {
            ...{ name: `${name} behind a filter that joins, to one without it`, unit },
            ...{ value: filtered, baseline, bar },
          },
          {
            ...{ name: `${name} through a view each that returns a query, to one without`, unit },
            ...{ value: viewed, baseline, bar },
          },
        ];
      }, 'team')),
    );
  }
  return figures;
}

interface Seen {
  readonly callers: number;
  readonly commits: number;
}

interface Loads {
  readonly port: number;
  readonly caller: LoadProcess<Caller>;
  readonly crowd: LoadProcess<Watchers>;
}

/** Processor time of the service for a commit that all of the callers see in that table. */
async function microsOf(
  table: string,
  { callers, commits }: Seen,
  { port, caller, crowd }: Loads,
): Promise<number> {
  const watch = { port, database: 'team', connections: callers, sets: 1, queries: 1 };
  await crowd.ask('watch', { ...watch, text: `SELECT * FROM ${table}` });
  await caller.ask('flood', { inFlight: 64, calls: commits, ids: 1 });
  await crowd.ask('begin', {});
  const cpuBefore = process.cpuUsage();
  await caller.ask('flood', { inFlight: 64, calls: commits, ids: 1 });
  const updates = commits * callers;
  const told = await crowd.ask('report', { updates, millisMax: 60_000 });
  if (told.count < updates) throw new Error(`${told.count} of ${updates} updates were told`);
  const micros = (cpuSeconds(cpuBefore) * 1e6) / commits;
  await crowd.ask('leave', {});
  return micros;
}
