import { assert, present } from '../assert.ts';
import { limits } from '../limits.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import type { AlgebraicType, NamedType, Typespace } from '../values/type.ts';
import { encodeType } from '../values/type-codec.ts';
import type { ProgramReducer } from './call-result.ts';
import { type DatabaseCore, requireSpace } from './core.ts';
import type { KeptOutcome, OutcomeKey } from './kept-outcomes.ts';
import type { CallError } from './outcome.ts';
import { noBytes, type ReducerRun, runReducer, type TransactionOutcome } from './run-reducer.ts';

/** A committed outcome: that of this call, or of the one before it. */
export interface KeptAnswer {
  readonly kind: 'returned';
  readonly value?: Uint8Array;
  readonly offset: CommitOffset;
  /** Absent: the call was committed before. */
  readonly rows?: number;
}

interface KeyedRun extends ReducerRun {
  readonly reducer: ProgramReducer;
  /** Whether the caller has a role in the database, or a token that was made for it. */
  readonly hasRole: boolean;
}

type FailedRun = Exclude<TransactionOutcome, { readonly kind: 'returned' }>;

/**
 * Runs a call with an idempotency key, or gives the outcome that is kept under it. The caller is
 * known to have the rights for the call. Outcomes that are no commits are not kept: the same call
 * runs again.
 */
export function runKeyed(
  core: DatabaseCore,
  run: KeyedRun,
  key: string,
): CallError | KeptAnswer | FailedRun {
  const { kept, store } = core;
  if (!kept.exists) return refused(tooOldText);
  const of = { identity: run.sender, functionName: run.reducer.name, key };
  const body = kept.digest(run.args);
  const returns = typeDigest(core, run);
  const found = kept.find(of, run.timestampMicros);
  if (found !== undefined) return keptAnswer(found, body, returns);
  requireSpace(core);
  const busy = makeRoom(core, run);
  if (busy !== undefined) return busy;
  const offset = commitOffset(store.offset + 1);
  const outcomeOf = (value: Uint8Array | undefined): KeptOutcome => {
    return { ...of, micros: run.timestampMicros, offset, body, returns, value };
  };
  const outcome = runReducer(core, {
    ...run,
    keep: (transaction, value) => {
      if (value !== undefined && value.length > limits.keptValueBytesMax) {
        return tooLargeText(run, value.length);
      }
      kept.put(transaction, outcomeOf(value));
      return undefined;
    },
  });
  if (outcome.kind !== 'returned') return outcome;
  assert(store.offset === offset, 'a kept outcome names its commit');
  const { value, rows } = outcome;
  kept.added(outcomeOf(undefined));
  const committed = { kind: 'returned', offset, rows } as const;
  return value === undefined ? committed : { ...committed, value };
}

function keptAnswer(found: KeptOutcome, body: bigint, returns: bigint): CallError | KeptAnswer {
  const { offset, value } = found;
  if (found.body !== body) return refused(otherBodyText(found));
  if (found.returns !== returns) return refused(otherTypeText(found));
  return value === undefined ? { kind: 'returned', offset } : { kind: 'returned', offset, value };
}

/** Removes outcomes that have expired, if that is worth a commit or the limit requires it. */
function makeRoom(core: DatabaseCore, run: KeyedRun): CallError | undefined {
  const { kept } = core;
  const isFull = (): boolean => kept.isFull(run.sender, run.hasRole);
  const count = kept.removable(run.timestampMicros, isFull());
  if (count > 0) {
    runReducer(core, {
      reducer: undefined,
      sender: run.sender,
      connectionId: run.connectionId,
      timestampMicros: run.timestampMicros,
      args: noBytes,
      jwtPayload: run.jwtPayload,
      before: (transaction) => kept.remove(transaction, count),
    });
  }
  return isFull() ? { code: 'idempotency.tooMany', message: tooManyText } : undefined;
}

/** 0n: the reducer declares no type. */
function typeDigest({ kept, program }: DatabaseCore, { reducer }: KeyedRun): bigint {
  if (reducer.returns === undefined) return 0n;
  const { typespace } = flatDefinition(program.definition);
  const writer = new BinaryWriter();
  for (const type of renumbered(reducer.returns, typespace)) encodeType(writer, type);
  return kept.digest(writer.finish());
}

/**
 * The type, and those that its refs reach, each once and in the order in which they are met. Refs
 * are numbered in that order, so that another program with the same type has the same list.
 */
function renumbered(type: AlgebraicType, typespace: Typespace): readonly AlgebraicType[] {
  const numbers = new Map<number, number>();
  const met: AlgebraicType[] = [type];
  const named = (items: readonly NamedType[]): NamedType[] =>
    items.map((item) => ({ name: item.name, type: rewritten(item.type) }));
  const rewritten = (current: AlgebraicType): AlgebraicType => {
    switch (current.kind) {
      case 'ref': {
        const known = numbers.get(current.ref);
        if (known !== undefined) return { kind: 'ref', ref: known };
        numbers.set(current.ref, met.length);
        met.push(present(typespace.types[current.ref], 'the target of a ref'));
        return { kind: 'ref', ref: met.length - 1 };
      }
      case 'product':
        return { kind: 'product', elements: named(current.elements) };
      case 'sum':
        return { kind: 'sum', variants: named(current.variants) };
      case 'array':
        return { kind: 'array', element: rewritten(current.element) };
      default:
        return current;
    }
  };
  const result: AlgebraicType[] = [];
  // Grows while it is walked.
  for (const one of met) result.push(rewritten(one));
  return result;
}

function refused(message: string): CallError {
  return { code: 'idempotency.refused', message };
}

const tooOldText =
  'The schema of this database is from before outcomes of calls were kept: publish its program ' +
  'with a change, or call without an idempotency key';

const tooManyText =
  'Too many outcomes of calls with an idempotency key are kept (limits: ' +
  `${limits.callerKeptOutcomesMax} of one identity, ${limits.keptOutcomesMax} of a database, ` +
  `the last ${limits.reservedKeptOutcomes} of which are for callers with a role, ` +
  'each for 24 hours); nothing was done. Call later, or without a key';

function otherBodyText({ key, functionName }: OutcomeKey): string {
  return (
    `The idempotency key ${JSON.stringify(key)} belongs to a call of ${functionName} with ` +
    'other arguments; nothing was done. Use a new key for each new call'
  );
}

function otherTypeText({ key, functionName, offset }: KeptOutcome): string {
  return (
    `The call of ${functionName} with the idempotency key ${JSON.stringify(key)} was ` +
    `committed at offset ${offset}; the type that ${functionName} returns has changed since, so ` +
    'its value cannot be shown. Nothing was done again'
  );
}

function tooLargeText({ reducer }: KeyedRun, byteCount: number): string {
  return (
    `${reducer.name} returned ${byteCount} bytes, and at most ${limits.keptValueBytesMax} are ` +
    'kept under an idempotency key; nothing was changed. Call without a key'
  );
}
