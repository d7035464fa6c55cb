import type { Clock } from '../../database/clock.ts';
import { Refusal } from '../../database/outcome.ts';
import type { SnapshotFigures } from '../../database/snapshots/snapshot-outcome.ts';
import { readPosition, type WrittenPosition } from '../../history/position.ts';
import type { HistorySettings } from '../../history/retention.ts';
import { limits } from '../../limits.ts';
import { positionText } from '../../log/position-text.ts';
import { atMost } from '../../node/at-most.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { Access } from '../registry/access.ts';
import type { AuditLog } from '../registry/audit-log.ts';
import type { DatabaseFiles } from '../registry/database-files.ts';
import type { DatabaseRecord } from '../registry/database-record.ts';
import {
  choiceFault,
  type HistoryChoice,
  type HistoryField,
  historyFields,
  historySettingNames,
  type OwnHistory,
  settingsInForce,
  shownValue,
} from '../registry/history-choice.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { Registry } from '../registry/registry.ts';
import type { HistoryAnswer, HistoryFacts, ShownRowHistory } from '../seats/history-task.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import { deferred } from '../supervision/deferred.ts';
import type { HistoryHolds, Holder } from './history-holds.ts';
import type { HistoryKeeper } from './history-keeper.ts';
import type { Jobs } from './jobs.ts';
import type { RunningDatabases } from './running-databases.ts';
import { VerifyTurns } from './verify-turns.ts';

export interface HistoryControlOptions {
  readonly registry: Registry;
  readonly access: Access;
  readonly audit: AuditLog;
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly holds: HistoryHolds;
  readonly keeper: HistoryKeeper;
  readonly files: Pick<DatabaseFiles, 'forgetReplaced' | 'replacedBytes'>;
  readonly running: Pick<RunningDatabases, 'entry'>;
  /** Runs work while no log of a database takes the place of another. */
  readonly turns: { readonly inHistoryTurn: HistoryTurn };
  /** What the operator has configured. */
  readonly configured: HistoryChoice;
  /** False: databases are in memory. */
  readonly isKept: boolean;
}

/** See `HistoryControlOptions`; work of one database, one after another. */
export type HistoryTurn = <Result>(
  database: DatabaseIdentity,
  work: () => Promise<Result>,
) => Promise<Result>;

type Target = DatabaseRecord & { readonly handle: DatabaseHandle };

/** What is kept of a database's past. */
export interface HistoryStatus {
  readonly offset: number;
  readonly durableOffset: number;
  readonly snapshots: SnapshotFigures;
  readonly facts: HistoryFacts;
  /** Bytes of the logs that restores in place have replaced. */
  readonly replacedBytes: number;
  readonly settings: HistorySettings;
  /** What was chosen for this database alone. */
  readonly own: OwnHistory;
}

interface ForgetWork {
  readonly by: HostCaller;
  readonly place: WrittenPosition;
  readonly signal: AbortSignal;
  readonly show: (phase: string) => void;
}

/** A row, by its primary key as people write it. */
export interface RowHistoryAsk {
  readonly table: string;
  readonly key: string;
  readonly changesMax: number;
}

/** New values of some fields; `undefined`: as the service says again. */
export type HistoryChange = ReadonlyMap<HistoryField, HistoryChoice>;

/** Shows, changes and deletes what is kept of databases' histories, and checks their files. */
export class HistoryControl {
  readonly #options: HistoryControlOptions;
  readonly #turns = new VerifyTurns();
  /** What others have asked for keeps no operator waiting. */
  readonly #operatorTurns = new VerifyTurns();
  readonly #rowTurns = new VerifyTurns();

  constructor(options: HistoryControlOptions) {
    this.#options = options;
  }

  /** False: databases are in memory, and have no history. */
  get isKept(): boolean {
    return this.#options.isKept;
  }

  settingsOf(database: DatabaseIdentity): HistorySettings {
    const { registry, configured } = this.#options;
    return settingsInForce(configured, registry.history.of(database));
  }

  async status(by: HostCaller, database: Target): Promise<HistoryStatus> {
    const { access, registry, files } = this.#options;
    access.require(by, database, 'viewHistory');
    const facts = await this.#facts(database);
    const { offset, durableOffset, snapshots } = database.handle.statistics();
    const settings = this.settingsOf(database.identity);
    const own = registry.history.of(database.identity);
    const replacedBytes = files.replacedBytes(database.identity);
    return { offset, durableOffset, snapshots, facts, replacedBytes, settings, own };
  }

  /** Refused with `history.setting` if it is more than the operator lets owners keep. */
  async change(by: HostCaller, database: Target, change: HistoryChange): Promise<HistorySettings> {
    const { registry, access, audit, configured } = this.#options;
    access.require(by, database, 'changeHistory');
    this.#requireHistory();
    const { identity } = database;
    const isOperator = access.isOperator(by);
    await registry.exclusively(async () => {
      const before = registry.history.of(identity);
      const isKept = (field: HistoryField) => !change.has(field);
      const kept = historyFields
        .filter((field) => isKept(field) && before.choice[field] !== undefined)
        .map((field) => [field, before.choice[field]]);
      const given: HistoryChoice = Object.assign({}, ...change.values());
      const fault = isOperator ? undefined : choiceFault(given, configured);
      if (fault !== undefined) throw new Refusal({ code: 'history.invalid', message: fault });
      const unbounded = [...before.unbounded.filter(isKept), ...(isOperator ? change.keys() : [])];
      const choice: HistoryChoice = { ...Object.fromEntries(kept), ...given };
      await registry.history.put(identity, { choice, unbounded });
    });
    const detail = Object.fromEntries(
      [...change].map(([field, choice]) => {
        const isDefault = choice[field] === undefined;
        return [historySettingNames[field], isDefault ? 'default' : shownValue(choice, field)];
      }),
    );
    const note = { action: 'change history settings', caller: by, database: identity } as const;
    await audit.note({ ...note, outcome: 'done', detail });
    return this.settingsOf(identity);
  }

  /**
   * Starts to delete what is older than a snapshot that is taken for it, whatever the settings say,
   * and the logs that restores in place have replaced, first: they may be what fills the disk.
   * Returns the id of the job, whose result says where the history begins then. It is recorded when
   * it starts, and again with what has become of it.
   */
  async forget(by: HostCaller, database: Target, before: string): Promise<string> {
    const { access, audit, jobs } = this.#options;
    const { identity, handle } = database;
    access.require(by, database, 'changeHistory');
    if (database.isLocked) {
      const message =
        'Database is locked and its history cannot be deleted. Run `reducerdb unlock` first.';
      throw new Refusal({ code: 'database.locked', message });
    }
    const place = placeIn(before);
    this.#isGone(place, await this.#facts(database), handle.statistics().durableOffset);
    let phase = 'waiting';
    const isNoted = deferred();
    const run = async (signal: AbortSignal): Promise<ForgetResult> => {
      await isNoted.promise;
      return this.#options.turns.inHistoryTurn(identity, () => {
        signal.throwIfAborted();
        const show = (next: string): void => {
          phase = next;
        };
        return this.#forgetInTurn(database, { by, place, signal, show });
      });
    };
    const note = { action: 'forget', caller: by, database: identity } as const;
    const job: string = jobs.start(by, {
      kind: 'forget',
      database: identity,
      run: async (signal) => {
        try {
          const result = await run(signal);
          const begin = { begins_at: result.begins_at };
          await audit.note({ ...note, outcome: 'done', detail: { job, before, ...begin } });
          return result;
        } catch (error) {
          const reason = signal.aborted ? 'it was cancelled' : reasonOf(error);
          await audit.note({ ...note, outcome: 'failed', detail: { job, before, reason } });
          throw error;
        }
      },
      progress: () => ({ phase, done: 0, total: 0 }),
    });
    await audit.note({ ...note, outcome: 'started', detail: { job, before } });
    isNoted.resolve();
    return job;
  }

  async #forgetInTurn(
    { identity, ...record }: DatabaseRecord,
    { by, place, signal, show }: ForgetWork,
  ): Promise<ForgetResult> {
    const { files, running, holds, keeper } = this.#options;
    // A restore may have replaced the log that it had.
    const { handle } = running.entry(identity);
    const facts = await this.#facts({ ...record, identity, handle });
    const isGone = this.#isGone(place, facts, handle.statistics().durableOffset);
    const replaced = await files.forgetReplaced(identity, Number.POSITIVE_INFINITY);
    if (isGone) return { ...forgotten(facts, 0), replaced };
    const isOperator = this.#options.access.isOperator(by);
    holds.dropForgotten(identity, isOperator);
    // Behind what somebody holds who takes their time, another snapshot would only take space.
    const end = handle.statistics().durableOffset;
    const isHeld = holds
      .holders(identity)
      .some(({ fromOffset, catchUp }) => fromOffset < end && catchUp === undefined);
    if (!isHeld) show('taking a snapshot');
    const offset = isHeld ? end : await this.#snapshot(handle, signal);
    show('waiting for those who need it');
    await this.#catchUp(identity, offset, signal);
    show('deleting');
    holds.dropForgotten(identity, isOperator);
    const settings = this.settingsOf(identity);
    // Those that count now: they go on while files are deleted.
    const holders = holds.holders(identity);
    const held = holders.map(({ by: who, fromOffset }) => ({ by: who, fromOffset }));
    const after = factsOf(await handle.history({ kind: 'forget', settings, holds: held }, signal));
    keeper.noted({ identity, handle }, after);
    if (this.#isGone(place, after, end))
      return { ...forgotten(after, after.floorOffset), replaced };
    return { ...forgotten(after, offset, holders), replaced };
  }

  async #snapshot(handle: DatabaseHandle, signal: AbortSignal): Promise<number> {
    // What is before the snapshot must be in files of its own, or it could not be deleted.
    const rolled = await handle.roll();
    if (rolled.kind === 'failed') throw new Error(rolled.message);
    return snapshotOffset(handle, signal);
  }

  /** Has those who can read it at once do so, within a bound of time. */
  async #catchUp(identity: DatabaseIdentity, offset: number, signal: AbortSignal): Promise<void> {
    const behind = this.#options.holds
      .holders(identity)
      .filter(({ fromOffset }) => fromOffset < offset);
    const caughtUp = behind.map(({ catchUp }) => catchUp?.());
    await atMost(
      limits.historyForgetWaitMillisMax,
      Promise.race([Promise.all(caughtUp), ended(signal)]),
    );
    signal.throwIfAborted();
  }

  /** Returns the id of the job that reads all files of the database and says which are damaged. */
  async verify(by: HostCaller, database: Target, isDeep: boolean): Promise<string> {
    const { access, audit, jobs } = this.#options;
    const { identity, handle } = database;
    access.require(by, database, 'maintain');
    this.#requireHistory();
    await handle.describe();
    let phase = 'waiting for its turn';
    const turns = access.isOperator(by) ? this.#operatorTurns : this.#turns;
    const job = jobs.start(by, {
      kind: 'verify',
      database: identity,
      run: async (signal) => {
        const end = await turns.take({ by: by.identity, isDeep, signal });
        phase = 'reading';
        const offset = handle.statistics().durableOffset;
        const task = { kind: 'verify', offset, isDeep } as const;
        const answer = await handle.history(task, signal).finally(end);
        if (answer.kind !== 'verified') throw new Error(faultOf(answer));
        const { findings } = answer;
        const damaged = findings.filter(({ state }) => state === 'damaged').length;
        return { offset, files: findings, damaged };
      },
      progress: () => ({ phase, done: 0, total: 0 }),
    });
    const note = { action: 'verify database', caller: by, database: identity } as const;
    await audit.note({ ...note, outcome: 'done', detail: { job } });
    return job;
  }

  /** Who changed a row, and how, the newest first. Throws `Refusal` if there is no such table. */
  async row(by: HostCaller, database: Target, ask: RowHistoryAsk): Promise<ShownRowHistory> {
    const { handle } = database;
    this.#options.access.require(by, database, 'viewHistory');
    this.#requireHistory();
    await handle.describe();
    const signal = AbortSignal.timeout(limits.rowHistoryMillisMax);
    try {
      const end = await this.#rowTurns.take({ by: by.identity, isDeep: false, signal });
      const { offset } = handle.statistics();
      const answer = await handle.history({ kind: 'row', ...ask, offset }, signal).finally(end);
      if (answer.kind === 'row') return answer.row;
      if (answer.kind === 'refused') throw invalid(answer.message);
      if (!signal.aborted) throw new Error(faultOf(answer));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    const seconds = limits.rowHistoryMillisMax / 1_000;
    const message =
      `reading the history takes too long (limit ${seconds} s); ` +
      'ask for fewer changes, or later';
    throw new Refusal({ code: 'history.busy', message });
  }

  async #facts({ identity, handle }: Target): Promise<HistoryFacts> {
    this.#requireHistory();
    // A closed database has no history that could be asked for.
    await handle.describe();
    const holds = this.#options.holds.of(identity);
    return factsOf(await handle.history({ kind: 'status', holds }));
  }

  /** Whether nothing up to there is left. Throws `Refusal` for a place outside of the history. */
  #isGone(before: WrittenPosition, facts: HistoryFacts, end: number): boolean {
    const { floorOffset, floorMicros } = facts;
    const now = this.#options.clock.nowMicros();
    switch (before.kind) {
      case 'time':
        return before.micros <= BigInt(floorMicros);
      case 'ago':
        return now - before.micros <= BigInt(floorMicros);
      case 'back':
        return end - before.commits <= floorOffset;
      case 'offset':
        requirePast(before.offset, end);
        return before.offset <= floorOffset;
      case 'position': {
        const { position } = before;
        const text = position.epoch.toString(16).padStart(16, '0');
        if (text !== facts.epoch) {
          const message =
            `position ${positionText(position)} belongs to another history of this database ` +
            `(epoch ${text}); it was restored or reset at offset ${facts.originOffset}`;
          throw new Refusal({ code: 'history.other', message });
        }
        requirePast(position.offset, end);
        return position.offset <= floorOffset;
      }
    }
  }

  /** The database is gone: nobody needs its history. */
  removed(database: DatabaseIdentity): void {
    this.#options.holds.forget(database);
  }

  #requireHistory(): void {
    if (!this.#options.isKept) throw historyOff();
  }
}

export function historyOff(): Refusal {
  const message = 'this service keeps databases in memory and has no history';
  return new Refusal({ code: 'history.off', message });
}

function invalid(message: string): Refusal {
  return new Refusal({ code: 'history.invalid', message });
}

function placeIn(text: string): WrittenPosition {
  const place = readPosition(text);
  if ('fault' in place) throw new Refusal({ code: 'history.invalid', message: place.fault });
  return place;
}

function requirePast(offset: number, end: number): void {
  if (offset <= end) return;
  const message = `offset ${offset} does not exist yet: the last commit is ${end}`;
  throw new Refusal({ code: 'history.future', message });
}

function factsOf(answer: HistoryAnswer): HistoryFacts {
  if (answer.kind === 'done') return answer.facts;
  throw new Error(faultOf(answer));
}

function faultOf(answer: HistoryAnswer): string {
  if (answer.kind === 'failed') return answer.message;
  return 'The database ended meanwhile; try again';
}

async function snapshotOffset(handle: DatabaseHandle, signal: AbortSignal): Promise<number> {
  const outcome = await handle.snapshot(signal);
  if (outcome.kind === 'taken' || outcome.kind === 'kept') return outcome.offset;
  throw new Error(outcome.kind === 'failed' ? outcome.message : 'The snapshot was not taken');
}

type ForgetResult = Readonly<Record<string, unknown>>;

/** `offset`: that of the snapshot at which the history was to begin; 0: it began late enough. */
function forgotten(
  facts: HistoryFacts,
  offset: number,
  holders: readonly Holder[] = [],
): ForgetResult {
  const { floorOffset, deleted, held, refused } = facts;
  if (refused !== undefined) throw new Error(refused);
  if (floorOffset >= offset) {
    return { forgotten: offset > 0, begins_at: floorOffset, files: offset > 0 ? deleted : 0, held };
  }
  const names = holders
    .filter(({ fromOffset }) => fromOffset < offset)
    .map(({ by, who, idleMillisLeft }) => {
      const whose = who === undefined ? by : `${by} of ${who}`;
      if (idleMillisLeft === undefined) return `${whose} still needs it, until it is up to date`;
      const seconds = Math.ceil(idleMillisLeft / 1_000);
      return `${whose} still needs it, until it ends, or ${seconds} s without progress`;
    });
  const reason = names.length === 0 ? 'the snapshot could not be relied on' : names.join('; ');
  const what =
    deleted === 0
      ? 'The history was not deleted'
      : `The history was deleted up to offset ${floorOffset}, and not further`;
  throw new Error(`${what}: ${reason}. Try again later`);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
