import { unreachable } from '../../assert.ts';
import type { RestoreTarget } from '../../backup/restore-plan.ts';
import { readPosition } from '../../history/position.ts';
import { bigintToHex } from '../../values/hex.ts';

/** Reads where a restore stops, as `readPosition` does. `fault`: why it cannot. */
export function readWrittenPlace(
  given: string,
  nowMicros: bigint,
): RestoreTarget | { readonly fault: string } {
  const written = readPosition(given);
  if ('fault' in written) return written;
  switch (written.kind) {
    case 'offset':
      return { kind: 'offset', offset: written.offset, epoch: undefined };
    case 'position': {
      const { epoch, offset } = written.position;
      return { kind: 'offset', offset, epoch: bigintToHex(epoch, 16) };
    }
    case 'time':
      return { kind: 'time', micros: Number(written.micros) };
    case 'ago':
      return { kind: 'time', micros: Number(nowMicros - written.micros) };
    case 'back': {
      const text = `-${written.commits} counts from the last commit of a running database`;
      return { fault: `${text}; a restore needs an offset, a position or a time` };
    }
    default:
      return unreachable(written);
  }
}
