import { limits } from '../../limits.ts';
import type { SnapshotBlock, SnapshotPlace } from '../../log/snapshot.ts';
import { encodeCatalog } from '../../schema/catalog-codec.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import type { SnapshotPins } from '../../store/snapshot-pins.ts';
import type { DatabaseCore } from '../core.ts';
import type { Program } from '../program.ts';
import type { Ticket } from '../ticket.ts';
import type { ScanTarget } from './scan-target.ts';
import { SnapshotCredit } from './snapshot-credit.ts';
import type { SnapshotFile } from './snapshot-desk.ts';
import { SnapshotScan } from './snapshot-scan.ts';

/** The parts of a database that a snapshot is made of. */
export interface SnapshotSource extends Pick<DatabaseCore, 'clock' | 'log' | 'store'> {
  readonly program: Pick<Program, 'source' | 'described' | 'publishedMicros' | 'schemaVersion'>;
}

/**
 * A snapshot from the moment at which all tables are pinned to the last block:
 *
 * ```
 *  pins ─▶ schema, program, marks, rows: blocks ─▶ file      finish: once the log is durable
 * ```
 */
export class RunningSnapshot implements ScanTarget {
  readonly place: SnapshotPlace;
  readonly program: SnapshotSource['program'];
  readonly rowCount: number;
  /** Those who have asked for it. */
  readonly tickets: Set<Ticket>;
  readonly startedAt: number;
  /** Time that it took from the turns. */
  costMillis = 0;
  readonly #source: SnapshotSource;
  readonly #file: SnapshotFile;
  readonly #pins: SnapshotPins;
  readonly #scan: SnapshotScan;
  readonly #credit: SnapshotCredit;
  readonly #head: Iterator<SnapshotBlock>;
  #isHeadDone = false;
  #isRead = false;
  #isFinished = false;
  #onTheWay = 0;
  #buffers: ArrayBuffer[] = [];
  #heldSeenAt = Number.NEGATIVE_INFINITY;
  #heldBytes = 0;

  /** Between turns, when all records are written. */
  constructor(source: SnapshotSource, file: SnapshotFile, tickets: Set<Ticket>, heldMin: number) {
    const { clock, log, store, program } = source;
    this.startedAt = clock.monotonicMillis();
    this.#source = source;
    this.#file = file;
    this.tickets = tickets;
    this.program = program;
    this.place = log.snapshotPlace(clock.nowMicros());
    this.#pins = store.pinAll(heldMin);
    this.rowCount = this.#pins.tables.reduce((sum, { rowCount }) => sum + rowCount, 0);
    this.#head = headOf(source);
    this.#credit = new SnapshotCredit(this.startedAt);
    this.#scan = new SnapshotScan(this.#pins, this, () => clock.monotonicMillis());
    file.begin(this.place);
    this.costMillis = clock.monotonicMillis() - this.startedAt;
  }

  get hasRoom(): boolean {
    return this.#onTheWay < limits.snapshotBlocksMax;
  }

  get rowsRead(): number {
    return this.#scan.rowCount;
  }

  /** As of the last look. */
  get heldBytes(): number {
    return this.#isRead ? 0 : this.#heldBytes;
  }

  /** True until all blocks were added. */
  get isReading(): boolean {
    return !this.#isRead;
  }

  /** Why it cannot go on; looks at the memory at most once in a millisecond. */
  faultAt(now: number): string | undefined {
    if (this.#isRead) return undefined;
    if (this.#pins.revokedFor !== undefined) return this.#pins.revokedFor;
    if (now - this.#heldSeenAt >= 1) {
      this.#heldSeenAt = now;
      this.#heldBytes = this.#pins.heldBytes;
    }
    if (this.#heldBytes <= this.#pins.heldBytesMax) return undefined;
    return `more than ${this.#pins.heldBytesMax} bytes of rows that changed meanwhile were kept`;
  }

  /** Length of the slice that a database with requests can give now; 0: none. */
  sliceAt(now: number): number {
    this.#credit.pass(now, this.#share, !this.hasRoom);
    return this.hasRoom ? this.#credit.slice : 0;
  }

  /** Time until there is one. */
  get millisToSlice(): number {
    return this.#credit.missing(this.#share);
  }

  /** Runs a slice of about so many milliseconds. */
  read(millis: number): void {
    const { clock } = this.#source;
    const startedAt = clock.monotonicMillis();
    const end = startedAt + millis;
    while (!this.#isHeadDone && this.hasRoom && clock.monotonicMillis() < end) this.#addHead();
    // Images are worth less than the snapshot.
    if (this.#isPressed) this.#scan.dropImages();
    if (this.#isHeadDone) this.#isRead = this.#scan.readUntil(end) === 'done';
    const took = clock.monotonicMillis() - startedAt;
    this.costMillis += took;
    this.#credit.spend(took);
  }

  /** Ends the file if the log is durable up to its place; true when that was done now. */
  tryToFinish(): boolean {
    const { log } = this.#source;
    if (!this.#isRead || this.#isFinished) return false;
    if (log.durablePosition < this.place.position) return false;
    this.#isFinished = true;
    this.#file.finish();
    return true;
  }

  /** True if `tryToFinish` would do something. */
  get canFinish(): boolean {
    const isDurable = this.#source.log.durablePosition >= this.place.position;
    return this.#isRead && !this.#isFinished && isDurable;
  }

  add(rows: SnapshotBlock): void {
    this.#onTheWay++;
    this.#file.add(rows);
  }

  taken(buffer: ArrayBuffer | undefined): void {
    this.#onTheWay--;
    if (buffer?.byteLength === limits.snapshotBlockBytes) this.#buffers.push(buffer);
  }

  takeBuffer(): ArrayBuffer | undefined {
    return this.#buffers.pop();
  }

  /** Releases the memory; the file is somebody else's matter. */
  release(): void {
    this.#pins.release();
    this.#buffers = [];
  }

  cancel(): void {
    this.release();
    this.#file.cancel();
  }

  #addHead(): void {
    const next = this.#head.next();
    if (next.done === true) this.#isHeadDone = true;
    else this.add(next.value);
  }

  /** Whether half of the memory that may be held is. */
  get #isPressed(): boolean {
    return this.#heldBytes > this.#pins.heldBytesMax / 2;
  }

  get #share(): number {
    return this.#isPressed ? limits.snapshotHurryShareMax : limits.snapshotShareMax;
  }
}

/** What comes before the rows, as of now. The program is copied piece by piece. */
function headOf({ program, store }: SnapshotSource): Iterator<SnapshotBlock> {
  const { source, described, publishedMicros, schemaVersion } = program;
  const schema: SnapshotBlock = {
    kind: 'schema',
    schema: {
      programKind: source.kind,
      catalog: encodeCatalog(store.catalog),
      definition: described.slice(),
      programBytes: source.bytes.length,
      publishedMicros,
      offset: commitOffset(schemaVersion),
    },
  };
  const marks: SnapshotBlock = { kind: 'marks', sequences: store.sequenceMarks() };
  return blocksOf(schema, source.bytes, marks);
}

function* blocksOf(
  schema: SnapshotBlock,
  program: Uint8Array,
  marks: SnapshotBlock,
): Generator<SnapshotBlock, void, void> {
  yield schema;
  for (let at = 0; at < program.length; at += limits.snapshotBlockBytes) {
    // A copy, because its buffer changes owner. `slice` of a Node buffer would not copy.
    const piece = program.subarray(at, at + limits.snapshotBlockBytes);
    yield { kind: 'program', bytes: new Uint8Array(piece) };
  }
  yield marks;
}
