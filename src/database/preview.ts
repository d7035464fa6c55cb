import { assert } from '../assert.ts';
import type { TableChange } from '../store/change-set.ts';
import type { Transaction } from '../store/transaction.ts';
import { sameBytes } from '../values/bytes.ts';
import { identityToHex } from '../values/identity.ts';
import { type DatabaseCore, requireSpace } from './core.ts';
import { tryConnection } from './lifecycle.ts';
import type { CollectedLines } from './module-lines.ts';
import type { CommitOffset } from './outcome.ts';
import { changesSince, shownChanges } from './preview-changes.ts';
import { digestOf } from './preview-digest.ts';
import {
  askingOf,
  type Preview,
  type PreviewKey,
  type PreviewOutcome,
  type PreviewRequest,
  type PreviewResult,
} from './preview-outcome.ts';
import {
  entropyBytes,
  type Moment,
  type Ran,
  refusedResult,
  runWork,
  seedsOf,
} from './previewed-work.ts';
import type { ProgramHash } from './program-hash.ts';
import { connectingOf, enter, isOutdated, leave } from './run-call.ts';
import { rollbackFrom, tentatively } from './tentative.ts';

/** A preview under way. */
export interface PreviewRun {
  readonly core: DatabaseCore;
  readonly hash: ProgramHash;
  readonly request: PreviewRequest;
  readonly acceptedMicros: bigint;
}

/**
 * Runs a call or a write with its lifecycle reducers, reports the result, and rolls everything
 * back; or, with `apply`, commits it if the result is the same as before. Synchronous.
 *
 * ```
 *  preview:  ( client_connected · work )                    all rolled back, sequences too
 *  apply:    client_connected ✓ · work ── the same ──▶ ✓    · client_disconnected ✓
 *                                    └─── another ──▶ rolled back
 * ```
 */
export function runPreview(run: PreviewRun): PreviewOutcome {
  const { core, request, acceptedMicros } = run;
  const { apply } = request;
  const message = refusalOf(request);
  if (message !== undefined) return { kind: 'refused', message, micros: 0 };
  if (apply !== undefined) requireSpace(core);
  const startedAt = core.clock.monotonicMillis();
  const moment = apply ?? { entropy: freshEntropy(core), timestampMicros: acceptedMicros };
  assert(moment.entropy.length === entropyBytes, 'a preview is applied with its own entropy');
  const trial: Trial = { ...run, moment };
  const tried = apply === undefined ? tryOut(trial) : applyIfSame(trial, apply);
  const preview = previewOf(trial, tried);
  const micros = Math.round((core.clock.monotonicMillis() - startedAt) * 1000);
  const { appliedAt } = tried;
  if (appliedAt !== undefined) return { kind: 'applied', preview, offset: appliedAt, micros };
  return { kind: apply === undefined ? 'previewed' : 'differs', preview, micros };
}

/** A preview reveals more than the outcome of a call; applying one writes. */
function refusalOf({ work, apply }: PreviewRequest): string | undefined {
  const { identity, rights } = askingOf(work).caller;
  if (!rights.previews) {
    const how = 'ask the owner for the role developer, or for a token with the feature preview';
    return `${identityToHex(identity)} is not authorized to preview: ${how}`;
  }
  if (apply === undefined || !rights.isReadOnly) return undefined;
  return 'This session is read-only: a preview cannot be applied';
}

interface Trial extends PreviewRun {
  readonly moment: Moment;
}

/** The result of a run. */
interface Tried extends CollectedLines, Pick<Ran, 'result'> {
  /** The net changes of the work alone. */
  readonly changes: readonly TableChange[];
  /** The commit against whose rows it ran. */
  readonly offset: CommitOffset;
  readonly digest: Uint8Array;
  /** Its own commit, if it was committed. */
  readonly appliedAt?: CommitOffset;
}

function tryOut(trial: Trial): Tried {
  const { core } = trial;
  const { result } = core.lines.collect(true, () =>
    tentatively(core, (transaction) => {
      const obstacle = obstacleOf(trial, () => tryToEnter(trial, transaction));
      return obstacle ?? tryWork(trial, transaction).tried;
    }),
  );
  return result;
}

/** Does what `enter` does, within the transaction of the preview. */
function tryToEnter(trial: Trial, transaction: Transaction): string | undefined {
  const { core, request, moment } = trial;
  const asking = askingOf(request.work);
  const { timestampMicros } = moment;
  if (asking.connection.kind === 'open') return enter(core, asking, timestampMicros);
  const seed = seedsOf(moment).connect;
  return tryConnection(core, { ...connectingOf(asking, timestampMicros), seed }, transaction);
}

function applyIfSame(trial: Trial, { digest }: PreviewKey): Tried {
  const { core, request, moment, acceptedMicros } = trial;
  const asking = askingOf(request.work);
  const seed = seedsOf(moment).connect;
  const obstacle = obstacleOf(trial, () => enter(core, asking, moment.timestampMicros, seed));
  if (obstacle !== undefined) return obstacle;
  const takeBack = rollbackFrom(core);
  const transaction = core.store.begin();
  const { tried, commit } = tryWork(trial, transaction);
  const isSame = commit !== undefined && sameBytes(tried.digest, digest);
  if (isSame) commit();
  else takeBack(transaction);
  const { offset } = core.store;
  leave(core, asking, acceptedMicros);
  return isSame ? { ...tried, appliedAt: offset } : tried;
}

/** The reason not to run the work at all; `enter` lets its connection in, or returns why not. */
function obstacleOf(trial: Trial, enter: () => string | undefined): Tried | undefined {
  const { core, request } = trial;
  const { work } = request;
  if (work.kind === 'call' && isOutdated(core, work.call)) {
    return notRun(trial, { kind: 'callFailed', error: { code: 'schema.changed' } });
  }
  const refusal = enter();
  return refusal === undefined ? undefined : notRun(trial, refusedResult(work, refusal));
}

function notRun(trial: Trial, result: PreviewResult): Tried {
  const { store } = trial.core;
  const ended = { result, changes: [] };
  const digest = digestOf(trial, ended);
  return { ...ended, lines: [], droppedLines: 0, offset: store.offset, digest };
}

/** Runs the work in an open transaction, in which the connection may have been let in. */
function tryWork(trial: Trial, transaction: Transaction): { tried: Tried; commit: Ran['commit'] } {
  const { core, request, moment } = trial;
  const { store, lines } = core;
  const before = transaction.pendingChanges();
  const isKeptBack = request.apply === undefined;
  const { result: ran, ...logged } = lines.collect(isKeptBack, () =>
    runWork(core, request.work, moment, transaction),
  );
  const { result, commit } = ran;
  const after = commit === undefined ? before : transaction.pendingChanges();
  const ended = { result, changes: changesSince(store, before, after) };
  const digest = digestOf(trial, ended);
  return { tried: { ...ended, ...logged, offset: store.offset, digest }, commit };
}

function previewOf({ core, request, moment }: Trial, tried: Tried): Preview {
  const { result, lines, droppedLines, offset, digest } = tried;
  const { entropy, timestampMicros } = moment;
  return {
    result,
    ...shownChanges(core, request, tried.changes),
    lines,
    droppedLines,
    offset,
    key: { entropy, timestampMicros, digest },
  };
}

function freshEntropy({ entropy }: DatabaseCore): Uint8Array {
  const bytes = new Uint8Array(entropyBytes);
  entropy.fill(bytes);
  return bytes;
}
