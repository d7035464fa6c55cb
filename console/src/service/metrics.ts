import { databasePath, requestJson } from './http.ts';
import { isObject, type Json, listOf, numberOf, objectOf, textOf } from './json.ts';

/** What was measured in the last hour; a series has a number, or a gap, for each step. */
export interface Hour {
  readonly stepSeconds: number;
  /** When the last step ended, in milliseconds since the Unix epoch. */
  readonly endMillis: number;
  readonly series: Readonly<Record<string, readonly (number | null)[]>>;
  readonly tables: readonly TableMemory[];
}

/** What a table takes now; `null`: the caller may not know. */
export interface TableMemory {
  readonly table: string;
  readonly rows: number | null;
  readonly memoryBytes: number | null;
  readonly indexes: readonly { readonly name: string; readonly memoryBytes: number | null }[];
}

/** `GET /v1/database/:db/metrics`, or `/v1/service/metrics` for the whole service. */
export async function readMetrics(database: string | null, signal?: AbortSignal): Promise<Hour> {
  const path = database === null ? '/v1/service/metrics' : databasePath(database, 'metrics');
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  const series = Object.entries(objectOf(body.series)).map(([name, values]) => {
    return [name, listOf(values).map(numberOf)] as const;
  });
  return {
    stepSeconds: numberOf(body.step_seconds) ?? 5,
    endMillis: Date.parse(textOf(body.end)),
    series: Object.fromEntries(series),
    tables: listOf(body.tables).filter(isObject).map(tableOf),
  };
}

function tableOf(table: { readonly [name: string]: Json }): TableMemory {
  return {
    table: textOf(table.table),
    rows: numberOf(table.rows),
    memoryBytes: numberOf(table.memory_bytes),
    indexes: listOf(table.indexes).map((each) => {
      const { name, memory_bytes: bytes } = objectOf(each);
      return { name: textOf(name), memoryBytes: numberOf(bytes) };
    }),
  };
}
