import { assert } from '../../assert.ts';
import type { DatabaseDescription } from '../../database/description.ts';
import { Refusal, updateFailure } from '../../database/outcome.ts';
import type { ProgramSource, UpdatePermission } from '../../database/program-source.ts';
import type { TrialReport } from '../../database/trial-report.ts';
import type { DatabaseReply, UpdateRequest } from '../../database/turn.ts';
import type { UpdateOutcome } from './database-handle.ts';

export interface SubmittedUpdate {
  readonly reply: Promise<DatabaseReply>;
  /** Resolves when the effects of the reply are durable. */
  readonly durable: () => Promise<void>;
  /** Describes the database once it serves. */
  readonly describe: () => Promise<DatabaseDescription>;
  /** Hash of the program, in hex. */
  readonly nextHash: string;
}

export function updateOf(program: ProgramSource, permission: UpdatePermission): UpdateRequest {
  return { kind: 'update', program, permission };
}

/** A trial changes nothing, so nothing has to be allowed. */
export function trialOf(program: ProgramSource, isRollback = false): UpdateRequest {
  const permission = { policy: 'compatible', token: undefined, isRollback } as const;
  return { kind: 'update', program, permission, isTrial: true };
}

/**
 * The outcome of an update. Where an actor ended and the outcome is unknown, the program that the
 * next one finds in the log decides whether the update has happened. Throws `Refusal`.
 */
export async function updateOutcome(update: SubmittedUpdate): Promise<UpdateOutcome> {
  try {
    const reply = await update.reply;
    assert(reply.kind === 'updated', 'an update is answered by its outcome');
    await update.durable();
    return { endsConnections: reply.endsConnections, figures: reply.figures };
  } catch (error) {
    if (!(error instanceof Refusal) || error.body.code !== 'database.lost') throw error;
    const served = await update.describe().catch(() => undefined);
    if (served === undefined) throw unknownRefusal(error);
    // Connections end with their actor.
    if (served.programHash === update.nextHash) return { endsConnections: true };
    throw undoneRefusal(error);
  }
}

/** What a trial has found. One that was lost with its actor has changed nothing. */
export async function trialReport(answer: Promise<DatabaseReply>): Promise<TrialReport> {
  const reply = await answer.catch(failTrial);
  assert(reply.kind === 'tried', 'a trial is answered by its report');
  return reply.report;
}

function failTrial(error: unknown): never {
  if (!(error instanceof Refusal) || error.body.code !== 'database.lost') throw error;
  const text =
    'The database ended while it tried the publish, as it does where functions of a migration ' +
    'take too long or too much memory. Nothing was changed';
  throw new Refusal({ code: 'database.stopped', message: text }, { cause: error });
}

function undoneRefusal(cause: Refusal): Refusal {
  const text =
    'the database ended before it was applied, as it does where functions of a migration take ' +
    'too long or too much memory. Nothing was changed. The log of the service says why it ended.';
  return updateFailure('database.stopped', text, { cause });
}

function unknownRefusal(cause: Refusal): Refusal {
  const text =
    'the database ended, and it is not known whether the update was applied. ' +
    'Publish again once the database serves.';
  return updateFailure('database.lost', text, { cause });
}
