import { existsSync } from 'node:fs';
import { DiskError } from '../../log/disk.ts';
import { LogDamageError } from '../../log/log-error.ts';
import { LogPlaces } from '../../log/log-places.ts';
import { chainOf, type LogPoint } from '../../log/log-point.ts';
import { readOrigin } from '../../log/origin.ts';
import type { LogWrite } from '../../log/replicated-write.ts';
import { segmentHeaderBytes, segmentSequence } from '../../log/segment.ts';
import { segmentNames, withReader } from '../../log/segment-reader.ts';
import { type WalkedLog, walkLog } from '../../log/walk.ts';
import { MachineDisk } from '../../node/disk.ts';
import type { Beginning } from '../../shared-log/entry-payloads.ts';
import type { ImportedLog } from '../../shared-log/import-log.ts';
import type { RegisteredDatabase } from '../registry/registry-rows.ts';

/** A log cannot be read from its first commit to its last; the message says why, and what to do. */
export class NotWholeError extends Error {
  override readonly name = 'NotWholeError';
}

/** The whole log of a database that nobody has open, packed segments included. */
export class WholeLog implements ImportedLog {
  readonly beginning: Beginning;
  readonly end: LogPoint;
  readonly #places: LogPlaces;

  /** Reads and checks it, and changes nothing. Throws `NotWholeError`. */
  static open(
    directory: string,
    database: Pick<RegisteredDatabase, 'identity' | 'owner' | 'generation'>,
  ): WholeLog {
    if (!existsSync(directory))
      throw new NotWholeError(`${directory} is not there. ${verifyFirst}`);
    const disk = new MachineDisk(directory);
    try {
      return new WholeLog(disk, database, walked(disk, database));
    } catch (error) {
      const isExpected = error instanceof LogDamageError || error instanceof DiskError;
      if (!isExpected) throw error;
      throw new NotWholeError(`${error.message}. ${verifyFirst}`, { cause: error });
    }
  }

  private constructor(
    disk: MachineDisk,
    { owner, generation }: Pick<RegisteredDatabase, 'owner' | 'generation'>,
    { salt, position, chainLow, chainHigh, offset }: WalkedLog,
  ) {
    const [first = ''] = segmentNames(disk);
    const segmentHeader = withReader(disk, first, (reader) => reader.header().slice());
    if (segmentHeader.length < segmentHeaderBytes) throw new NotWholeError(oldHeaderText);
    this.beginning = { segmentHeader, owner, generation, origin: new Uint8Array(0) };
    this.end = { position, chain: chainOf(chainLow, chainHigh), offset };
    this.#places = new LogPlaces(disk, salt);
  }

  chainAt(position: number): bigint | undefined {
    if (position === this.end.position) return this.end.chain;
    return this.#places.pointAt(position)?.chain;
  }

  writesBehind(point: LogPoint): Iterable<LogWrite> {
    return this.#places.writes(point, this.end);
  }

  close(): void {
    this.#places.close();
  }
}

function walked(disk: MachineDisk, { identity }: Pick<RegisteredDatabase, 'identity'>): WalkedLog {
  if (readOrigin(disk) !== undefined) throw new NotWholeError(originText);
  const [first] = segmentNames(disk);
  if (first !== undefined && segmentSequence(first) !== 1) throw new NotWholeError(floorText);
  const found = walkLog(disk, { databaseIdentity: identity, onRecord: () => undefined });
  if (found.kind === 'log' && found.log.offset > 0) return found.log;
  throw new NotWholeError(`its log holds no commit. ${verifyFirst}`);
}

const verifyFirst = 'Find out more with `reducerdb verify`, and restore it from a backup';

const rowsText =
  'Bring its rows along instead: start this folder alone, save them with `reducerdb export`, ' +
  'publish its module to the cluster, load them there with `reducerdb import`, and delete the ' +
  'database here';

const originText = `its log begins as that of another one, from which it was restored. ${rowsText}`;
const floorText = `the beginning of its log was deleted, as its retention says. ${rowsText}`;
const oldHeaderText = `its log was begun by an early version. ${rowsText}`;
