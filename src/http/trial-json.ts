import type { TrialReport, TrialSample, TrialTable } from '../database/trial-report.ts';
import { limits } from '../limits.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { fullTablesOf } from '../schema/flatten.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { encodedToJson } from '../values/json.ts';
import type { ProductType, Typespace } from '../values/type.ts';

/** A trial, with what is needed to show its rows. */
export interface ShownTrial {
  readonly report: TrialReport;
  readonly old: ModuleDefinition;
  /** The definition that the rows of the samples have come to. */
  readonly sampled: ModuleDefinition;
}

/** The account of a trial run as JSON; rows are objects in the plain form. */
export function trialJson({ report, old, sampled }: ShownTrial): string {
  const [before, after] = [new RowTexts(old), new RowTexts(sampled)];
  const { conflicts, assertions, failure, clients, memoryBytes, millis, isOnline } = report;
  const tables = report.tables.map((table) => tableJson(table, before, after));
  const rest = {
    conflicts,
    assertions,
    failure: failure ?? null,
    clients_disconnected: clients,
    memory_bytes: memoryBytes,
    seconds: Math.ceil(millis) / 1000,
    online: isOnline,
  };
  return `{"tables":[${tables.join(',')}],${JSON.stringify(rest).slice(1)}`;
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
