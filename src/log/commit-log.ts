import { AssertionError, assert, unreachable } from '../assert.ts';
import { limits } from '../limits.ts';
import type { ChangeSet, SequenceMark } from '../store/change-set.ts';
import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { laterBigMicros } from './commit-time.ts';
import { type Disk, DiskError, type DiskFile, isCut } from './disk.ts';
import { RecordEncoder } from './encode-record.ts';
import type { Epoch } from './epoch.ts';
import { goneBytes } from './gone-bytes.ts';
import { LogBrokenError } from './log-error.ts';
import type { LogOptions, LogPlace } from './log-options.ts';
import { chainHalves, chainOf, type LogPoint } from './log-point.ts';
import { closedState, type LogState, notOpenError } from './log-state.ts';
import { MarkKeeper } from './mark-keeper.ts';
import type { CommitInputs, MigratedTables, SchemaChange } from './record.ts';
import { recordKinds, type StagedRows } from './record.ts';
import { RecordBuffer } from './record-buffer.ts';
import { createSegment, type RecoveredLog, recoverLog } from './recover.ts';
import type { LogReplicator, LogWrite } from './replicated-write.ts';
import { reserveAhead } from './reserve-ahead.ts';
import {
  encodeSegmentHeader,
  hasRunsIn,
  readSegmentHeader,
  type SegmentHeader,
  segmentHeaderBytes,
} from './segment.ts';
import type { SnapshotPlace } from './snapshot.ts';
import { SyncRuns } from './sync-runs.ts';

/**
 * The commit log of one database, open for appending.
 *
 * ```
 *  append…()  ──▶ buffer ── write() ──▶ operating system ── sync() ──▶ disk
 *  offset                                                              durableOffset
 * ```
 *
 * `append…` costs no I/O. `write` hands over everything appended as one piece; after it a killed
 * process loses nothing. `sync` makes it durable; appends and writes can continue while it runs,
 * and what is written after it began waits for the next one. States: see `log-state.ts`.
 */
export class CommitLog {
  readonly #disk: Disk;
  readonly #databaseIdentity: DatabaseIdentity;
  readonly #salt: number;
  readonly epoch: Epoch;
  readonly #segmentBytes: number;
  readonly #buffer: RecordBuffer;
  readonly #encoder = new RecordEncoder();
  /** Bytes of records that were not on the disk any more when the log was opened. */
  readonly goneBytes: number;
  /** What was found when it was opened. */
  readonly found: Pick<RecoveredLog, 'statedPosition' | 'damagedBytes'>;
  readonly #place: { kind: number; offset: number; durablePosition: number; salt: number };
  #state: LogState = { kind: 'open' };
  readonly #syncs = new SyncRuns({
    written: () => this.#writtenPosition,
    isDone: () => this.#writtenPosition === this.#syncedPosition && !this.#isDirectoryDirty,
    isDirectoryDue: () => this.#isDirectoryDirty,
    check: () => this.#checkOpen(),
    run: () => this.#sync(),
  });
  readonly #isMember: boolean;
  /** Takes what is written while this host leads. */
  #replicator: LogReplicator | undefined;

  #file: DiskFile;
  #sequence: number;
  /** Position in the file of the next write, and the end of the reserved space. */
  #end: number;
  #reserved: number;

  /** Offset and log position of the last append, of the last write, and of the durable end. */
  #offset: number;
  #position: number;
  /** T of the last commit appended, and of the last written. */
  #lastMicros: bigint;
  #writtenLastMicros: bigint;
  #writtenOffset: number;
  #writtenPosition: number;
  #durableOffset: CommitOffset;
  #durablePosition: number;
  /** Up to where this disk has everything: the durable end, but for members. */
  #syncedPosition: number;
  #syncedOffset: number;
  /** Chain hash at `#writtenPosition`, for the header of a segment that starts there. */
  #writtenChainLow: number;
  #writtenChainHigh: number;

  /** Finished segments, to be synced a last time and closed. */
  #leftFiles: DiskFile[] = [];
  readonly #mark: MarkKeeper;
  readonly #hasMark: boolean;
  /** Whether the active segment, and the next write, may have records of migrations. */
  #hasRuns: boolean;
  #needsRun = false;
  #isDirectoryDirty = false;

  /** Recovers the log of `disk`, or creates one; see `recoverLog`. */
  static async open(disk: Disk, options: LogOptions): Promise<CommitLog> {
    const acceptsLoss = options.isMember === true;
    return new CommitLog(disk, options, await recoverLog(disk, { ...options, acceptsLoss }));
  }

  private constructor(disk: Disk, options: LogOptions, recovered: RecoveredLog) {
    this.#disk = disk;
    this.#databaseIdentity = options.databaseIdentity;
    this.#segmentBytes = options.segmentBytes ?? limits.segmentBytes;
    this.#salt = recovered.salt;
    this.epoch = recovered.epoch;
    if (options.isReadOnly === true) this.#state = { kind: 'readOnly' };
    this.#isMember = options.isMember === true;
    this.#hasMark = recovered.mark !== undefined;
    this.#mark = new MarkKeeper({
      disk,
      mark: recovered.mark,
      later: options.later ?? ((work) => work()),
      isOpen: () => this.#state.kind === 'open',
      file: () => this.#file,
      durableEnd: () => ({ position: this.#syncedPosition, offset: this.#syncedOffset }),
      broken: (cause) => this.#break(cause),
    });
    this.#buffer = new RecordBuffer(recovered.chainLow, recovered.chainHigh);
    this.#file = recovered.file;
    this.#sequence = recovered.sequence;
    this.#hasRuns = hasRunsIn(recovered.file);
    this.#end = recovered.end;
    this.#reserved = recovered.file.size();
    const { sequence, position, end, statedPosition, damagedBytes } = recovered;
    this.goneBytes = goneBytes(disk, { sequence, position: position - end + segmentHeaderBytes });
    this.found = { statedPosition, damagedBytes };
    this.#offset = recovered.offset;
    this.#position = recovered.position;
    this.#lastMicros = recovered.lastMicros;
    this.#writtenLastMicros = recovered.lastMicros;
    this.#writtenOffset = recovered.offset;
    this.#writtenPosition = recovered.position;
    this.#writtenChainLow = recovered.chainLow;
    this.#writtenChainHigh = recovered.chainHigh;
    this.#durableOffset = commitOffset(recovered.offset);
    this.#durablePosition = recovered.position;
    this.#syncedPosition = recovered.position;
    this.#syncedOffset = recovered.offset;
    this.#place = { kind: 0, offset: 0, durablePosition: 0, salt: recovered.salt };
  }

  /** Offset of the last commit appended. */
  get offset(): CommitOffset {
    return commitOffset(this.#offset);
  }

  /** Every commit up to and including this one survives any crash. */
  get durableOffset(): CommitOffset {
    return this.#durableOffset;
  }

  /** Log position up to which every record survives any crash. */
  get durablePosition(): number {
    return this.#durablePosition;
  }

  /** The number of the segment that is written to. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Bytes of all records that were ever appended. */
  get bytes(): number {
    return this.#position;
  }

  /** The place of a snapshot that is begun now, with all that was appended, and must be written. */
  snapshotPlace(begunMicros: bigint): SnapshotPlace {
    assert(!this.hasUnwritten, 'a snapshot is of what was written');
    return {
      databaseIdentity: this.#databaseIdentity,
      epoch: this.epoch,
      offset: commitOffset(this.#writtenOffset),
      position: this.#writtenPosition,
      chainLow: this.#writtenChainLow,
      chainHigh: this.#writtenChainHigh,
      lastMicros: this.#writtenLastMicros,
      begunMicros,
      segment: this.#sequence,
    };
  }

  /**
   * Seals the active segment, unless it has no record yet: the log goes on in a new one, and no
   * file in front of that is written again. Everything that was appended must have been written.
   * Resolves with the end of the sealed files once they are durable, and everything in them.
   * Rejects with a `DiskError` when there is no space for the new one; the log stays as it is.
   */
  async roll(): Promise<LogPlace> {
    this.#checkOpen();
    assert(!this.hasUnwritten, 'a segment is sealed behind what was written');
    try {
      if (this.#end > segmentHeaderBytes) this.#startSegment();
    } catch (error) {
      if (!(error instanceof DiskError && error.isForSpace)) throw this.#break(error);
      this.#reserved = this.#file.size();
      throw error;
    }
    const { begunMicros: _, ...place } = this.snapshotPlace(0n);
    await this.sync();
    return place;
  }

  /** Where everything that was written ends. */
  get end(): LogPoint {
    const chain = chainOf(this.#writtenChainLow, this.#writtenChainHigh);
    return { position: this.#writtenPosition, chain, offset: this.#writtenOffset };
  }

  get salt(): number {
    return this.#salt;
  }

  /** True while nothing may be appended: too much waits for the shared log. */
  get isFull(): boolean {
    return this.#replicator?.isFull === true;
  }

  /** This host leads: what is appended from now on goes to `replicator`, too. */
  lead(replicator: LogReplicator, acknowledged: LogPoint): void {
    assert(this.#isMember, 'only the log of a member is replicated');
    this.#replicator = replicator;
    this.#durable(acknowledged.position, acknowledged.offset);
  }

  /**
   * Writes what the log of the leader has written, byte for byte; `lastMicros` is the latest T in
   * it, or before.
   */
  follow({ records, end, segment }: LogWrite, lastMicros: bigint): void {
    this.#checkOpen();
    assert(this.#isMember && this.#replicator === undefined, 'a member follows, or leads');
    assert(end.position === this.#position + records.length, 'a write continues the log');
    try {
      this.#disk.checkWriter?.(false);
      if (segment !== undefined) this.#followSegment(segment);
      const to = this.#end + records.length;
      if (to > this.#reserved) {
        this.#reserved = reserveAhead(this.#file, this.#reserved, to, this.#segmentBytes);
      }
      this.#file.write(records, this.#end);
      this.#end = to;
    } catch (error) {
      throw this.#break(error);
    }
    const { low, high } = chainHalves(end.chain);
    this.#buffer.chainLow = low;
    this.#buffer.chainHigh = high;
    this.#offset = end.offset;
    this.#position = end.position;
    this.#lastMicros = lastMicros;
    this.#wrote();
  }

  #followSegment(bytes: Uint8Array): void {
    const reading = readSegmentHeader(bytes);
    assert(reading.kind === 'valid', 'a leader begins segments with valid headers');
    const { header } = reading;
    // The border is here already, from a term of this host.
    if (header.sequence <= this.#sequence) return;
    assert(header.sequence === this.#sequence + 1, 'segments are numbered without a gap');
    this.#continueIn(header);
  }

  /** True after a failure; see `LogBrokenError`. */
  get isBroken(): boolean {
    return this.#state.kind === 'broken';
  }

  /** True if something was appended since the last `write`. */
  get hasUnwritten(): boolean {
    return this.#buffer.length > 0;
  }

  /** Appends the changes of one transaction; its offset is the next one. The bytes are copied. */
  appendCommit(changes: ChangeSet, inputs: CommitInputs): void {
    this.#checkOpen();
    this.#checkNext(changes.offset);
    this.#encoder.commit(this.#buffer, changes, inputs);
    this.#append(recordKinds.commit, changes.offset);
    this.#lastMicros = laterBigMicros(this.#lastMicros, inputs.timestampMicros);
  }

  /**
   * Appends a schema change and the rows of the same transaction as one record, so that after a
   * crash all of it exists or none.
   */
  appendSchema(
    offset: CommitOffset,
    schema: SchemaChange,
    changes: ChangeSet | undefined,
    inputs: CommitInputs,
    migration?: MigratedTables,
  ): void {
    this.#checkOpen();
    this.#checkNext(offset);
    assert(changes === undefined || changes.offset === offset, 'one transaction has one offset');
    this.#encoder.schema(this.#buffer, schema, { changes, inputs, migration });
    this.#needsRun ||= migration !== undefined;
    this.#append(migration === undefined ? recordKinds.schema : recordKinds.migration, offset);
    this.#lastMicros = laterBigMicros(this.#lastMicros, inputs.timestampMicros);
  }

  /** Appends rows of a migration that is under way; takes no offset. The bytes are copied. */
  appendStaged(staged: StagedRows): void {
    this.#checkOpen();
    this.#encoder.staged(this.#buffer, staged);
    this.#needsRun = true;
    this.#append(recordKinds.staged, this.#offset);
  }

  /** Appends sequence values that were consumed without a commit; takes no offset. */
  appendMarks(sequences: readonly SequenceMark[]): void {
    this.#checkOpen();
    this.#encoder.marks(this.#buffer, sequences);
    this.#append(recordKinds.marks, this.#offset);
  }

  /** Hands everything appended to the operating system. */
  write(): void {
    this.#checkOpen();
    const length = this.#buffer.length;
    if (length === 0) return;
    try {
      this.#disk.checkWriter?.(false);
      const isEmpty = this.#end === segmentHeaderBytes;
      const isFull = !isEmpty && this.#end + length > this.#segmentBytes;
      if (isFull || (this.#needsRun && !this.#hasRuns)) this.#startSegment();
      const end = this.#end + length;
      this.#reserved = reserveAhead(this.#file, this.#reserved, end, this.#segmentBytes);
      this.#file.write(this.#buffer.bytes(), this.#end);
    } catch (error) {
      throw this.#break(error);
    }
    this.#needsRun = false;
    this.#end += length;
    this.#wrote();
    if (this.#replicator !== undefined) this.#send(this.#replicator, this.#buffer.bytes().slice());
    this.#buffer.clear();
  }

  /** Everything appended was written. */
  #wrote(): void {
    this.#writtenOffset = this.#offset;
    this.#writtenPosition = this.#position;
    this.#writtenLastMicros = this.#lastMicros;
    this.#writtenChainLow = this.#buffer.chainLow;
    this.#writtenChainHigh = this.#buffer.chainHigh;
  }

  /**
   * Makes everything written durable synchronously, if nothing else is under way and that is faster
   * than `sync`. Returns false if it did not.
   */
  syncAtOnce(): boolean {
    this.#checkOpen();
    const isBusy = this.#syncs.running !== undefined || this.#leftFiles.length > 0;
    if (isBusy || this.#isDirectoryDirty || this.#isMember) return false;
    try {
      if (!this.#file.syncAtOnce()) return false;
      this.#disk.checkWriter?.(false);
    } catch (error) {
      throw this.#break(error);
    }
    this.#durable(this.#writtenPosition, this.#writtenOffset);
    this.#syncedPosition = this.#writtenPosition;
    this.#syncedOffset = this.#writtenOffset;
    this.#mark.soon();
    this.#checkOpen();
    return true;
  }

  /**
   * Writes, and resolves when everything appended before the call is durable. Syncs run one at a
   * time; calls made while one runs share the next.
   */
  sync(): Promise<void> {
    try {
      this.write();
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#replicator === undefined ? this.syncHere() : this.#acknowledged(this.#replicator);
  }

  /** Like `sync`, but for this disk alone, and for what was written. */
  syncHere(): Promise<void> {
    return this.#syncs.sync();
  }

  /**
   * Makes everything durable, records that in the log and beside it, and closes the files. A broken
   * log only closes its files.
   */
  async close(): Promise<void> {
    if (this.#state.kind === 'closed') return;
    try {
      if (this.#state.kind === 'open') {
        await this.sync();
        if (!this.#isMember) {
          this.#buffer.begin(0);
          this.#append(recordKinds.stop, this.#offset);
          await this.sync();
        }
        this.#mark.write();
        this.#checkOpen();
        await this.#mark.sync();
      }
    } finally {
      // Closing a file during a sync could let another file reuse its number.
      await this.#syncs.settled();
      this.#state = closedState(this.#state);
      this.#closeFiles();
    }
  }

  /** Closes the files as they are. Records appended but not written are dropped. */
  abandon(): void {
    if (this.#state.kind === 'closed') return;
    this.#state = closedState(this.#state);
    const running = this.#syncs.running;
    // Closing a file during a sync could let another file reuse its number.
    if (running === undefined) this.#closeFiles();
    else running.catch(() => undefined).then(() => this.#closeFiles());
  }

  /**
   * Replaces `abandon` for a log that is broken for lack of space: cuts off everything appended
   * since the last successful write, durably. Resolves with true when none of it is left, with
   * false when some may be. Rejects when a sync has failed, now or before.
   */
  async takeBack(): Promise<boolean> {
    const state = this.#state;
    assert(
      state.kind === 'broken' && state.failure.isForSpace,
      'only a log without space takes back',
    );
    try {
      // During a sync, a closed file's number could be reused, and a cut file could grow again.
      await this.#syncs.settled();
      if (state.syncFailure !== undefined) throw state.syncFailure;
      // Data that another service has written behind it must not be cut.
      this.#disk.checkWriter?.(true);
      if (!isCut(this.#file, this.#end)) return false;
      await this.#file.sync();
      return true;
    } finally {
      this.#state = closedState(this.#state);
      this.#closeFiles();
    }
  }

  #closeFiles(): void {
    for (const file of [...this.#leftFiles, this.#file]) file.close();
    this.#mark.close();
    this.#leftFiles = [];
  }

  #append(kind: number, offset: number): void {
    const place = this.#place;
    place.kind = kind;
    place.offset = offset;
    place.durablePosition = this.#durablePosition;
    this.#position += this.#buffer.end(place);
    this.#offset = offset;
  }

  async #sync(): Promise<void> {
    const offset = this.#writtenOffset;
    const position = this.#writtenPosition;
    const file = this.#file;
    const isDirectoryDirty = this.#isDirectoryDirty;
    const hasLeft = this.#leftFiles.length > 0;
    this.#isDirectoryDirty = false;
    try {
      // Segments finished while this runs are behind these in the list and wait for the next sync.
      for (let count = this.#leftFiles.length; count > 0; count--) {
        await this.#leftFiles[0]?.sync();
        this.#leftFiles.shift()?.close();
      }
      await file.sync();
      if (isDirectoryDirty) await this.#disk.syncDirectory();
      // A service that has taken the log over meanwhile may not have seen the data this made
      // durable.
      this.#disk.checkWriter?.(false);
    } catch (error) {
      const failure = this.#break(error);
      this.#noteFailedSync(error);
      throw failure;
    } finally {
      this.#syncs.ended();
    }
    this.#checkOpen();
    this.#syncedPosition = position;
    this.#syncedOffset = offset;
    if (!this.#isMember) this.#durable(position, offset);
    if (hasLeft) this.#markRotation();
    else this.#mark.soon();
    this.#checkOpen();
  }

  /** Makes the end of a segment durable in the mark; no one waits for it. */
  #markRotation(): void {
    this.#mark.write();
    // A failure shows at the next use of the log.
    this.#mark.sync().catch(() => undefined);
  }

  /** Finishes the segment, cut to its records, and continues in a new one. */
  #startSegment(): void {
    const header: SegmentHeader = {
      salt: this.#salt,
      databaseIdentity: this.#databaseIdentity,
      sequence: this.#sequence + 1,
      firstOffset: this.#writtenOffset + 1,
      position: this.#writtenPosition,
      durablePosition: this.#durablePosition,
      chainLow: this.#writtenChainLow,
      chainHigh: this.#writtenChainHigh,
      epoch: this.epoch,
      lastMicros: this.#writtenLastMicros,
      hasMark: this.#hasMark,
      isAfterOrigin: false,
      hasRuns: this.#needsRun,
    };
    this.#continueIn(header);
    const nothing = new Uint8Array(0);
    if (this.#replicator) this.#send(this.#replicator, nothing, encodeSegmentHeader(header));
  }

  #continueIn(header: SegmentHeader): void {
    this.#disk.checkWriter?.(true);
    this.#file.truncate(this.#end);
    const next = createSegment(this.#disk, header);
    this.#leftFiles.push(this.#file);
    this.#isDirectoryDirty = true;
    this.#file = next;
    this.#sequence = header.sequence;
    this.#hasRuns = header.hasRuns;
    this.#end = segmentHeaderBytes;
    this.#reserved = segmentHeaderBytes;
  }

  #send(replicator: LogReplicator, records: Uint8Array, segment?: Uint8Array): void {
    replicator.write({ records, end: this.end, segment });
  }

  async #acknowledged(replicator: LogReplicator): Promise<void> {
    const { position, offset } = this.end;
    await replicator.sync();
    this.#checkOpen();
    if (position > this.#durablePosition) this.#durable(position, offset);
  }

  #durable(position: number, offset: number): void {
    this.#durableOffset = commitOffset(offset);
    this.#durablePosition = position;
  }

  #checkNext(offset: number): void {
    // Not `assert`: its message would be built for every record.
    if (offset !== this.#offset + 1) {
      throw new AssertionError(`offset ${offset} appended after ${this.#offset}`);
    }
  }

  #checkOpen(): void {
    if (this.#state.kind !== 'open') throw notOpenError(this.#state);
  }

  #break(cause: unknown): LogBrokenError {
    const state = this.#state;
    switch (state.kind) {
      case 'open': {
        const failure = new LogBrokenError(cause);
        this.#state = { kind: 'broken', failure, syncFailure: undefined };
        return failure;
      }
      case 'broken':
        return state.failure;
      case 'readOnly':
        throw notOpenError(state);
      case 'closed':
        return state.failure ?? new LogBrokenError(cause);
      default:
        return unreachable(state);
    }
  }

  #noteFailedSync(error: unknown): void {
    if (this.#state.kind === 'broken') this.#state.syncFailure ??= error;
  }
}
