import { updateFailure } from '../../database/outcome.ts';
import type { TurnReport } from '../../database/turn.ts';
import type { Outbox } from '../feeds/outbox.ts';
import { lostUpdate } from '../feeds/pending-requests.ts';
import { deferred } from './deferred.ts';

/** Waits until what was handed over with this write is durable, at most for `millisMax`. */
export function untilDurable(
  outbox: Outbox,
  { write, offset }: Pick<TurnReport, 'write' | 'offset'>,
  millisMax: number,
): Promise<void> {
  const { promise, resolve, reject } = deferred();
  const timer = setTimeout(() => {
    const text = 'timeout waiting for transaction confirmation';
    reject(updateFailure('durability.timeout', text));
  }, millisMax);
  outbox.hold({ write, offset, release: resolve, fail: () => reject(lostUpdate()) });
  return promise.finally(() => clearTimeout(timer));
}
