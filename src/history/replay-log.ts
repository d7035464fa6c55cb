import { assert, unreachable } from '../assert.ts';
import { acceptedMicrosOf, decodeInputs } from '../log/decode-record.ts';
import type { LogRecord, SchemaChange } from '../log/record.ts';
import { decodeCatalog } from '../schema/catalog-codec.ts';
import type { TableId } from '../schema/ids.ts';
import type { Store } from '../store/store.ts';
import type { SnapshotLoader } from './load-snapshot.ts';
import type { ReplayedProgram } from './replayed-program.ts';

/**
 * Builds the store from the records of the log, which may continue a snapshot; keeps the last
 * program in them.
 */
export class LogReplay {
  readonly #store: Store;
  readonly #snapshots: SnapshotLoader;
  #program: ReplayedProgram | undefined;
  #lastMicros = 0;

  /** Records continue what a snapshot has, if one was loaded. */
  constructor(store: Store, snapshots: SnapshotLoader) {
    this.#store = store;
    this.#snapshots = snapshots;
  }

  /** When the latest commit was accepted. */
  get lastMicros(): bigint {
    const ofRecords = BigInt(this.#lastMicros);
    const ofSnapshot = this.#snapshots.loaded?.place.lastMicros ?? 0n;
    return ofRecords > ofSnapshot ? ofRecords : ofSnapshot;
  }

  apply(record: LogRecord): void {
    if (record.kind !== 'marks') this.#note(acceptedMicrosOf(record.inputs));
    switch (record.kind) {
      case 'commit':
        this.#store.replay(record.changes);
        return;
      case 'schema':
        this.#schema(record);
        return;
      case 'marks':
        this.#store.resumeSequences(record.sequences);
        return;
      default:
        unreachable(record);
    }
  }

  /** The program that served last; `undefined`: there was none yet. */
  get program(): ReplayedProgram | undefined {
    return this.#program ?? this.#snapshots.loaded?.program;
  }

  #note(micros: number): void {
    if (micros > this.#lastMicros && Number.isSafeInteger(micros)) this.#lastMicros = micros;
  }

  #schema(record: Extract<LogRecord, { kind: 'schema' }>): void {
    const { schema, changes, offset } = record;
    const catalog = decodeCatalog(schema.catalog);
    const applied = this.#store.prepareMigration(catalog, defaultsOf(schema)).apply();
    if (changes !== undefined) this.#store.replayJoined(changes);
    assert(applied === offset, `the schema change of ${offset} is at another offset`);
    this.#program = {
      source: { kind: schema.programKind, bytes: schema.program.slice() },
      described: schema.definition.slice(),
      publishedMicros: decodeInputs(record.inputs).timestampMicros,
      offset,
    };
  }
}

function defaultsOf({ defaults }: SchemaChange): Map<TableId, Uint8Array[]> {
  const byTable = new Map<TableId, Uint8Array[]>();
  for (const { tableId, value } of [...defaults].sort((a, b) => a.column - b.column)) {
    const values = byTable.get(tableId) ?? [];
    values.push(value.slice());
    byTable.set(tableId, values);
  }
  return byTable;
}
