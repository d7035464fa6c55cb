import { unreachable } from '../../assert.ts';
import type {
  CallError,
  ProcedureError,
  RefusalBody,
  ResumeOutcome,
  SqlError,
} from '../../database/outcome.ts';
import { TimeCounts, type TimeFigures } from '../../database/time-counts.ts';
import type { ExportError } from '../../database/transfer/export-ask.ts';
import type { ImportError } from '../../database/transfer/import-request.ts';
import type { DatabaseReply, DatabaseRequest } from '../../database/turn.ts';

const operations = ['call', 'sql', 'subscribe', 'procedure', 'handler'] as const;
const outcomes = ['ok', 'refused', 'failed'] as const;

/** `refused`: the caller has to change something. `failed`: the module, or the service, has to. */
type Outcome = (typeof outcomes)[number];

export interface AnswerFigures {
  readonly operation: (typeof operations)[number];
  readonly outcome: Outcome;
  readonly times: TimeFigures;
}

/**
 * Counts the answers of one database by request and outcome: how long they took, and why requests
 * failed. The kinds are those that this file names, whatever a database sends.
 */
export class AnswerCounts {
  readonly #times = operations.flatMap(() => outcomes.map(() => new TimeCounts()));
  readonly #resumes = { resumed: 0, rows: 0, rewound: 0 };
  readonly #codes = new Map(failures.map((code) => [code, 0]));

  /** Counts an answer and returns its slot for `took`; below zero: it has none. */
  note(kind: DatabaseRequest['kind'], reply: DatabaseReply): number {
    if (reply.kind === 'resumed') this.#resumed(reply.outcome);
    return this.noteCode(kind, codeOf(reply));
  }

  /** Counts an answer with this error code, or with none, and returns its slot as `note` does. */
  noteCode(kind: DatabaseRequest['kind'], code: string | undefined): number {
    const outcome = code === undefined ? 'ok' : this.refused(code);
    const operation = operationOf(kind);
    return operation < 0 ? operation : operation * outcomes.length + outcomes.indexOf(outcome);
  }

  /** Counts requests that got an error instead of what they asked for. */
  refused(code: string, count = 1): Outcome {
    const known = outcomeOfCode.has(code) ? code : 'other';
    this.#codes.set(known, (this.#codes.get(known) ?? 0) + count);
    return outcomeOf(known);
  }

  took(slot: number, millis: number): void {
    this.#times[slot]?.add(Math.max(0, millis));
  }

  /** Kinds of answers seen so far; those of successes are listed even with a count of zero. */
  answers(): AnswerFigures[] {
    return operations.flatMap((operation, row) =>
      outcomes.flatMap((outcome, column) => {
        const times = this.#times[row * outcomes.length + column]?.figures() ?? [];
        const isShown = outcome === 'ok' || times.some((count) => count > 0);
        return isShown ? [{ operation, outcome, times }] : [];
      }),
    );
  }

  /** Clients that came back, by what they got. */
  get resumes(): Readonly<Record<ResumeOutcome['kind'], number>> {
    return this.#resumes;
  }

  /** Who names no set has just come. A kind may be of a process that a module has taken over. */
  #resumed({ kind, sets }: ResumeOutcome): void {
    const isBack = kind !== 'resumed' || sets.length > 0;
    if (isBack && Object.hasOwn(this.#resumes, kind)) this.#resumes[kind] += 1;
  }

  /** Refusals by code; failures are listed even with a count of zero. */
  get refusals(): ReadonlyMap<string, number> {
    return this.#codes;
  }
}

/** Whether a slot that `note` returned is that of a call of a reducer, and not of a refused one. */
export function isOfServedCall(slot: number): boolean {
  return slot >= 0 && slot < outcomes.length && outcomes[slot] !== 'refused';
}

function operationOf(kind: DatabaseRequest['kind']): number {
  switch (kind) {
    case 'call':
      return operations.indexOf('call');
    case 'procedure':
      return operations.indexOf('procedure');
    case 'handler':
      return operations.indexOf('handler');
    case 'query':
    case 'oneOff':
      return operations.indexOf('sql');
    case 'subscribe':
      return operations.indexOf('subscribe');
    case 'preview':
    case 'tables':
    case 'watches':
    case 'schedules':
    case 'snapshot':
    case 'roll':
    case 'export':
    case 'import':
    case 'connect':
    case 'disconnect':
    case 'resume':
    case 'unsubscribe':
    case 'program':
    case 'update':
    case 'cancel':
      return -1;
    default:
      return unreachable(kind);
  }
}

function codeOf(reply: DatabaseReply): Code | undefined {
  switch (reply.kind) {
    case 'called':
      return reply.outcome.kind === 'aborted' ? reply.outcome.error.code : undefined;
    case 'procedure':
    case 'handler':
      return reply.outcome.kind === 'failed' ? reply.outcome.error.code : undefined;
    case 'queried':
      return reply.outcome.kind === 'failed' ? reply.outcome.error.code : undefined;
    case 'oneOff':
      return reply.outcome.kind === 'failed' ? 'query.refused' : undefined;
    case 'subscribed':
      return reply.outcome.kind === 'refused' ? 'subscription.refused' : undefined;
    case 'connected':
      return reply.refusal === undefined ? undefined : 'connection.refused';
    case 'exported':
    case 'imported':
      return reply.outcome.kind === 'failed' ? reply.outcome.error.code : undefined;
    case 'refused':
      return reply.body.code;
    case 'previewed':
    case 'tables':
    case 'watches':
    case 'schedules':
    case 'snapshot':
    case 'rolled':
    case 'disconnected':
    case 'outdated':
    case 'resumed':
    case 'unsubscribed':
    case 'reading':
    case 'program':
    case 'updated':
    case 'tried':
    case 'migrating':
    case 'cancelled':
      return undefined;
    default:
      return unreachable(reply);
  }
}

type Code =
  | CallError['code']
  | ProcedureError['code']
  | SqlError['code']
  | ExportError['code']
  | ImportError['code']
  | RefusalBody['code']
  | 'query.refused'
  | 'subscription.refused'
  | 'other';

/** A new code breaks the build here. */
const outcomesByCode: Readonly<Record<Code, Outcome>> = {
  'arguments.invalid': 'refused',
  'call.readOnly': 'refused',
  'connection.refused': 'refused',
  'procedure.busy': 'failed',
  'procedure.failed': 'failed',
  'procedure.overBudget': 'failed',
  'procedure.stopped': 'failed',
  'procedure.unknown': 'refused',
  'quota.exceeded': 'refused',
  'export.limited': 'refused',
  'export.noRows': 'refused',
  'export.noTable': 'refused',
  'export.stopped': 'failed',
  'export.tooMany': 'failed',
  'import.noKey': 'refused',
  'import.noTable': 'refused',
  'import.notEmpty': 'refused',
  'import.notImportable': 'refused',
  'import.overBudget': 'failed',
  'import.readOnly': 'refused',
  'import.refused': 'refused',
  'import.tooOld': 'refused',
  'reducer.crashed': 'failed',
  'reducer.notCallable': 'refused',
  'reducer.overBudget': 'failed',
  'reducer.refused': 'refused',
  'reducer.refusedWithValue': 'refused',
  'reducer.refusedWithoutValue': 'refused',
  'reducer.unknown': 'refused',
  'schema.changed': 'refused',
  'idempotency.invalid': 'refused',
  'idempotency.refused': 'refused',
  'idempotency.tooMany': 'refused',
  'query.refused': 'refused',
  'subscription.refused': 'refused',
  'sql.busy': 'failed',
  'sql.internal': 'failed',
  'sql.invalid': 'refused',
  'sql.noHistory': 'refused',
  'sql.noTable': 'refused',
  'sql.notAuthorized': 'refused',
  'sql.overBudget': 'failed',
  'sql.invalidParameter': 'refused',
  'database.broken': 'failed',
  'database.full': 'failed',
  'database.locked': 'refused',
  'database.notLeader': 'refused',
  'database.noLeader': 'failed',
  'database.noEngine': 'failed',
  'database.lost': 'failed',
  'database.opening': 'failed',
  'database.overloaded': 'failed',
  'database.stopped': 'failed',
  'database.unknown': 'refused',
  'durability.timeout': 'failed',
  'value.tooLong': 'failed',
  'caller.notAuthorized': 'refused',
  'caller.notOperator': 'refused',
  'creation.forbidden': 'refused',
  'databases.tooMany': 'refused',
  'grants.tooMany': 'refused',
  'init.failed': 'refused',
  'migration.breaksClients': 'refused',
  'migration.failed': 'refused',
  'migration.cancelled': 'refused',
  'migration.running': 'refused',
  'migration.refused': 'refused',
  'migration.invalidToken': 'refused',
  'name.invalid': 'refused',
  'name.notYours': 'refused',
  'name.taken': 'refused',
  'name.unknown': 'refused',
  'program.invalid': 'refused',
  'names.tooMany': 'refused',
  'publish.invalid': 'refused',
  'deploy.unknown': 'refused',
  'schedule.paused': 'refused',
  'env.missing': 'refused',
  'env.invalid': 'refused',
  'env.needed': 'refused',
  'env.unknown': 'refused',
  'history.off': 'refused',
  'history.invalid': 'refused',
  'history.busy': 'failed',
  'history.future': 'refused',
  'history.other': 'refused',
  'database.reset': 'refused',
  'job.unknown': 'refused',
  'backup.invalid': 'refused',
  'backup.unknownObject': 'refused',
  'restore.conflict': 'refused',
  'jobs.tooMany': 'failed',
  'jobs.tooManyOfOne': 'refused',
  'requests.tooManyOfOne': 'refused',
  'schedule.unknown': 'refused',
  'static.missing': 'refused',
  'token.limited': 'refused',
  'token.unknown': 'refused',
  other: 'refused',
};

/** Says who has to change something after this error, which is one of `AnswerCounts`. */
export function outcomeOf(code: string): Outcome {
  return outcomeOfCode.get(code) ?? 'refused';
}

/** A map: a code may come from a process that a module has taken over. */
const outcomeOfCode: ReadonlyMap<string, Outcome> = new Map(Object.entries(outcomesByCode));
const failures = Object.keys(outcomesByCode).filter((code) => outcomeOf(code) === 'failed');
