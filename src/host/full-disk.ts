import { Refusal } from '../database/outcome.ts';
import { bytesText } from '../database/storage-quota.ts';
import { limits } from '../limits.ts';
import type { ReportOfDatabase } from './end-line.ts';
import type { SeatEnd, SeatMode } from './seat.ts';

/** The disk of a database; `node/folder-space.ts` is one of a folder. */
export interface Space {
  readonly folder: string;
  freeBytes(): number | undefined;
  has(bytes: number): boolean;
}

export interface FullDiskOptions {
  /** Absent: nobody can say how much there is, so it is tried again and again. */
  readonly space?: Space | undefined;
  readonly report: ReportOfDatabase;
}

/**
 * Whether a database finds space on its disk:
 *
 * ```
 *  roomy ──noticed──▶ full     an actor has ended for want of space
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

  /** Why nothing can be written, in words for callers; `undefined`: it can. */
  get text(): string | undefined {
    return this.#text;
  }

  /** Whether an actor has ended for want of space, and another one can still read what is there. */
  canBeRead({ cause }: SeatEnd, mode: SeatMode, wasServing: boolean): boolean {
    if (cause !== 'full' || isReading(mode)) return false;
    return wasServing || mode.kind !== 'create';
  }

  /** Why there is no database, where it could not be made for want of space. */
  refusalOf({ cause, message }: Pick<SeatEnd, 'cause' | 'message'>): Refusal | undefined {
    if (cause !== 'full') return undefined;
    const text = `The database was not created: ${this.#placeText(message)}`;
    return new Refusal({ code: 'database.full', message: `${text}. Free some, then try again` });
  }

  /** Returns the words for callers. */
  noticed({ message }: SeatEnd): string {
    const text = this.#textOf(message);
    if (this.#text === undefined) {
      const about = { reason: 'full', next: 'reopens' };
      this.#options.report('warn', `is read-only: ${this.#placeText(message)}`, about);
    }
    this.#text = text;
    this.#timer ??= setInterval(() => this.#look(), limits.spaceLookMillis).unref();
    return text;
  }

  /** An actor serves, maybe to read only. */
  opened(mode: SeatMode): void {
    if (isReading(mode)) return;
    if (this.#text !== undefined) {
      this.#options.report('info', 'accepts writes again: there is space on its disk');
    }
    this.stop();
  }

  /** Nobody looks for space any more. */
  stop(): void {
    this.#text = undefined;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const { space } = this.#options;
    if (space === undefined || space.has(limits.spaceBytesMin)) this.#hasRoom();
  }

  #textOf(message: string): string {
    return (
      `The database is read-only: ${this.#placeText(message)}. Nothing was changed. Reads go on, ` +
      'and writes are accepted again within seconds once there is space; no restart is needed'
    );
  }

  #placeText(message: string): string {
    const { space } = this.#options;
    const free = space?.freeBytes();
    const where = space === undefined ? 'its disk' : `the disk of ${space.folder}`;
    const left = free === undefined ? '' : ` (${bytesText(free)} free)`;
    const quota = message.includes('EDQUOT');
    return quota ? `the quota on ${where} is used up${left}` : `${where} is full${left}`;
  }
}

/** Of an actor that is to read only. */
function isReading(mode: SeatMode): boolean {
  return mode.kind === 'open' && mode.full !== undefined;
}
