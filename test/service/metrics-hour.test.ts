import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Inn, openInn } from './inn.ts';
import type { Person } from './running.ts';

let inn: Inn;
beforeAll(async () => {
  inn = await openInn();
});
afterAll(() => inn.running.stop());

const get = async (where: string, as: Person) => {
  const { status, text } = await inn.running.ask('GET', where, { as });
  return { status, body: status === 200 ? JSON.parse(text) : text };
};
const metrics = async (as = inn.owner) => (await get('/v1/database/inn/metrics', as)).body;
const sum = (values: (number | null)[]) => values.reduce<number>((all, one) => all + (one ?? 0), 0);

describe('[http 18.2] metrics of a database over HTTP', () => {
  it('are those of the last hour, with the memory of tables and indexes', async () => {
    for (const name of ['Ada', 'Bob', 'Cleo']) {
      await inn.running.call('inn', 'add_person', [name], inn.owner);
    }
    await inn.running.call('inn', 'crash', [], inn.owner);
    const shown = await vi.waitFor(
      async () => {
        const now = await metrics();
        expect(sum(now.series.calls)).toBe(4);
        return now;
      },
      { timeout: 30_000, interval: 200 },
    );
    const { series, tables, ...rest } = shown;
    expect(rest).toEqual({ step_seconds: 5, end: expect.stringMatching(/:\d[05]\.000Z$/) });
    expect(Object.keys(series)).toEqual([
      ...['calls', 'calls_failed', 'latency_p50_ms', 'latency_p99_ms', 'commits', 'fsync_p99_ms'],
      ...['fanout_lag_ms', 'memory_bytes', 'log_bytes', 'snapshot_bytes', 'event_loop_delay_ms'],
      'connections',
    ]);
    const lengths = Object.values<unknown[]>(series).map(({ length }) => length);
    expect(new Set(lengths).size).toBe(1);
    expect(lengths[0]).toBeLessThanOrEqual(720);
    expect(sum(series.calls_failed)).toBe(1);
    expect(series.latency_p99_ms.some((millis: number | null) => (millis ?? 0) > 0)).toBe(true);
    expect(series.memory_bytes.at(-1)).toBeGreaterThan(0);
    expect(series.log_bytes.at(-1)).toBeGreaterThan(0);
    const person = tables.find(({ table }: { table: string }) => table === 'person');
    expect(person).toEqual({
      ...{ table: 'person', rows: 3, memory_bytes: expect.any(Number) },
      indexes: [{ name: 'person_id_idx_btree', memory_bytes: expect.any(Number) }],
    });
    expect(person.memory_bytes).toBeGreaterThan(0);
  });

  it('of the whole service are for operators', async () => {
    const { status, body } = await get('/v1/service/metrics', inn.owner);
    expect(status).toBe(403);
    expect(body).toMatch(/ is not an operator of this host$/);
  });
});
