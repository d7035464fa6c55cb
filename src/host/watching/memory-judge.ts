/** An actor that runs user code while the process grows. */
export interface Suspect {
  /** Growth since its call began, by its own count; `undefined` = never reported. */
  readonly grownBytes: number | undefined;
  /** How long it has owed an answer; 0 when it owes none. */
  readonly silentMillis: number;
  /** Growth of the process since its call began, besides rows and the gateway. */
  readonly processBytes: number;
  /** Memory that its thread touched first since it is suspected; `undefined`: unknown. */
  readonly faultBytes: number | undefined;
  /** When its call began. */
  readonly sinceMillis: number;
}

export interface JudgeLimits {
  /** Memory that one call may take. */
  readonly bytesMax: number;
  /** An actor that owes an answer for longer is inside a built-in. */
  readonly silentMillisMax: number;
}

/**
 * Decides which suspect to end for its memory, if any: figures in, verdict out.
 *
 * 1. An actor that reports that its call took more than a call may is ended, the largest first. An
 *    actor that reports less is never ended, whatever the process does.
 * 2. An actor that does not answer may be inside a built-in that allocates. It is ended when the
 *    process grew by more than a call may take and the others cannot be the cause: what they
 *    report is subtracted first. Where page faults are known, its thread must have touched a good
 *    part of that memory.
 *
 * `mayGuess` is false while an ended actor is not gone yet: its memory is still counted then, and
 * only rule 1 holds.
 */
export function judgeMemory<Some extends Suspect>(
  suspects: readonly Some[],
  limits: JudgeLimits,
  mayGuess: boolean,
): Some | undefined {
  const isSilent = (one: Some): boolean => one.silentMillis > limits.silentMillisMax;
  const grown = (one: Some): number => (isSilent(one) ? 0 : Math.max(0, one.grownBytes ?? 0));
  const largest = best(suspects, (one, other) => grown(one) - grown(other));
  if (largest !== undefined && grown(largest) > limits.bytesMax) return largest;
  if (!mayGuess) return undefined;
  const explained = suspects.reduce((sum, one) => sum + grown(one), 0);
  const possible = suspects.filter((one) => {
    const bytes = one.processBytes - explained;
    if (!isSilent(one) || bytes <= limits.bytesMax) return false;
    return one.faultBytes === undefined || one.faultBytes >= bytes * faultShareMin;
  });
  return best(
    possible,
    (one, other) =>
      (one.faultBytes ?? 0) - (other.faultBytes ?? 0) || other.sinceMillis - one.sinceMillis,
  );
}

/**
 * Share of the unexplained growth. The rest may be from before the suspicion, or from others that
 * do not answer either.
 */
const faultShareMin = 1 / 4;

function best<Some>(
  list: readonly Some[],
  compare: (one: Some, other: Some) => number,
): Some | undefined {
  let found: Some | undefined;
  for (const one of list) if (found === undefined || compare(one, found) > 0) found = one;
  return found;
}
