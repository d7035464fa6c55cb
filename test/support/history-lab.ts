import { type HistoryReport, type KeepOptions, keepHistory } from '../../src/history/keep.ts';
import { SnapshotLoader } from '../../src/history/load-snapshot.ts';
import { LogReplay } from '../../src/history/replay-log.ts';
import { CommitLog } from '../../src/log/commit-log.ts';
import { epoch } from '../../src/log/epoch.ts';
import type { CommitInputs } from '../../src/log/record.ts';
import { type SnapshotPlace, snapshotName } from '../../src/log/snapshot.ts';
import { SnapshotWriter } from '../../src/log/snapshot-writer.ts';
import { emptyCatalog } from '../../src/schema/build-catalog.ts';
import type { Catalog } from '../../src/schema/catalog.ts';
import { encodeCatalog } from '../../src/schema/catalog-codec.ts';
import { type CommitOffset, commitOffset } from '../../src/store/commit-offset.ts';
import { noRow } from '../../src/store/row-ref.ts';
import { Store } from '../../src/store/store.ts';
import type { Table } from '../../src/store/table.ts';
import { Random } from '../../src/testing/random.ts';
import { SimulatedDisk } from '../../src/testing/simulated-disk.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { callerIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';
import { cpuMillis } from './cpu-millis.ts';
import {
  catalogFrom,
  deleteRow,
  indexOf,
  insert,
  readRows,
  string,
  type TableSketch,
  tableOf,
  u32,
  update,
} from './store/tables.ts';

export const labIdentity = databaseIdentity(77n);

const account: TableSketch = {
  columns: { id: u32, name: string },
  indexes: [{ columns: ['id'], unique: true, algorithm: 'hash' }],
};
const line: TableSketch = { columns: { n: u32, text: string }, autoInc: ['n'] };
const more: TableSketch = { columns: { n: u32 } };

/** `account` has the primary key `id`, `line` has none; `more` comes with a change of the schema. */
function labCatalog(isChanged: boolean): Catalog {
  const catalog = catalogFrom(isChanged ? { account, line, more } : { account, line });
  const tables = catalog.tables.map((table) => {
    return table.name === 'account' ? { ...table, primaryKey: 0 } : table;
  });
  return { ...catalog, tables };
}

/** A database without code: tables, a log of small segments, snapshots, and passes over them. */
export class HistoryLab {
  readonly disk: SimulatedDisk;
  readonly store = new Store(emptyCatalog);
  readonly random: Random;
  /** Names of the snapshots taken, the oldest first. */
  readonly snapshots: string[] = [];
  /** What the last pass said. */
  problems: string[] = [];
  micros = 1_000_000n;
  #log: CommitLog | undefined;
  #schemaOffset = commitOffset(0);
  #publishedMicros = 0n;
  #isChanged = false;
  readonly #known = new Set<number>();

  constructor(seed: number, disk = new SimulatedDisk()) {
    this.random = new Random(seed);
    this.disk = disk;
  }

  static async open(seed: number, segmentBytes = 2000): Promise<HistoryLab> {
    const lab = new HistoryLab(seed);
    lab.#log = await CommitLog.open(lab.disk, {
      databaseIdentity: labIdentity,
      create: true,
      salt: seed * 77,
      epoch: epoch(BigInt(seed)),
      segmentBytes,
      onRecord: () => undefined,
      warn: () => undefined,
    });
    lab.publish();
    await lab.log.sync();
    return lab;
  }

  get log(): CommitLog {
    if (this.#log === undefined) throw new Error('the log is not open');
    return this.#log;
  }

  /** Changes the schema, and the program with it. */
  /** `version`: of the catalog in the log; absent: that of this program. */
  publish(version?: number): void {
    const catalog = labCatalog(this.#isChanged);
    this.#isChanged = true;
    const offset = this.store.prepareMigration(catalog, new Map()).apply();
    const definition = new Uint8Array([1, offset & 255]);
    const encoded = encodeCatalog(catalog);
    if (version !== undefined) encoded[0] = version;
    const schema = { catalog: encoded, definition, program: programOf(offset) };
    const change = { ...schema, programKind: 'js' as const, defaults: [] };
    this.log.appendSchema(offset, change, undefined, this.#inputs());
    this.#schemaOffset = offset;
    this.#publishedMicros = this.micros;
  }

  /** Commits of one to three random changes, each written and made durable. */
  async work(commits: number): Promise<void> {
    for (let left = commits; left > 0; left--) {
      this.commit();
      await this.log.sync();
    }
  }

  commit(): void {
    const { random, store } = this;
    const transaction = store.begin();
    const accounts = tableOf(store, 'account');
    for (let left = random.between(1, 3); left > 0; left--) {
      const id = random.between(1, 60);
      const isThere = readRows(accounts).some(([found]) => found === id);
      if (isThere) update(transaction, indexOf(accounts, 0), id, `name ${random.u32()}`);
      else insert(transaction, accounts, id, `name ${random.u32()}`);
      if (random.chance(0.2)) insert(transaction, tableOf(store, 'line'), 0, `${random.u32()}`);
      const [oldest] = readRows(tableOf(store, 'line'));
      const isMany = tableOf(store, 'line').rowCount > 5;
      if (isMany && oldest !== undefined) deleteRow(transaction, tableOf(store, 'line'), ...oldest);
    }
    this.micros += BigInt(random.between(1, 1000)) * 1000n;
    const changes = transaction.commit();
    if (changes !== undefined) this.log.appendCommit(changes, this.#inputs());
  }

  /** Gives these accounts new names, or creates them, in one commit that is not yet durable. */
  rename(ids: readonly number[]): void {
    const accounts = tableOf(this.store, 'account');
    const transaction = this.store.begin();
    for (const id of ids) {
      const name = `name ${this.random.u32()}`;
      if (this.#known.has(id)) update(transaction, indexOf(accounts, 0), id, name);
      else insert(transaction, accounts, id, name);
      this.#known.add(id);
    }
    this.micros += 1000n;
    const changes = transaction.commit();
    if (changes !== undefined) this.log.appendCommit(changes, this.#inputs());
  }

  /** Takes a snapshot of the present rows; `change` may falsify it. */
  async snapshot(change: (falsified: SnapshotContent) => void = () => undefined): Promise<string> {
    this.log.write();
    const place = this.log.snapshotPlace(1n);
    const content: SnapshotContent = {
      catalog: this.store.catalog,
      program: programOf(this.#schemaOffset),
      marks: this.store.sequenceMarks(),
      rows: new Map([...this.store.tables].map((table) => [table, rowsOf(table)])),
    };
    change(content);
    const name = await this.#write(place, content);
    this.snapshots.push(name);
    return name;
  }

  async #write(place: SnapshotPlace, content: SnapshotContent): Promise<string> {
    const writer = SnapshotWriter.begin(this.disk, place, this.random.u32() | 0);
    const definition = new Uint8Array([1, this.#schemaOffset & 255]);
    const { program, marks } = content;
    const schema = {
      programKind: 'js' as const,
      catalog: encodeCatalog(content.catalog),
      definition,
      programBytes: program.length,
      publishedMicros: this.#publishedMicros,
      offset: this.#schemaOffset,
    };
    await writer.add({ kind: 'schema', schema });
    await writer.add({ kind: 'program', bytes: program });
    await writer.add({ kind: 'marks', sequences: marks });
    for (const [table, rows] of content.rows) {
      if (rows.length === 0) continue;
      const bytes = Uint8Array.from(Buffer.concat(rows));
      await writer.add({ kind: 'rows', tableId: table.id, rows: { bytes, count: rows.length } });
    }
    await writer.finish(this.log.sync());
    return snapshotName(place.offset);
  }

  keep(options: Partial<KeepOptions> = {}): Promise<HistoryReport> {
    this.problems = [];
    return keepHistory(this.disk, {
      identity: labIdentity,
      settings: { keepMicros: 0n, keepBytes: 0, keepCommits: undefined, onLowDisk: 'warn' },
      nowMicros: this.micros,
      holds: [],
      pace: () => Promise.resolve(),
      isStopped: () => false,
      log: (message, level) => this.problems.push(`${level}: ${message}`),
      gapBytesMax: 0,
      ...options,
    });
  }

  /** Another disk with some files changed; `undefined` removes one. */
  changed(changes: Readonly<Record<string, Uint8Array | undefined>> = {}): SimulatedDisk {
    const files = new Map(this.disk.list().map((name) => [name, this.disk.contentOf(name)]));
    for (const [name, bytes] of Object.entries(changes)) {
      if (bytes === undefined) files.delete(name);
      else files.set(name, bytes);
    }
    return new SimulatedDisk(files);
  }

  #inputs(): CommitInputs {
    return {
      reducer: 'lab',
      caller: callerIdentity(1n),
      connectionId: connectionNumber(0n),
      timestampMicros: this.micros,
      seed: new Uint8Array(0),
      args: new Uint8Array(0),
    };
  }
}

/** What a start finds, what it warned of, and the processor time that it took. */
export async function startOn(disk: SimulatedDisk) {
  const store = new Store(emptyCatalog);
  const warnings: string[] = [];
  const warn = (message: string) => warnings.push(message);
  const snapshots = new SnapshotLoader(store, warn);
  const replay = new LogReplay(store, snapshots);
  const before = cpuMillis();
  const log = await CommitLog.open(disk, {
    databaseIdentity: labIdentity,
    create: false,
    salt: 8,
    epoch: epoch(6n),
    snapshots,
    onRecord: (record) => replay.apply(record),
    warn: (message) => warnings.push(message),
  });
  log.abandon();
  return { store, warnings, openMillis: cpuMillis() - before };
}

/** The rows of all tables and the sequences, as text. */
export function stateOf(store: Store): string {
  const tables = [...store.tables].map((table) => {
    return `${table.spec.name}: ${readRows(table).map(String).sort().join('; ')}`;
  });
  const marks = store.sequenceMarks().map(({ id, value }) => `${id}=${value}`);
  return [...tables, ...marks].sort().join('\n');
}

/** What a snapshot has. */
export interface SnapshotContent {
  catalog: Catalog;
  program: Uint8Array;
  marks: { readonly id: number; readonly value: bigint }[];
  readonly rows: Map<Table, Uint8Array[]>;
}

function programOf(offset: CommitOffset): Uint8Array {
  return new TextEncoder().encode(`program of ${offset}`);
}

function rowsOf(table: Table): Uint8Array[] {
  const rows: Uint8Array[] = [];
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    const bytes = new Uint8Array(table.lengthOf(ref));
    table.copyRow(ref, bytes, 0);
    rows.push(bytes);
  }
  return rows;
}
