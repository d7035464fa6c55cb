import type { LogPoint } from '../log/log-point.ts';
import type { LogWrite } from '../log/replicated-write.ts';
import { runAppend } from './append-run.ts';
import { beginningEntry, createLog } from './create-log.ts';
import { encodeEntry, entryKinds } from './entry.ts';
import { type Beginning, encodeLead, type Lead } from './entry-payloads.ts';
import { fetchLog } from './fetch-log.ts';
import { bootId } from './host-ids.ts';
import type { LogName } from './log-name.ts';
import { draftsOf, type RecordsDraft, writeBytes } from './log-write.ts';
import type { SharedLog } from './shared-log.ts';
import type { Tail } from './tail.ts';

/** The log of a single machine, all of whose records are durable there. */
export interface ImportedLog {
  readonly beginning: Beginning;
  readonly end: LogPoint;
  /** The chain hash in front of the record at `position`, or at the end; else `undefined`. */
  chainAt(position: number): bigint | undefined;
  /** The records behind `point`, which is a border of records, as writes. */
  writesBehind(point: LogPoint): Iterable<LogWrite>;
}

export interface ImportLogOptions {
  readonly sharedLog: SharedLog;
  readonly log: LogName;
  readonly source: ImportedLog;
  /** Who imports, by a boot that nobody leads with afterwards. */
  readonly me: Lead;
  /** The process that leads afterwards, and is given the term; absent: the host that claims it. */
  readonly next?: Lead | undefined;
  readonly entryBytesMax: number;
  readonly pause: (millis: number) => Promise<void>;
  /** Called with the log position up to which the shared log has everything. */
  readonly onPosition?: ((position: number) => void) | undefined;
}

/** The log cannot be imported; the message goes on behind the name of its database. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
}

/**
 * Makes the log of a single machine a shared one: entry 0, and all of its records, the bytes as
 * they are. What an interrupted import has stored is compared and stays. Rejects with `ImportError`
 * if the engine has another log of that name, and with `EngineError`.
 */
export async function importLog(options: ImportLogOptions): Promise<void> {
  await create(options);
  const tail = await stored(options);
  const { source, onPosition } = options;
  onPosition?.(tail.point.position);
  if (tail.term > 0 && tail.point.position === source.end.position) return;
  await new Import(options, tail).run();
}

async function create({ sharedLog, log, source, pause }: ImportLogOptions): Promise<void> {
  // The same bytes for anyone who imports it: two of the same folder begin the same log.
  const bytes = beginningEntry(source.beginning, bootId(0n));
  const made = await createLog(sharedLog, log, bytes, { pause, isStopped: () => false });
  if (made === 'exists') throw new ImportError('the engine has another log of this database');
}

/** What is in the engine, which is what the log of the single machine begins with. */
function stored({ sharedLog, log, source }: ImportLogOptions): Promise<Tail> {
  return fetchLog(sharedLog, log, {
    begin: async () => undefined,
    apply: async ({ end }) => {
      if (source.chainAt(end.position) === end.chain) return;
      throw new ImportError(`the engine has another log of this database, at offset ${end.offset}`);
    },
  });
}

/**
 * Appends the records of `source` behind the place of `tail`, in a term of its own, which nobody
 * leads afterwards. `restart`: the payload of an entry in front of them from which the log can be
 * read on; returns its seq. Rejects with `ImportError` if another host writes, or the log is not
 * what the tail says.
 */
export function continueLog(
  options: ImportLogOptions,
  tail: Tail,
  restart?: Uint8Array,
): Promise<number | undefined> {
  return new Import(options, tail).run(restart);
}

class Import {
  readonly #options: ImportLogOptions;
  readonly #tail: Tail;
  readonly #term: number;

  constructor(options: ImportLogOptions, tail: Tail) {
    this.#options = options;
    this.#tail = tail;
    this.#term = tail.term + 1;
  }

  async run(restart?: Uint8Array): Promise<number | undefined> {
    const { me, source, entryBytesMax, next } = this.#options;
    await this.#append({ kind: entryKinds.term, payload: encodeLead(me) });
    const seq = restart && this.#tail.next;
    if (restart !== undefined) await this.#append({ kind: entryKinds.restart, payload: restart });
    let gathered: LogWrite[] = [];
    let bytes = 0;
    let from = this.#tail.point;
    const flush = async (): Promise<void> => {
      for (const draft of draftsOf(gathered, from, entryBytesMax)) await this.#append(draft);
      from = gathered.at(-1)?.end ?? from;
      gathered = [];
      bytes = 0;
    };
    for (const write of source.writesBehind(from)) {
      if (bytes + writeBytes(write) > entryBytesMax) await flush();
      gathered.push(write);
      bytes += writeBytes(write);
    }
    await flush();
    // Being stored settles all before it.
    if (next === undefined) await this.#append(nothing);
    else await this.#append({ kind: entryKinds.term, payload: encodeLead(next), given: true });
    return seq;
  }

  async #append(made: Made): Promise<void> {
    const { sharedLog, log, pause, onPosition } = this.#options;
    const { next: seq, point, last: previous } = this.#tail;
    const end = made.end ?? point;
    const entry = { seq, bytes: this.#encoded(seq, made, point) };
    // Entries of records can be settled by one behind them, where the log is after them.
    const emptyAt = (at: number): Uint8Array => this.#encoded(at, nothing, end);
    const pace = { pause, isStopped: () => false };
    const after = made.given === true ? undefined : emptyAt;
    const outcome = await runAppend(sharedLog, { log, entry, previous, emptyAt: after }, pace);
    // Who was given the term settles what was only seen.
    if (outcome.kind === 'seen') return;
    if (outcome.kind !== 'stored') throw new ImportError(overtakenText);
    for (const one of outcome.entries) {
      const step = this.#tail.accept(one);
      if (step.kind !== 'fault') continue;
      throw new ImportError(`its log contradicts itself: ${step.fault.reason}`);
    }
    onPosition?.(this.#tail.point.position);
  }

  #encoded(seq: number, made: Made, from: LogPoint): Uint8Array {
    const { kind, payload, startsSegment = false, end = from } = made;
    const term = made.given === true ? this.#term + 1 : this.#term;
    return encodeEntry({
      ...{ kind, payload, startsSegment, seq, term, boot: this.#options.me.boot },
      ...{ position: from.position, chain: from.chain, acknowledged: from.offset },
      ...{ offset: end.offset, chainAfter: end.chain },
    });
  }
}

type Made = Pick<RecordsDraft, 'kind' | 'payload'> &
  Partial<RecordsDraft> & {
    /** It gives the next term to another process. */
    readonly given?: true;
  };

const nothing: Made = { kind: entryKinds.empty, payload: new Uint8Array(0) };

const overtakenText =
  'another process writes to its log in the cluster: import a folder at one host alone';
