import type { TableFigures } from '../database/table-figures.ts';
import type { ShownHour } from '../host/metrics/metrics-hour.ts';
import { limits } from '../limits.ts';
import { callerOf, type HttpContext, openTarget } from './context.ts';
import { type Exchange, json, type Reply } from './exchange.ts';

/**
 * `GET /v1/database/:db/metrics`: what the database did in the last hour, and the memory of its
 * tables. One that does not serve is not opened for that.
 */
export async function databaseMetrics(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  host.access.require(callerOf(exchange), database, 'viewMetrics');
  const { handle, identity } = database;
  const isServing = handle.statistics().state === 'serving';
  const tables = isServing ? await handle.tables(caller) : [];
  return shown(host.metrics.ofDatabase(identity), tables);
}

/** `GET /v1/service/metrics`: likewise of the whole service, for operators. */
export function serviceMetrics(exchange: Exchange, { host }: HttpContext): Reply {
  host.access.requireOperator(callerOf(exchange), 'read metrics');
  return shown(host.metrics.ofService(), []);
}

function shown({ endMicros, series }: ShownHour, tables: readonly TableFigures[]): Reply {
  const rounded = Object.entries(series).map(([name, values]) => [name, values.map(short)]);
  const body = {
    step_seconds: limits.metricStepMillis / 1_000,
    end: new Date(Number(endMicros / 1_000n)).toISOString(),
    series: Object.fromEntries(rounded),
    tables: tables.map(tableJson),
  };
  return json(200, JSON.stringify(body), { 'cache-control': 'no-cache' });
}

/** Thousandths say enough of a time. */
function short(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1_000) / 1_000;
}

/** Sizes are `null` where the caller sees only some of the rows. */
function tableJson({ table, size, indexes }: TableFigures) {
  return {
    table,
    rows: size?.rowCount ?? null,
    memory_bytes: size === undefined ? null : size.rowBytes + size.indexBytes,
    indexes: indexes.map(({ name, bytes }) => ({ name, memory_bytes: bytes ?? null })),
  };
}
