import { limits } from '../../limits.ts';
import type { CanaryBefore } from '../deployed/deploy.ts';
import { type CallFigures, percentileMillis } from '../supervision/recent-calls.ts';

/** What the calls before a deploy were like, as it is written down. */
export function beforeOf({ calls, failed, times }: CallFigures): CanaryBefore {
  return { calls, failed, p99Millis: percentileMillis(times, 0.99) };
}

/**
 * Why a program is to be taken back, by the calls since it came; `undefined`: nothing speaks
 * against it. Only failures within the service count, so nobody can have a program taken back by
 * sending what it refuses. Failures must be more than there were before, too: a program that
 * improves on a bad one stays. Where there were few calls before, times are not compared.
 */
export function canaryFault(before: CanaryBefore, { calls, failed, times }: CallFigures) {
  const { canaryCallsMin, canaryFailedShareMax, canaryP99TimesMax } = limits;
  if (calls < canaryCallsMin) return undefined;
  const isComparable = before.calls >= canaryCallsMin;
  const shareBefore = isComparable ? before.failed / before.calls : 0;
  const share = failed / calls;
  if (share > canaryFailedShareMax && share > shareBefore) {
    const compared = isComparable ? `, ${percent(shareBefore)} in the minute before` : '';
    return `${failed} of ${calls} calls failed (${percent(share)}${compared})`;
  }
  const timed = times.reduce((sum, count) => sum + count, 0);
  if (!isComparable || before.p99Millis === 0 || timed < canaryCallsMin) return undefined;
  const p99Millis = percentileMillis(times, 0.99);
  if (p99Millis <= canaryP99TimesMax * before.p99Millis) return undefined;
  const [now, then] = [p99Millis, before.p99Millis].map((millis) => millis.toPrecision(3));
  return `99 of 100 calls took up to ${now} ms, ${then} ms in the minute before`;
}

/** What is said of a canary whose time is over. */
export function passedText({ calls, failed }: Pick<CallFigures, 'calls' | 'failed'>): string {
  if (calls >= limits.canaryCallsMin) return `${failed} of ${calls} calls failed`;
  if (calls === 0) return `no call came, so nothing was judged (${limits.canaryCallsMin} would be)`;
  return `only ${calls} calls came: too few to judge it (${limits.canaryCallsMin})`;
}

function percent(share: number): string {
  return `${Math.round(share * 1_000) / 10} %`;
}
