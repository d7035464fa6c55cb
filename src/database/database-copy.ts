import { assert, present } from '../assert.ts';
import { CommitLog } from '../log/commit-log.ts';
import { acceptedMicrosOf } from '../log/decode-record.ts';
import { epoch } from '../log/epoch.ts';
import { LogDamageError } from '../log/log-error.ts';
import { LogPlaces } from '../log/log-places.ts';
import type { LogPoint } from '../log/log-point.ts';
import { isCommitRecord } from '../log/record.ts';
import { recordsIn } from '../log/records-in.ts';
import type { LogReplicator, LogWrite } from '../log/replicated-write.ts';
import { readSegmentHeader, segmentHeaderBytes, segmentName } from '../log/segment.ts';
import { segmentNames, withReader } from '../log/segment-reader.ts';
import { type AsideRecords, setAllAside, setAside } from '../log/set-aside.ts';
import type { Beginning } from '../shared-log/entry-payloads.ts';
import type { Replica } from '../shared-log/replica.ts';
import { rowRef } from '../store/row-ref.ts';
import { Database } from './database.ts';
import {
  coreOfLog,
  createCore,
  type DatabaseOptions,
  type LogSurroundings,
  type ReplayedLog,
  replayLog,
} from './open-database.ts';
import type { ProgramSource } from './program-source.ts';

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
 */
export class DatabaseCopy implements Replica {
  readonly #options: LogSurroundings;
  #parts: (ReplayedLog & { readonly places: LogPlaces }) | undefined;
  #acknowledgedOffset = 0;
  #lastMicros = 0n;
  #isLed = false;

  /** Reads the local log, as far as it can be read; what is missing comes from the shared one. */
  static async open(options: LogSurroundings): Promise<DatabaseCopy> {
    const copy = new DatabaseCopy(options);
    if (segmentNames(options.disk).length > 0) await copy.#open();
    return copy;
  }

  private constructor(options: LogSurroundings) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#parts === undefined;
  }

  /** True if its records have made a program, so that it can serve. */
  get hasProgram(): boolean {
    return this.#parts?.replay.program !== undefined;
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
      const first = segmentNames(disk)[0] ?? '';
      const found = withReader(disk, first, (reader) => readSegmentHeader(reader.header()));
      const wanted = readSegmentHeader(segmentHeader);
      const isSame =
        found.kind === 'valid' &&
        wanted.kind === 'valid' &&
        found.header.epoch === wanted.header.epoch;
      if (isSame) return;
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
    const first = present(segmentNames(disk)[0], 'a log that was made has a segment');
    const segmentHeader = withReader(disk, first, (reader) => reader.header().slice());
    assert(segmentHeader.length === segmentHeaderBytes, 'a segment has a whole header');
    return { segmentHeader, owner, generation, origin: new Uint8Array(0) };
  }

  chainAt(position: number): bigint | undefined {
    const { end } = this;
    if (this.#parts === undefined) return undefined;
    if (position === end.position) return end.chain;
    return this.#parts.places.pointAt(position)?.chain;
  }

  async apply(write: LogWrite): Promise<void> {
    const { replay, log } = present(this.#parts, 'records follow the beginning of a log');
    for (const record of recordsIn(write.records)) {
      replay.apply(record);
      if (!isCommitRecord(record)) continue;
      const micros = BigInt(acceptedMicrosOf(record.inputs));
      if (micros > this.#lastMicros) this.#lastMicros = micros;
    }
    log.follow(write, this.#lastMicros);
  }

  async setAside(point: LogPoint): Promise<void> {
    const { log } = present(this.#parts, 'only a log is cut');
    const { end, salt } = log;
    await this.#closeFiles();
    const aside = await setAside(this.#options.disk, salt, point, end);
    this.#options.warn(asideText(aside));
    await this.#open();
  }

  writesBehind(point: LogPoint): readonly LogWrite[] {
    const { places, log } = present(this.#parts, 'what is written is in a log');
    return [...places.writes(point, log.end)];
  }

  /** All rows of a table, encoded, one after another; `undefined`: there is no such table. */
  rowsOf(tableName: string): Uint8Array | undefined {
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
      await parts.log.sync();
      const core =
        first !== undefined && !this.hasProgram
          ? await createCore(options, first.program, first.createdMicros, parts.log)
          : await coreOfLog(options, parts);
      return new Database(core, options);
    } catch (error) {
      parts.log.abandon();
      throw error;
    }
  }

  /** Ends a copy that has no actor. */
  async close(): Promise<void> {
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
      await this.#drop(error.message);
      return;
    }
    const places = new LogPlaces(disk, replayed.log.salt);
    this.#parts = { ...replayed, places };
    this.#lastMicros = replayed.replay.lastMicros;
    const stated = Math.min(replayed.log.statedPosition, replayed.log.end.position);
    const point = stated === this.end.position ? this.end : places.pointAt(stated);
    this.#acknowledgedOffset = Math.max(this.#acknowledgedOffset, point?.offset ?? 0);
  }

  /** Keeps nothing of the local log but its files, under other names. */
  async #drop(reason: string): Promise<void> {
    if (this.#parts !== undefined) await this.#closeFiles();
    this.#parts = undefined;
    const files = await setAllAside(this.#options.disk);
    const what = `The local log is fetched again from the shared one: ${reason}.`;
    this.#options.warn(`${what} What was there is kept as ${files.join(', ')}.`);
  }

  async #closeFiles(): Promise<void> {
    const { log, places } = present(this.#parts, 'files of a log are open');
    places.close();
    // Files that are cut must not have a sync under way, which keeps them open.
    await log.syncHere().catch(() => undefined);
    log.abandon();
  }
}

/** What a new database begins with. */
export interface FirstProgram {
  readonly program: ProgramSource;
  readonly createdMicros: bigint;
}

const nowhere: LogPoint = { position: 0, chain: 0n, offset: 0 };

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
