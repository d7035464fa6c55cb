import { existsSync, readFileSync, statSync } from 'node:fs';
import { limits } from '../../limits.ts';
import { removeFileDurably, writeFileAtomically } from '../../node/atomic-file.ts';
import type { Report } from '../../node/report-line.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { DatabaseFiles } from '../registry/database-files.ts';
import type { RestFacts } from '../supervision/rest.ts';

/**
 * Files beside the logs of databases that sleep, so that the next start of the service leaves them
 * asleep and knows when to wake them. A log is the truth: a mark that is not of this log, as it is
 * now, counts for nothing. It is gone, durably, before anything can be written to the log again.
 */
export class SleepMarks {
  readonly #files: Pick<DatabaseFiles, 'sleepMark' | 'logExtent'>;
  readonly #report: Report;
  /** Databases that may have a mark, with what is done to it. */
  readonly #known = new Map<DatabaseIdentity, Promise<void>>();

  constructor(files: Pick<DatabaseFiles, 'sleepMark' | 'logExtent'>, report: Report) {
    this.#files = files;
    this.#report = report;
  }

  /** Facts of a database that was asleep when the service ended. */
  read(identity: DatabaseIdentity, generation: number): RestFacts | undefined {
    const file = this.#files.sleepMark(identity);
    if (file === undefined || !existsSync(file)) return undefined;
    this.#known.set(identity, Promise.resolve());
    const bytes = this.#files.logExtent(identity, generation)?.bytes;
    const mark = readMark(file);
    if (mark === undefined || mark.generation !== generation || mark.bytes !== bytes) {
      return undefined;
    }
    return mark.facts;
  }

  /** Notes that a database sleeps. Without a mark, the next start does not know. */
  write(identity: DatabaseIdentity, generation: number, facts: RestFacts): void {
    const file = this.#files.sleepMark(identity);
    const bytes = this.#files.logExtent(identity, generation)?.bytes;
    if (file === undefined || bytes === undefined) return;
    const text = markText({ generation, bytes, facts });
    this.#do(identity, 'written', () => writeFileAtomically(file, text));
  }

  /** Removes the mark; `undefined`: there is none. */
  remove(identity: DatabaseIdentity): Promise<void> | undefined {
    const file = this.#files.sleepMark(identity);
    if (file === undefined || !this.#known.has(identity)) return undefined;
    const done = this.#do(identity, 'removed', () => removeFileDurably(file));
    return done.finally(() => {
      if (this.#known.get(identity) === done) this.#known.delete(identity);
    });
  }

  /** Resolves when nothing is being done to marks. */
  async settled(): Promise<void> {
    await Promise.all(this.#known.values());
  }

  /** One thing after another. */
  #do(identity: DatabaseIdentity, what: string, work: () => Promise<void>): Promise<void> {
    const before = this.#known.get(identity) ?? Promise.resolve();
    const done = before.then(work).catch((error: unknown) => {
      const database = identityToHex(identity);
      const problem = `the mark of its sleep was not ${what}: ${String(error)}`;
      const message = `Database ${database}: ${problem}`;
      this.#report({ level: 'warn', message, about: { database } });
    });
    this.#known.set(identity, done);
    return done;
  }
}

interface Mark {
  readonly generation: number;
  /** Bytes of the segments of the log. */
  readonly bytes: number;
  readonly facts: RestFacts;
}

const version = 1;

function markText({ generation, bytes, facts }: Mark): string {
  const { offset, nextDueMicros, used, openMillis } = facts;
  const due = nextDueMicros === undefined ? null : String(nextDueMicros);
  const mark = { version, generation, bytes, offset, due, used, openMillis: Math.ceil(openMillis) };
  return `${JSON.stringify(mark)}\n`;
}

/** What cannot be read counts as none. */
function readMark(file: string): Mark | undefined {
  try {
    if (statSync(file).size > limits.sleepMarkBytesMax) return undefined;
    const mark: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof mark === 'object' && mark !== null ? markOf({ ...mark }) : undefined;
  } catch {
    return undefined;
  }
}

function markOf(given: Readonly<Record<string, unknown>>): Mark | undefined {
  const { used } = given;
  if (given.version !== version || typeof used !== 'object' || used === null) return undefined;
  const { rowBytes, logBytes, programBytes }: Readonly<Record<string, unknown>> = { ...used };
  const { generation, bytes, offset, openMillis, due } = given;
  const isDue = due === null || (typeof due === 'string' && /^-?\d{1,19}$/.test(due));
  if (!isDue) return undefined;
  if (!isCount(generation) || !isCount(bytes) || !isCount(offset)) return undefined;
  if (!isCount(rowBytes) || !isCount(logBytes) || !isCount(programBytes)) return undefined;
  if (!isCount(openMillis)) return undefined;
  const nextDueMicros = due === null ? undefined : BigInt(due);
  const facts = { offset, nextDueMicros, used: { rowBytes, logBytes, programBytes }, openMillis };
  return { generation, bytes, facts };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
