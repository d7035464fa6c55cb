import { assert, present } from '../assert.ts';
import type { ReplayedProgram } from '../history/replayed-program.ts';
import { limits } from '../limits.ts';
import { CommitLog } from '../log/commit-log.ts';
import { acceptedMicrosOf } from '../log/decode-record.ts';
import { epoch } from '../log/epoch.ts';
import { LogDamageError } from '../log/log-error.ts';
import { LogPlaces } from '../log/log-places.ts';
import type { LogPoint } from '../log/log-point.ts';
import {
  type CommitRecord,
  isCommitRecord,
  type LogRecord,
  type SchemaRecord,
} from '../log/record.ts';
import { recordsIn } from '../log/records-in.ts';
import type { LogReplicator, LogWrite } from '../log/replicated-write.ts';
import { readSegmentHeader, segmentHeaderBytes, segmentName } from '../log/segment.ts';
import { segmentNames, withReader } from '../log/segment-reader.ts';
import { type AsideCounts, type AsideRecords, setAllAside, setAside } from '../log/set-aside.ts';
import { beginAtSnapshot } from '../log/snapshot-begin.ts';
import type { Beginning } from '../shared-log/entry-payloads.ts';
import type { Replica } from '../shared-log/replica.ts';
import { rowRef } from '../store/row-ref.ts';
import { CopyReader, type CopyReaderEvents, copyText, type LeftCopy } from './copy-reader.ts';
import type { DatabaseCore } from './core.ts';
import { Database } from './database.ts';
import { connectedClients } from './lifecycle.ts';
import { KeptChanges } from './live/kept-changes.ts';
import {
  coreOfLog,
  createCore,
  type DatabaseOptions,
  type LoadedAhead,
  type LogSurroundings,
  loadAhead,
  type ReplayedLog,
  replayLog,
} from './open-database.ts';
import type { ProgramSource } from './program-source.ts';
import { writeNumber } from './write-number.ts';

/**
 * One host's copy of a database that several hosts have: its local log, and the tables that the
 * records make. It takes what the leader wrote, without turns; when this host leads, an actor
 * continues it.
 *
 * ```
 *  empty ──begin──▶ following ──lead──▶ led       final: then the actor has the log
 *    ▲  the log cannot be read   │  ▲
 *    └───────────────────────────┘  └── setAside: the tables are made again from what is left
 * ```
 *
 * While it follows, it can have a reader. A publish, and what follows it, waits until its program
 * is loaded, so that the reader can go on by that; it ends when it cannot, or when that takes too
 * long.
 */
export class DatabaseCopy implements Replica {
  readonly #options: LogSurroundings;
  #parts: (ReplayedLog & { readonly places: LogPlaces; readonly kept: KeptChanges }) | undefined;
  #acknowledgedOffset = 0;
  #lastMicros = 0n;
  #isLed = false;
  /** The program that its records end with, or ended with, loaded. */
  #ahead: LoadedAhead | undefined;
  #loading: Promise<void> | undefined;
  #reader: CopyReader | undefined;
  /** A publish that is not shown yet, so that the reader can go on by its program. */
  #update: WaitingUpdate | undefined;
  /** Bytes of what has come while publishes waited one after another. */
  #waitingBytes = 0;
  /** What the reader has left to the actor, with its connections. */
  #left: LeftCopy | undefined;
  /** Records in the log that the tables do not have yet, because they may still be lost. */
  #behind: LogRecord[] = [];
  #settledOffset = 0;
  #aside: AsideCounts = { commits: 0, refetchedBytes: 0 };

  /** Reads the local log, as far as it can be read; what is missing comes from the shared one. */
  static async open(options: LogSurroundings): Promise<DatabaseCopy> {
    const copy = new DatabaseCopy(options);
    if (segmentNames(options.disk).length > 0) await copy.#open();
    return copy;
  }

  private constructor(options: LogSurroundings) {
    this.#options = options;
  }

  /** What it had, and the shared log did not, since it was opened. */
  get aside(): AsideCounts {
    return this.#aside;
  }

  get isEmpty(): boolean {
    return this.#parts === undefined;
  }

  /** True if its records have made a program, so that it can serve. */
  get hasProgram(): boolean {
    this.#showAll();
    return this.#parts?.replay.program !== undefined;
  }

  /** The commit that published the program that its records end with. */
  get programOffset(): number | undefined {
    return (this.#update?.program ?? this.#parts?.replay.program)?.offset;
  }

  /** True while a publish waits for its program; see `showUpdate`. */
  get waitsForProgram(): boolean {
    return this.#update !== undefined;
  }

  /** The last commit that it shows, while a publish waits; else all that is settled is shown. */
  get shownOffset(): number | undefined {
    return this.#update === undefined ? undefined : this.#parts?.store.offset;
  }

  get end(): LogPoint {
    return this.#parts?.log.end ?? nowhere;
  }

  get acknowledgedOffset(): number {
    return this.#acknowledgedOffset;
  }

  async begin({ segmentHeader }: Beginning): Promise<void> {
    const { disk } = this.#options;
    if (this.#parts !== undefined) {
      if (this.#isOf({ segmentHeader })) return;
      await this.#drop('it is another log than the shared one');
    }
    const reading = readSegmentHeader(segmentHeader);
    assert(reading.kind === 'valid', 'a shared log begins with the header of a segment');
    const { sequence, firstOffset } = reading.header;
    const file = disk.open(segmentName(sequence, firstOffset), 'create');
    try {
      file.write(segmentHeader, 0);
      await file.sync();
    } finally {
      file.close();
    }
    await disk.syncDirectory();
    await this.#open();
  }

  /** Makes an empty log, and returns how the shared one has to begin. */
  async create(owner: Beginning['owner'], generation: number): Promise<Beginning> {
    const { disk, identity, entropy, warn } = this.#options;
    if (this.#parts === undefined) {
      const drawn = new Uint8Array(12);
      entropy.fill(drawn);
      const random = new DataView(drawn.buffer);
      const log = await CommitLog.open(disk, {
        ...{ databaseIdentity: identity, create: true, isMember: true, warn },
        ...{ salt: random.getInt32(0), epoch: epoch(random.getBigUint64(4)) },
        onRecord: () => undefined,
      });
      log.abandon();
      await this.#open();
    }
    return present(this.beginning(owner, generation), 'a log that was made has a segment');
  }

  /** How the shared log begins, by its local one; `undefined`: there is none. */
  beginning(owner: Beginning['owner'], generation: number): Beginning | undefined {
    const { disk } = this.#options;
    const [first] = segmentNames(disk);
    if (first === undefined) return undefined;
    const segmentHeader = withReader(disk, first, (reader) => reader.header().slice());
    assert(segmentHeader.length === segmentHeaderBytes, 'a segment has a whole header');
    return { segmentHeader, owner, generation, origin: new Uint8Array(0) };
  }

  get startPosition(): number {
    return this.#parts?.places.segments()[0]?.header.position ?? 0;
  }

  async restart(beginning: Beginning, point: LogPoint): Promise<boolean> {
    const { end, startPosition } = this;
    const isSame = this.#parts !== undefined && this.#isOf(beginning);
    const isHere = startPosition > point.position || this.chainAt(point.position) === point.chain;
    if (isSame && end.position >= point.position && isHere) return true;
    if (point.position === 0) {
      // Nothing is gone: the log was written again from its beginning on.
      if (isSame) await this.#drop('it is another log than the shared one');
      await this.begin(beginning);
      return true;
    }
    const { fetchSnapshot } = this.#options;
    const place = await fetchSnapshot?.(point.position);
    if (place === undefined) return false;
    if (this.#parts !== undefined) {
      await this.#drop('the shared log has removed what followed it, and begins with a snapshot');
    }
    await beginAtSnapshot(this.#options.disk, beginning, place);
    await this.#open();
    return !this.isEmpty;
  }

  chainAt(position: number): bigint | undefined {
    const { end } = this;
    if (this.#parts === undefined) return undefined;
    if (position === end.position) return end.chain;
    return this.#parts.places.pointAt(position)?.chain;
  }

  async apply(write: LogWrite): Promise<void> {
    const { log } = present(this.#parts, 'records follow the beginning of a log');
    if (this.#update !== undefined) this.#waitingBytes += write.records.length;
    for (const record of recordsIn(write.records)) {
      this.#behind.push(record);
      if (!isCommitRecord(record)) continue;
      const micros = BigInt(acceptedMicrosOf(record.inputs));
      if (micros > this.#lastMicros) this.#lastMicros = micros;
    }
    log.follow(write, this.#lastMicros);
    if (this.#waitingBytes > limits.copyUpdateBytesMax) this.showUpdate();
    else this.#show(this.#settledOffset);
  }

  settled(offset: number): void {
    this.#settledOffset = offset;
    this.#show(offset);
  }

  /** Shows a publish, and what follows it, although its program is not loaded: the reader ends. */
  showUpdate(): void {
    this.#show(this.#settledOffset, true);
  }

  /**
   * Takes into the tables what is settled; behind them are only records that may be lost, and a
   * publish that waits for its program, with what follows. `isUrgent`: none waits.
   */
  #show(offset: number, isUrgent = false): void {
    const behind = this.#behind;
    if (behind.length === 0) return;
    const { replay, kept } = present(this.#parts, 'records are of a log');
    let at = 0;
    try {
      for (let record = behind[0]; record !== undefined; record = behind[++at]) {
        if (isCommitRecord(record) && offsetOf(record) > offset) break;
        if (record.kind === 'schema') {
          if (!isUrgent && this.#waitsFor(record)) break;
          this.#publish(record);
          continue;
        }
        replay.apply(record);
        if (record.kind !== 'commit') continue;
        kept.add(record.changes.offset, record.changes.tables, true);
        this.#reader?.committed(record);
      }
    } finally {
      // While a publish waits there can be many, and nothing is shown.
      if (at > 0) this.#behind = behind.slice(at);
      if (this.#update === undefined) this.#waitingBytes = 0;
    }
    if (at > 0) this.#reader?.followed();
  }

  #showAll(): void {
    this.#show(Number.POSITIVE_INFINITY, true);
  }

  /** True until its program is loaded, if somebody reads. */
  #waitsFor(record: SchemaRecord): boolean {
    if (this.#reader === undefined || this.#reader.isEnded) return false;
    if (this.#update?.record !== record) {
      const { replay } = present(this.#parts, 'records are of a log');
      this.#update = { record, program: replay.programOf(record), ahead: undefined };
    }
    return this.#update.ahead === undefined;
  }

  /** The program of a record, and its tables. */
  #publish(record: SchemaRecord): void {
    const { replay, store, kept } = present(this.#parts, 'records are of a log');
    const apply = (): void => {
      replay.apply(record);
      kept.forget(store.offset);
    };
    const ahead = this.#update?.ahead;
    this.#update = undefined;
    if (ahead === undefined) {
      this.#endReader();
      apply();
      return;
    }
    const before = this.#ahead;
    this.#ahead = ahead;
    if (this.#reader === undefined) apply();
    else if (!this.#reader.update(record, ahead.loaded, apply)) this.#reader = undefined;
    before?.loaded.runner.dispose();
  }

  /**
   * Answers reads of what is settled, until the program is replaced or this host leads;
   * `undefined`: the program is not loaded, or the tables have what may still be lost.
   */
  async read(options: DatabaseOptions, events: CopyReaderEvents): Promise<CopyReader | undefined> {
    const parts = this.#parts;
    const ahead = this.#ahead;
    if (parts === undefined || !this.isWarm || this.#isLed) return undefined;
    if (parts.store.offset > this.#settledOffset) return undefined;
    const core = await coreOfLog({ ...options, full: copyText }, parts, ahead);
    if (this.#parts !== parts || this.#ahead !== ahead || !this.isWarm || this.#isLed) {
      return undefined;
    }
    const { nextTurn, progress, owner } = options;
    const handOver = owner.handOver.bind(owner);
    const reader = new CopyReader(core, { ...events, nextTurn, progress, handOver });
    this.#reader?.end({ kind: 'replaced' });
    this.#reader = reader;
    return reader;
  }

  /** Bytes of its rows and indexes, with those of views and of changes that are kept. */
  get heldBytes(): number {
    const parts = this.#parts;
    if (parts === undefined) return 0;
    const { store, kept } = parts;
    const besides = (this.#reader?.viewBytes ?? 0) + this.#waitingBytes;
    return store.memory().totalBytes + kept.bytes + besides;
  }

  #endReader(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.end({ kind: 'replaced' });
  }

  async setAside(point: LogPoint): Promise<void> {
    const { log } = present(this.#parts, 'only a log is cut');
    const { end, salt } = log;
    await this.#closeFiles();
    const aside = await setAside(this.#options.disk, salt, point, end);
    const commits = this.#aside.commits + Math.max(0, aside.lastOffset - aside.firstOffset + 1);
    this.#aside = { ...this.#aside, commits };
    this.#options.warn(asideText(aside));
    await this.#open();
  }

  writesBehind(point: LogPoint): readonly LogWrite[] {
    const { places, log } = present(this.#parts, 'what is written is in a log');
    return [...places.writes(point, log.end)];
  }

  /** True if the program that its records end with is loaded, so that it could serve at once. */
  get isWarm(): boolean {
    if (this.#ahead === undefined || this.#update !== undefined) return false;
    return this.#ahead.program === this.#parts?.replay.program;
  }

  /**
   * Loads the program that its records end with, for the time when this host leads. Rejects, like
   * the opening of any database, if that cannot be done.
   */
  warm(options: DatabaseOptions): Promise<void> {
    this.#loading ??= this.#load(options).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #load(options: DatabaseOptions): Promise<void> {
    const parts = this.#parts;
    if (parts === undefined || this.isWarm) return;
    if (this.#update === undefined) this.#forgetAhead();
    const { store, replay } = parts;
    const ahead = await loadAhead(options, store, this.#update?.program ?? replay.program);
    if (this.#parts === parts && this.#update?.program === ahead.program) {
      this.#update.ahead = ahead;
      this.#show(this.#settledOffset);
    } else if (this.#parts === parts && replay.program === ahead.program) {
      this.#forgetAhead();
      this.#ahead = ahead;
    } else ahead.loaded.runner.dispose();
  }

  #forgetAhead(): void {
    this.#endReader();
    this.#ahead?.loaded.runner.dispose();
    this.#ahead = undefined;
  }

  /** All rows of a table, encoded, one after another; `undefined`: there is no such table. */
  rowsOf(tableName: string): Uint8Array | undefined {
    this.#showAll();
    const table = this.#parts?.store.tableByName(tableName);
    if (table === undefined) return undefined;
    const refs = [...table.scan()].map((ref) => rowRef(ref));
    const bytes = new Uint8Array(refs.reduce((sum, ref) => sum + table.lengthOf(ref), 0));
    refs.reduce((at, ref) => at + table.copyRow(ref, bytes, at), 0);
    return bytes;
  }

  async sync(): Promise<void> {
    await this.#parts?.log.syncHere();
  }

  /** This host leads: what is appended to the log goes to `replicator`, behind what it has. */
  lead(replicator: LogReplicator, acknowledged: LogPoint): CommitLog {
    const { log, places } = present(this.#parts, 'who leads has a log');
    // What it has written itself behind the shared log is not acknowledged yet.
    this.#reader?.hold();
    this.#showAll();
    this.#left = this.#reader?.isEnded === false ? this.#reader.leave() : undefined;
    this.#reader = undefined;
    places.close();
    log.lead(replicator, acknowledged);
    this.#isLed = true;
    return log;
  }

  /**
   * The actor of a leader, once all that its log holds is acknowledged. `first`: the program of a
   * database without one. When this rejects, the copy is of no use any more.
   */
  async serve(options: DatabaseOptions, first: FirstProgram | undefined): Promise<Database> {
    const parts = present(this.#parts, 'who leads has a log');
    assert(this.#isLed, 'only a leader has an actor');
    try {
      await Promise.all([parts.log.sync(), this.#loading?.catch(() => undefined)]);
      const ahead = this.isWarm ? this.#ahead : undefined;
      this.#ahead = undefined;
      const core =
        first !== undefined && !this.hasProgram
          ? await createCore(options, first.program, first.createdMicros, parts.log)
          : await coreOfLog(options, parts, ahead, true);
      return new Database(this.#withConnections(core, options), options);
    } catch (error) {
      parts.log.abandon();
      throw error;
    }
  }

  /**
   * Connections go on with the actor where they were: what the last commits mean to them, all of
   * them acknowledged now, is handed over before it begins.
   */
  #withConnections(core: DatabaseCore, { owner }: DatabaseOptions): DatabaseCore {
    const left = this.#left;
    this.#left = undefined;
    if (left === undefined || left.core.connections.size === 0) return core;
    const { live, views, connections, program, store } = left.core;
    // Those that the leader has not let in, as far as its log says, are none.
    const known = new Set(connectedClients(core).map(({ connectionId }) => connectionId));
    for (const [id, { isReadOnly }] of connections) {
      if (known.has(id) || isReadOnly === true) continue;
      live.dropConnection(left.core, id, core.lastMicros);
      connections.delete(id);
    }
    const commits = live.takeCommits();
    owner.handOver({
      ...{ results: [], commits, own: left.own, offset: store.offset },
      ...{ write: writeNumber(0), isDurable: true, nextDueMicros: undefined },
    });
    return { ...core, live, views, connections, program };
  }

  /** Ends a copy that has no actor. */
  async close(): Promise<void> {
    this.#forgetAhead();
    if (this.#parts !== undefined) await this.#closeFiles();
    this.#parts = undefined;
  }

  async #open(): Promise<void> {
    const { disk } = this.#options;
    let replayed: ReplayedLog;
    try {
      replayed = await replayLog(this.#options, true);
    } catch (error) {
      // What cannot be replayed here cannot be when it is fetched again.
      const isUnread = error instanceof LogDamageError && error.cause === undefined;
      if (!isUnread) throw error;
      this.#refetches(await this.#drop(error.message));
      return;
    }
    const places = new LogPlaces(disk, replayed.log.salt);
    // Clients of the host that leads come to this one when that is lost.
    const kept = new KeptChanges();
    kept.begin(replayed.store.offset);
    this.#parts = { ...replayed, places, kept };
    this.#lastMicros = replayed.replay.lastMicros;
    const { statedPosition, damagedBytes } = replayed.log.found;
    this.#refetches(damagedBytes);
    const stated = Math.min(statedPosition, replayed.log.end.position);
    const point = stated === this.end.position ? this.end : places.pointAt(stated);
    this.#acknowledgedOffset = Math.max(this.#acknowledgedOffset, point?.offset ?? 0);
  }

  #refetches(bytes: number): void {
    this.#aside = { ...this.#aside, refetchedBytes: this.#aside.refetchedBytes + bytes };
  }

  /** True if the local log is that of a beginning. */
  #isOf({ segmentHeader }: Pick<Beginning, 'segmentHeader'>): boolean {
    const { disk } = this.#options;
    const first = segmentNames(disk)[0] ?? '';
    const found = withReader(disk, first, (reader) => readSegmentHeader(reader.header()));
    const wanted = readSegmentHeader(segmentHeader);
    return (
      found.kind === 'valid' &&
      wanted.kind === 'valid' &&
      found.header.epoch === wanted.header.epoch
    );
  }

  /** Keeps nothing of the local log but its files, under other names; returns their bytes. */
  async #drop(reason: string): Promise<number> {
    if (this.#parts !== undefined) await this.#closeFiles();
    this.#parts = undefined;
    const { files, bytes } = await setAllAside(this.#options.disk);
    const what = `The local log is fetched again from the shared one: ${reason}.`;
    this.#options.warn(`${what} What was there is kept as ${files.join(', ')}.`);
    return bytes;
  }

  async #closeFiles(): Promise<void> {
    const { log, places } = present(this.#parts, 'files of a log are open');
    this.#endReader();
    this.#behind = [];
    this.#update?.ahead?.loaded.runner.dispose();
    this.#update = undefined;
    this.#waitingBytes = 0;
    places.close();
    // Files that are cut must not have a sync under way, which keeps them open.
    await log.syncHere().catch(() => undefined);
    log.abandon();
  }
}

/** A publish whose program is being loaded. */
interface WaitingUpdate {
  readonly record: SchemaRecord;
  readonly program: ReplayedProgram;
  ahead: LoadedAhead | undefined;
}

/** What a new database begins with. */
export interface FirstProgram {
  readonly program: ProgramSource;
  readonly createdMicros: bigint;
}

const nowhere: LogPoint = { position: 0, chain: 0n, offset: 0 };

function offsetOf(record: CommitRecord): number {
  return record.kind === 'commit' ? record.changes.offset : record.offset;
}

function asideText({ files, firstOffset, lastOffset, reducers }: AsideRecords): string {
  const count = lastOffset - firstOffset + 1;
  const commits = count === 1 ? '1 commit' : `${count} commits`;
  const offsets = count <= 1 ? `offset ${firstOffset}` : `offsets ${firstOffset} to ${lastOffset}`;
  const what = count === 0 ? 'Records without a commit' : `${commits} (${offsets})`;
  const of = reducers.length === 0 ? '' : ` of ${reducers.join(', ')}`;
  return (
    `${what}${of} at the end of the local log were never acknowledged, and another host has led ` +
    `since: they were set aside as ${files.join(', ')}.`
  );
}
