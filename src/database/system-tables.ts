import { assert, present } from '../assert.ts';
import { limits } from '../limits.ts';
import type { TableSpec } from '../schema/catalog.ts';
import type { TableId } from '../schema/ids.ts';
import {
  clusterTableId,
  computedTables,
  deployTableId,
  firstUserId,
  scheduleTableId,
  unwatchedTableIds,
} from '../schema/system-tables.ts';
import type { Rights } from '../sql/rights.ts';
import { Store } from '../store/store.ts';
import type { Table } from '../store/table.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { encoderOf } from '../values/encode.ts';
import type { ProductType } from '../values/type.ts';
import { clusterRows, type ListedPart } from './cluster-rows.ts';
import { deployRows, type ListedDeploy } from './deploy-rows.ts';
import type { ListedSchedule } from './schedules/schedule-ask.ts';
import { scheduleRows } from './schedules/schedule-rows.ts';
import { audienceOf, shownFacts } from './shown-facts.ts';
import { type SystemFacts, type SystemRow, systemRowsOf } from './system-rows.ts';

/**
 * The computed system tables of one version of a database's schema. Statements read them like any
 * other table; each caller sees what its rights allow. Each is filled on first use, so a program's
 * bytes are copied only for callers that read them. An update discards all of them.
 */
export class SystemTables {
  readonly #facts: SystemFacts;
  /** By table id, then by the audience that sees the same rows. */
  readonly #filled = new Map<TableId, Map<string, FilledTable>>();

  constructor(facts: SystemFacts) {
    this.#facts = facts;
  }

  /**
   * The table, or `undefined` when `id` is not one of them; those that change without a commit have
   * their own. `offset` is that of the store: the values of sequences, which alone change between
   * updates, are as of that commit. Tables handed out earlier keep their rows.
   */
  table(id: TableId, offset: number, rights: Rights): Table | undefined {
    const spec = computedById.get(id);
    if (spec === undefined || unwatchedTableIds.has(id)) return undefined;
    const audience = audienceOf(spec.name, rights);
    const filled = this.#filled.get(id) ?? new Map<string, FilledTable>();
    const known = filled.get(audience);
    const isFresh = known?.offset === offset || id !== sequencesId;
    if (known !== undefined && isFresh) return known.table;
    const table = filledTable(spec, systemRowsOf(spec.name, shownFacts(this.#facts, rights)));
    // Each limited token has its own audience, and there can be any number of them.
    if (known === undefined && filled.size >= limits.systemTableAudiencesMax) filled.clear();
    this.#filled.set(id, filled.set(audience, { table, offset }));
    return table;
  }

  /** Sequences will move without a commit. Returns a function to call when they have gone back. */
  beforeSequencesMove(): () => void {
    const known = this.#filled.get(sequencesId);
    this.#filled.delete(sequencesId);
    return () => {
      if (known === undefined) this.#filled.delete(sequencesId);
      else this.#filled.set(sequencesId, known);
    };
  }
}

interface FilledTable {
  readonly table: Table;
  readonly offset: number;
}

const computedById: ReadonlyMap<TableId, TableSpec> = new Map(
  computedTables.map((table) => [table.id, table]),
);

const sequencesId = present(
  computedTables.find(({ name }) => name === 'st_sequence'),
  'the table of sequences',
).id;

/** `st_schedule`, as of this moment: its rows change without a commit. */
export function scheduleTable(schedules: readonly ListedSchedule[]): Table {
  const spec = present(computedById.get(scheduleTableId), 'the table of schedules');
  return filledTable(spec, scheduleRows(schedules));
}

/** `st_deploy`, likewise. */
export function deployTable(deploys: readonly ListedDeploy[]): Table {
  const spec = present(computedById.get(deployTableId), 'the table of deploys');
  return filledTable(spec, deployRows(deploys));
}

/** `st_cluster`, likewise. */
export function clusterTable(parts: readonly ListedPart[]): Table {
  const spec = present(computedById.get(clusterTableId), 'the table of the cluster');
  return filledTable(spec, clusterRows(parts));
}

/** A table in a store of its own, which is never written again. */
function filledTable(spec: TableSpec, rows: readonly SystemRow[]): Table {
  const store = new Store({ tables: [spec], views: [], types: [], nextId: firstUserId });
  const writer = new BinaryWriter();
  const rowType: ProductType = { kind: 'product', elements: spec.columns };
  for (const row of rows) encoderOf(rowType)(writer, row);
  const isFitting = rows.length > 1 || writer.length <= limits.systemRowBytesMax;
  assert(isFitting, 'a system table has no row larger than a page can hold');
  store.loadRows(spec.id, { bytes: writer.view(), count: rows.length });
  return present(store.table(spec.id), 'table of a store');
}
