import {
  type SnapshotBlock,
  type SnapshotLoading,
  type SnapshotPlace,
  type SnapshotSchema,
  type SnapshotSink,
  type SnapshotTable,
  snapshotName,
} from '../log/snapshot.ts';
import { decodeCatalog } from '../schema/catalog-codec.ts';
import type { SequenceMark } from '../store/change-set.ts';
import type { StoreLoad } from '../store/load-store.ts';
import { ReplayError } from '../store/replay.ts';
import type { Store } from '../store/store.ts';
import type { ReplayedProgram } from './replayed-program.ts';

/** A snapshot that an opening has loaded. */
export interface LoadedSnapshot {
  readonly place: SnapshotPlace;
  /** The program that served at its offset. */
  readonly program: ReplayedProgram;
}

/** Loads the snapshot that recovery has chosen into an empty store. No user code runs for it. */
export class SnapshotLoader implements SnapshotLoading {
  readonly #store: Store;
  readonly #warn: (message: string) => void;
  #loaded: LoadedSnapshot | undefined;

  /** `warn`: of images of indexes that are not used, so that opening takes longer. */
  constructor(store: Store, warn: (message: string) => void = () => undefined) {
    this.#store = store;
    this.#warn = warn;
  }

  /** `undefined`: there was none to use. */
  get loaded(): LoadedSnapshot | undefined {
    return this.#loaded;
  }

  begin(place: SnapshotPlace, tables: readonly SnapshotTable[]): SnapshotSink {
    return new Sink(this.#store, place, tables, (loaded, faults) => {
      this.#loaded = loaded;
      const name = snapshotName(place.offset);
      for (const fault of faults) this.#warn(`Of the snapshot ${name}, ${fault}. ${rebuilt}`);
    });
  }
}

const rebuilt = 'Nothing is lost: such an index is built from the rows.';

/** One snapshot as it is read; the store changes with `commit` alone. */
class Sink implements SnapshotSink {
  readonly #store: Store;
  readonly #place: SnapshotPlace;
  readonly #tables: readonly SnapshotTable[];
  readonly #done: (loaded: LoadedSnapshot, faults: readonly string[]) => void;
  readonly #faults: string[] = [];
  #schema: SnapshotSchema | undefined;
  #load: StoreLoad | undefined;
  #program = new Uint8Array(0);
  #programEnd = 0;
  #sequences: readonly SequenceMark[] = [];
  /** The position of the table whose rows come. */
  #at = 0;

  constructor(
    store: Store,
    place: SnapshotPlace,
    tables: readonly SnapshotTable[],
    done: (loaded: LoadedSnapshot, faults: readonly string[]) => void,
  ) {
    this.#store = store;
    this.#place = place;
    this.#tables = tables;
    this.#done = done;
  }

  take(block: SnapshotBlock): void {
    switch (block.kind) {
      case 'schema':
        this.#begin(block.schema);
        return;
      case 'program':
        if (this.#programEnd + block.bytes.length > this.#program.length) throw badProgram();
        this.#program.set(block.bytes, this.#programEnd);
        this.#programEnd += block.bytes.length;
        return;
      case 'marks':
        this.#sequences = [...block.sequences];
        return;
      case 'rows': {
        const load = this.#begun();
        while (this.#tables[this.#at]?.tableId !== block.tableId) this.#finishTable();
        load.addRows(block.tableId, block.rows);
        return;
      }
      case 'derived':
        this.#finishTables();
        this.#begun().addImage(block.tableId, block.piece);
    }
  }

  skipDerived(reason: string): void {
    this.#faults.push(`images of indexes are not used: ${reason}`);
  }

  commit(): void {
    const schema = this.#schema;
    if (schema === undefined || this.#programEnd < this.#program.length) throw badProgram();
    this.#finishTables();
    const load = this.#begun();
    load.commit(this.#place.offset, this.#sequences);
    const { programKind: kind, publishedMicros, offset } = schema;
    const described = schema.definition;
    const source = { kind, bytes: this.#program };
    const program = { source, described, publishedMicros, offset };
    this.#done({ place: this.#place, program }, [...this.#faults, ...load.faults]);
  }

  abandon(): void {
    this.#load = undefined;
    this.#program = new Uint8Array(0);
  }

  #begin(schema: SnapshotSchema): void {
    this.#schema = { ...schema, definition: schema.definition.slice() };
    this.#program = new Uint8Array(schema.programBytes);
    this.#load = this.#store.beginLoad(decodeCatalog(schema.catalog));
  }

  #begun(): StoreLoad {
    if (this.#load === undefined) throw new ReplayError('rows come before the schema');
    return this.#load;
  }

  #finishTables(): void {
    while (this.#at < this.#tables.length) this.#finishTable();
  }

  #finishTable(): void {
    const table = this.#tables[this.#at];
    if (table === undefined) throw new ReplayError('rows of a table come that is not listed');
    this.#at++;
    this.#begun().finishTable(table.tableId, table.rowCount);
  }
}

function badProgram(): ReplayError {
  return new ReplayError('the program does not have the bytes that the schema says');
}
