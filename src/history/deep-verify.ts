import type { Disk } from '../log/disk.ts';
import { LogDamageError, SnapshotDamageError } from '../log/log-error.ts';
import type { Lineage } from '../log/origin.ts';
import { withReader } from '../log/segment-reader.ts';
import type { SnapshotPlace } from '../log/snapshot.ts';
import { readOutline, readSnapshot } from '../log/snapshot-reader.ts';
import { emptyCatalog } from '../schema/build-catalog.ts';
import { encodeCatalog } from '../schema/catalog-codec.ts';
import { LaterVersionError } from '../schema/later-version.ts';
import { ReplayError } from '../store/replay.ts';
import { noRow } from '../store/row-ref.ts';
import { Store } from '../store/store.ts';
import type { Table } from '../store/table.ts';
import { DecodeError } from '../values/binary-reader.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { type FoundSnapshot, findFiles } from './files.ts';
import { SnapshotLoader } from './load-snapshot.ts';
import { readRecords } from './read-records.ts';
import { LogReplay } from './replay-log.ts';
import type { ReplayedProgram } from './replayed-program.ts';

/** A snapshot that is not what the log leads to, or a log that cannot be replayed. */
export interface DeepFault {
  /** The file: a snapshot, or a segment. */
  readonly name: string;
  readonly reason: string;
}

const laterText = 'a later version of reducerdb has written it';

/**
 * Replays a log that was verified: from its first commit, or from its oldest snapshot, to its end.
 * At the place of each further snapshot the two must be the same: the schema, the sequences, the
 * program, and every table, row by row; images of indexes must be those of its rows. Returns what
 * is not. Holds the database twice in memory.
 */
export function verifyDeeply(disk: Disk, identity: DatabaseIdentity): DeepFault[] {
  const { segments, snapshots, lineage } = findFiles(disk, identity);
  const [first] = segments;
  if (first === undefined) return [];
  const isWhole = first.sequence === 1;
  const base = isWhole ? undefined : snapshots[0];
  if (base === undefined && !isWhole) return [];
  const checks = base === undefined ? snapshots : snapshots.slice(1);
  return replay(disk, lineage, base, checks);
}

function replay(
  disk: Disk,
  lineage: Lineage,
  base: FoundSnapshot | undefined,
  checks: readonly FoundSnapshot[],
): DeepFault[] {
  const faults: DeepFault[] = [];
  const state = new State();
  const waiting = [...checks];
  let at = base?.position ?? 0;
  let file = base?.name ?? '';
  const checkReached = (): void => {
    while (waiting[0] !== undefined && waiting[0].position <= at) {
      const next = waiting.shift() as FoundSnapshot;
      const reason =
        next.position < at ? 'the log has no record there' : faultOf(disk, next, state);
      if (reason !== undefined) faults.push({ name: next.name, reason });
    }
  };
  try {
    if (base !== undefined) state.load(disk, base.name, lineage);
    readRecords(
      disk,
      lineage,
      { segment: base?.segment ?? 1, position: at },
      (record, end, name) => {
        checkReached();
        file = name;
        if (record !== undefined) state.replay.apply(record);
        at = end;
        return true;
      },
    );
    checkReached();
  } catch (error) {
    faults.push({ name: file, reason: reasonOf(error) });
    return faults;
  }
  for (const { name } of waiting) faults.push({ name, reason: 'the log ends before it' });
  return faults;
}

/** Tables, and the program that goes with them. */
class State {
  readonly store = new Store(emptyCatalog);
  /** Images of indexes that are of no use. */
  readonly faults: string[] = [];
  readonly #loader = new SnapshotLoader(this.store, (fault) => this.faults.push(fault));
  readonly replay = new LogReplay(this.store, this.#loader);

  load(disk: Disk, name: string, lineage: Pick<Lineage, 'identities'>): SnapshotPlace {
    return withReader(disk, name, (reader) => {
      const outline = readOutline(reader, ...lineage.identities);
      const sink = this.#loader.begin(outline.place, outline.tables);
      readSnapshot(reader, outline, (block) => sink.take(block));
      sink.commit();
      return outline.place;
    });
  }
}

/** Why a snapshot is not the state that the log leads to. */
function faultOf(disk: Disk, snapshot: FoundSnapshot, expected: State): string | undefined {
  const found = new State();
  try {
    found.load(disk, snapshot.name, { identities: [snapshot.place.databaseIdentity] });
  } catch (error) {
    return reasonOf(error);
  }
  if (found.store.offset !== expected.store.offset) return 'it is of another commit';
  if (!areSame(encodeCatalog(found.store.catalog), encodeCatalog(expected.store.catalog))) {
    return 'its schema is not the one to which the log leads';
  }
  if (!areSamePrograms(found.replay.program, expected.replay.program)) {
    return 'its program is not the one to which the log leads';
  }
  if (marksOf(found.store) !== marksOf(expected.store)) {
    return 'its sequences are not those to which the log leads';
  }
  for (const table of found.store.tables) {
    const other = expected.store.table(table.id);
    if (other === undefined || !haveSameRows(table, other)) {
      return `the rows of table ${table.spec.name} are not those to which the log leads`;
    }
    const index = table.derivedIndexes.find((one) => !one.isOfRows());
    if (index !== undefined) return `the index ${index.spec.name} is not that of its rows`;
  }
  if (found.faults.length > 0) return found.faults[0];
  return undefined;
}

/** Tables have no row twice, so as many rows, each with an equal one, are the same set. */
function haveSameRows(table: Table, other: Table): boolean {
  if (table.rowCount !== other.rowCount) return false;
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    const bytes = table.pageOf(ref);
    const at = table.offsetOf(ref);
    if (other.findRow(bytes, at, table.lengthOf(ref)) === noRow) return false;
  }
  return true;
}

function areSamePrograms(
  one: ReplayedProgram | undefined,
  other: ReplayedProgram | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.offset === other.offset &&
    one.source.kind === other.source.kind &&
    one.publishedMicros === other.publishedMicros &&
    areSame(one.source.bytes, other.source.bytes) &&
    areSame(one.described, other.described)
  );
}

function marksOf(store: Store): string {
  const marks = store.sequenceMarks().map(({ id, value }) => `${id}=${value}`);
  return marks.sort().join();
}

function areSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

function reasonOf(error: unknown): string {
  if (error instanceof LaterVersionError) return `${laterText}: ${error.message}`;
  const isKnown =
    error instanceof DecodeError ||
    error instanceof ReplayError ||
    error instanceof SnapshotDamageError ||
    error instanceof LogDamageError;
  if (isKnown) return error.message;
  throw error;
}
