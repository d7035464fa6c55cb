import { LogPlaces } from '../log/log-places.ts';
import { chainOf, type LogPoint } from '../log/log-point.ts';
import type { LogWrite } from '../log/replicated-write.ts';
import { readSegmentHeader } from '../log/segment.ts';
import { segmentNames, withReader } from '../log/segment-reader.ts';
import { type WalkedLog, walkLog } from '../log/walk.ts';
import { MachineDisk } from '../node/disk.ts';
import type { Beginning } from '../shared-log/entry-payloads.ts';
import type { ImportedLog } from '../shared-log/import-log.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

/** The local log of a member, as far as it can be read, also while a copy writes to it. */
export class MemberLog implements ImportedLog {
  readonly beginning: Beginning;
  /** Where its first record begins. */
  readonly start: LogPoint;
  readonly end: LogPoint;
  readonly #places: LogPlaces;

  /** `undefined`: there is none. Throws `LogDamageError`, or `DiskError`. */
  static open(
    directory: string,
    database: Pick<Beginning, 'owner' | 'generation'> & { readonly identity: DatabaseIdentity },
  ): MemberLog | undefined {
    const disk = new MachineDisk(directory);
    const { identity: databaseIdentity } = database;
    const reading = { databaseIdentity, onRecord: () => undefined, fromFloor: true };
    const found = walkLog(disk, { ...reading, acceptsLoss: true });
    return found.kind === 'log' ? new MemberLog(disk, database, found.log) : undefined;
  }

  private constructor(
    disk: MachineDisk,
    { owner, generation }: Pick<Beginning, 'owner' | 'generation'>,
    { salt, position, chainLow, chainHigh, offset }: WalkedLog,
  ) {
    const [first = ''] = segmentNames(disk);
    const segmentHeader = withReader(disk, first, (reader) => reader.header().slice());
    const reading = readSegmentHeader(segmentHeader);
    if (reading.kind !== 'valid') throw new Error(`${first} was read before`);
    const { header } = reading;
    this.start = {
      position: header.position,
      chain: chainOf(header.chainLow, header.chainHigh),
      offset: header.firstOffset - 1,
    };
    this.beginning = { segmentHeader, owner, generation, origin: new Uint8Array(0) };
    this.end = { position, chain: chainOf(chainLow, chainHigh), offset };
    this.#places = new LogPlaces(disk, salt);
  }

  chainAt(position: number): bigint | undefined {
    if (position === this.end.position) return this.end.chain;
    return position > this.end.position ? undefined : this.#places.pointAt(position)?.chain;
  }

  writesBehind(point: LogPoint): Iterable<LogWrite> {
    return this.#places.writes(point, this.end);
  }

  close(): void {
    this.#places.close();
  }
}
