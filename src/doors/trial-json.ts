import type { TrialSample, TrialTable } from '../database/trial-report.ts';
import type { PlanTrial, TriedBack } from '../host/publishing/plan-control.ts';
import { limits } from '../limits.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { fullTablesOf } from '../schema/flatten.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { encodedToJson } from '../values/json.ts';
import type { ProductType, Typespace } from '../values/type.ts';

/** The account of a trial run as JSON; rows are objects in the plain form. */
export function trialJson({ report, old, sampled, back }: PlanTrial): string {
  const { conflicts, assertions, failure, clients, memoryBytes, millis, isOnline } = report;
  const tables = tablesJson(report.tables, old, sampled);
  const rest = {
    conflicts,
    assertions,
    failure: failure ?? null,
    clients_disconnected: clients,
    memory_bytes: memoryBytes,
    seconds: secondsOf(millis),
    online: isOnline,
  };
  const backJson = back === undefined ? 'null' : triedBackJson(back);
  return `{"tables":${tables},${JSON.stringify(rest).slice(1, -1)},"back":${backJson}}`;
}

function triedBackJson({ report, reason, losses, from, sampled }: TriedBack): string {
  const { tables = [], migrations = [], conflicts = [], assertions = [] } = report ?? {};
  const head = {
    possible: reason === undefined && losses.length === 0,
    reason: reason?.trim() ?? null,
    tried: report?.isTried === true,
    migrations,
  };
  const rest = {
    conflicts,
    assertions,
    lost: losses.map(({ table, column = null, rowCount: rows }) => ({ table, column, rows })),
    changed: report === undefined ? [] : (report.changed ?? null),
    seconds: secondsOf(report?.millis ?? 0),
  };
  const shown = tablesJson(tables, from, sampled);
  return `${JSON.stringify(head).slice(0, -1)},"tables":${shown},${JSON.stringify(rest).slice(1)}`;
}

function secondsOf(millis: number): number {
  return Math.ceil(millis) / 1000;
}

function tablesJson(
  tables: readonly TrialTable[],
  old: ModuleDefinition,
  sampled: ModuleDefinition,
): string {
  const [before, after] = [new RowTexts(old), new RowTexts(sampled)];
  return `[${tables.map((table) => tableJson(table, before, after)).join(',')}]`;
}

function tableJson(table: TrialTable, before: RowTexts, after: RowTexts): string {
  const head = {
    before: table.before ?? null,
    after: table.after ?? null,
    rows_before: table.rowsBefore,
    rows_after: table.rowsAfter ?? null,
  };
  const samples = table.samples.map((sample) => {
    return sampleJson(sample, table.before ?? '', before, after);
  });
  return `${JSON.stringify(head).slice(0, -1)},"samples":[${samples.join(',')}]}`;
}

function sampleJson(sample: TrialSample, table: string, before: RowTexts, after: RowTexts): string {
  const rows = sample.after.map(({ table: into, row }) => {
    return `{"table":${JSON.stringify(into)},"row":${after.of(into, row)}}`;
  });
  return `{"before":${before.of(table, sample.before)},"after":[${rows.join(',')}]}`;
}

/** Rows of the tables of a definition, as texts. */
class RowTexts {
  readonly #types: ReadonlyMap<string, { readonly row: ProductType; readonly types: Typespace }>;

  constructor(definition: ModuleDefinition) {
    const entries = fullTablesOf(definition).map(({ table, typespace }) => {
      const elements = table.columns.map(({ name, type }) => ({ name, type }));
      return [
        table.name,
        { row: { kind: 'product', elements } as const, types: typespace },
      ] as const;
    });
    this.#types = new Map(entries);
  }

  /** `null` for a row that is too long to be shown. */
  of(table: string, row: Uint8Array): string {
    const known = this.#types.get(table);
    if (known === undefined || row.length > limits.trialSampleBytesMax) return 'null';
    return encodedToJson(known.row, new BinaryReader(row), 'plain', known.types);
  }
}
