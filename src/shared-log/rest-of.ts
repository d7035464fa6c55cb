import { chainOf, type LogPoint } from '../log/log-point.ts';
import type { LogWrite } from '../log/replicated-write.ts';
import type { Replica } from './replica.ts';

/**
 * What an entry with records has behind the place at which a copy begins, which lies in it;
 * `from`: where the entry begins. `undefined`: the copy is of another history, or goes on behind
 * that place.
 */
export function restOf(
  { records, end }: Pick<LogWrite, 'records' | 'end'>,
  from: LogPoint,
  copy: Pick<Replica, 'startPosition' | 'end'>,
): LogWrite | undefined {
  const rest = records.subarray(copy.startPosition - from.position);
  if (copy.end.position > copy.startPosition || rest.length < 32) return undefined;
  const view = new DataView(rest.buffer, rest.byteOffset, 32);
  // A record has the chain hash of all before it.
  const chain = chainOf(view.getInt32(24, true), view.getInt32(28, true));
  return chain === copy.end.chain ? { records: rest, end } : undefined;
}
