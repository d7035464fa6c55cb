import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { noSpaceTextForCallers } from '../../node/folder-space.ts';
import { bytesText } from '../../values/bytes-text.ts';
import type { ReportOfDatabase } from '../seats/end-line.ts';
import type { SeatEnd, SeatMode } from '../seats/seat.ts';

/** The disk of a database; `node/folder-space.ts` is one of a folder. */
export interface Space {
  readonly folder: string;
  freeBytes(): number | undefined;
  has(bytes: number): boolean;
}

export interface FullDiskOptions {
  /** Absent: the free space is unknown, so writing is tried again and again. */
  readonly space?: Space | undefined;
  readonly report: ReportOfDatabase;
}

/**
 * Tracks whether a database finds space on its disk:
 *
 * ```
 *  roomy ──noticed──▶ full     an actor has ended for lack of space
 *  full ──opened──▶ roomy      another one, which may write, serves
 * ```
 *
 * While it is full, a timer looks for space.
 */
export class FullDisk {
  readonly #options: FullDiskOptions;
  readonly #hasRoom: () => void;
  #text: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `hasRoom` is called each second while there is space that no actor has used yet. */
  constructor(options: FullDiskOptions, hasRoom: () => void) {
    this.#options = options;
    this.#hasRoom = hasRoom;
  }

  /** The reason why nothing can be written, as a text for callers; `undefined`: writing works. */
  get text(): string | undefined {
    return this.#text;
  }

  /** Whether an actor has ended for lack of space, and another one can still read the data. */
  canBeRead({ cause }: SeatEnd, mode: SeatMode, wasServing: boolean): boolean {
    if (cause !== 'full' || isReading(mode)) return false;
    return wasServing || mode.kind !== 'create';
  }

  /** Notes that an actor has ended for lack of space. Returns the text for callers. */
  noticed({ message }: SeatEnd): string {
    const text = readOnlyText(message);
    if (this.#text === undefined) {
      const about = { reason: 'full', next: 'reopens' };
      this.#options.report('warn', `is read-only: ${this.#placeText(message)}`, about);
    }
    this.#text = text;
    this.#timer ??= setInterval(() => this.#look(), limits.spaceLookMillis).unref();
    return text;
  }

  /** Notes that an actor serves, perhaps only to read. */
  opened(mode: SeatMode): void {
    if (isReading(mode)) return;
    if (this.#text !== undefined) {
      this.#options.report('info', 'accepts writes again: there is space on its disk');
    }
    this.stop();
  }

  /** Stops looking for space. */
  stop(): void {
    this.#text = undefined;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const { space } = this.#options;
    if (space === undefined || space.has(limits.spaceBytesMin)) this.#hasRoom();
  }

  /** Text for the operator alone: where the data is, and how much space is free. */
  #placeText(message: string): string {
    const { space } = this.#options;
    const free = space?.freeBytes();
    const where = space === undefined ? 'its disk' : `the disk of ${space.folder}`;
    const left = free === undefined ? '' : ` (${bytesText(free)} free)`;
    const text = isOfQuota(message) ? `the quota on ${where} is used up` : `${where} is full`;
    return text + left;
  }
}

/** The refusal to create a database; `message` is that of the system. */
export function noSpaceRefusal(message: string): Refusal {
  const text = `The database was not created: ${shortText(message)}. Try again once there is space`;
  return new Refusal({ code: 'database.full', message: text });
}

function readOnlyText(message: string): string {
  return (
    `The database is read-only: ${shortText(message)}. Nothing was changed. Reads continue, and ` +
    'writes are accepted again within seconds once there is space; no restart is needed'
  );
}

function shortText(message: string): string {
  return noSpaceTextForCallers(isOfQuota(message));
}

function isOfQuota(message: string): boolean {
  return message.includes('EDQUOT');
}

/** True for an actor that only reads. */
function isReading(mode: SeatMode): boolean {
  return mode.kind === 'open' && mode.full !== undefined;
}
