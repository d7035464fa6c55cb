import type { CommitLog } from '../../src/log/commit-log.ts';
import { decodeInputs } from '../../src/log/decode-record.ts';
import type { CommitInputs, LogRecord, MigratedTables, StagedRows } from '../../src/log/record.ts';
import { tableId } from '../../src/schema/ids.ts';
import type { ChangeSet, RowList, SequenceMark } from '../../src/store/change-set.ts';
import { commitOffset } from '../../src/store/commit-offset.ts';
import type { Random } from '../../src/testing/random.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';

/**
 * A record of random content with its inputs, as it is appended; `withRuns`: also those of
 * migrations.
 */
export function randomRecord(random: Random, next: number, withRuns = false) {
  const offset = commitOffset(next);
  const kind = random.below(20);
  const inputs: CommitInputs = {
    reducer: random.pick(['transfer', 'add', '', 'größer']),
    caller: callerIdentity(random.bigint(256)),
    connectionId: connectionNumber(random.chance(0.3) ? 0n : random.bigint(128)),
    timestampMicros: random.bigint(50),
    seed: random.bytes(random.pick([0, 32])),
    args: random.bytes(random.below(40)),
  };
  // Many records of one size: what an earlier run left behind then lies just where new ones go.
  if (kind > 10) return { kind: 'commit' as const, changes: emptyChanges(next), inputs: noInputs };
  if (kind === 0) {
    if (withRuns && random.chance(0.5))
      return { kind: 'staged' as const, staged: randomStaged(random), inputs };
    return { kind: 'marks' as const, sequences: randomMarks(random), inputs };
  }
  const changes = randomChanges(random, next);
  if (kind > 1) return { kind: 'commit' as const, changes, inputs };
  const schema = {
    catalog: random.bytes(random.below(200)),
    definition: random.bytes(random.below(200)),
    programKind: random.pick(['js', 'wasm'] as const),
    program: random.bytes(random.below(3000)),
    defaults: random.chance(0.5)
      ? [{ tableId: tableId(5), column: 2, value: random.bytes(4) }]
      : [],
  };
  const rows = random.chance(0.5) ? changes : undefined;
  const migration = withRuns && random.chance(0.5) ? randomMigration(random) : undefined;
  return { kind: 'schema' as const, offset, schema, migration, changes: rows, inputs };
}

function randomStaged(random: Random): StagedRows {
  const catalog = random.chance(0.3) ? random.bytes(random.below(200)) : undefined;
  return { run: random.below(2 ** 30), catalog, tables: randomChanges(random, 1).tables };
}

function randomMigration(random: Random): MigratedTables {
  const tables = Array.from({ length: random.below(4) }, () => ({
    tableId: tableId(random.below(100_000)),
    isStaged: random.chance(0.5),
  }));
  return { run: random.below(2 ** 30), tables };
}

const noBytes = new Uint8Array(0);
const noInputs: CommitInputs = {
  reducer: '',
  caller: callerIdentity(0n),
  connectionId: connectionNumber(0n),
  timestampMicros: 0n,
  seed: noBytes,
  args: noBytes,
};

function emptyChanges(offset: number): ChangeSet {
  return { offset: commitOffset(offset), tables: [], sequences: [] };
}

function randomChanges(random: Random, offset: number): ChangeSet {
  const tables = Array.from({ length: random.below(4) }, () => ({
    tableId: tableId(random.below(100_000)),
    inserts: randomRows(random),
    deletes: randomRows(random),
    truncated: random.chance(0.1),
  }));
  return { offset: commitOffset(offset), tables, sequences: randomMarks(random) };
}

function randomRows(random: Random) {
  const bytes = random.bytes(random.chance(0.03) ? random.below(2500) : random.below(60));
  return { bytes, count: bytes.length === 0 ? 0 : random.between(1, 300) };
}

function randomMarks(random: Random) {
  return Array.from({ length: random.chance(0.3) ? random.below(3) : 0 }, () => ({
    id: random.below(5000),
    value: random.bigint(random.pick([8, 63, 64, 256])) - (random.chance(0.5) ? 1n << 62n : 0n),
  }));
}

export type RandomRecord = ReturnType<typeof randomRecord>;

export function appendTo(log: CommitLog, record: RandomRecord): void {
  if (record.kind === 'marks') log.appendMarks(record.sequences);
  else if (record.kind === 'commit') log.appendCommit(record.changes, record.inputs);
  else if (record.kind === 'staged') log.appendStaged(record.staged);
  else {
    const { offset, schema, changes, inputs, migration } = record;
    log.appendSchema(offset, schema, changes, inputs, migration);
  }
}

/** All of a record's content as text, to compare what was appended with what was found. */
export function textOf(record: LogRecord | RandomRecord): string {
  if (record.kind === 'marks') return `marks ${marksText(record.sequences)}`;
  if (record.kind === 'staged') return stagedText(record.staged);
  const { kind, changes, inputs } = record;
  const schema = record.kind === 'schema' ? schemaText(record) : '';
  return `${kind} ${schema} ${changesText(changes)} ${inputsText(inputs)}`;
}

function marksText(sequences: readonly SequenceMark[]): string {
  return sequences.map(({ id, value }) => `${id}=${value}`).join();
}

type SchemaPart = Pick<
  Extract<LogRecord, { readonly kind: 'schema' }>,
  'offset' | 'schema' | 'migration'
>;

function schemaText({ offset, schema, migration }: SchemaPart): string {
  const { catalog, definition, programKind, program, defaults } = schema;
  const values = defaults.map((one) => `${one.tableId}.${one.column}=${hex(one.value)}`).join();
  const parts = [catalog, definition, program].map(hex).join();
  return `${offset} ${programKind} ${parts} ${values} ${JSON.stringify(migration)}`;
}

function stagedText({ run, catalog, tables }: StagedRows): string {
  const rows = tables.map((table) => `${table.tableId} ${rowsText(table.inserts)}`);
  return `staged ${run} ${catalog === undefined ? '' : hex(catalog)} ${rows.join()}`;
}

function changesText(changes: ChangeSet | undefined): string {
  if (changes === undefined) return 'none';
  const tables = changes.tables.map(({ tableId: id, truncated, inserts, deletes }) => {
    return `${id} ${truncated} ${rowsText(inserts)} ${rowsText(deletes)}`;
  });
  return `${changes.offset} [${tables.join()}] ${marksText(changes.sequences)}`;
}

function rowsText({ count, bytes }: RowList): string {
  return `${count}:${hex(bytes)}`;
}

function inputsText(inputs: Uint8Array | CommitInputs): string {
  const decoded = inputs instanceof Uint8Array ? decodeInputs(inputs) : inputs;
  const { reducer, caller, connectionId, timestampMicros, seed, args } = decoded;
  return `${reducer} ${caller} ${connectionId} ${timestampMicros} ${hex(seed)} ${hex(args)}`;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
}
