import type { RestoreTarget } from '../../backup/restore-plan.ts';
import { timestampFromText } from '../../values/timestamp.ts';

/**
 * Reads where a restore stops: an offset, a position such as `9f3c00d1a2b4c5d6.1234`, an RFC 3339
 * time with its zone, or `now - 2h`. `fault`: why it is none of them.
 */
export function readWrittenPlace(
  given: string,
  nowMicros: bigint,
): RestoreTarget | { readonly fault: string } {
  const text = given.trim();
  const [, epoch, digits] = /^(?:([\da-f]{16})\.)?(\d{1,16})(?:\.[\da-f]{8})?$/i.exec(text) ?? [];
  if (digits !== undefined && Number.isSafeInteger(Number(digits))) {
    return { kind: 'offset', offset: Number(digits), epoch: epoch?.toLowerCase() };
  }
  const micros = timestampFromText(text);
  if (micros !== undefined) return { kind: 'time', micros: Number(micros) };
  const [, count, unit = ''] = /^now(?:\s*-\s*(\d{1,9})([smhd]))?$/.exec(text) ?? [];
  if (text === 'now' || count !== undefined) {
    const ago = Number(count ?? 0) * (unitMicros[unit] ?? 0);
    return { kind: 'time', micros: Number(nowMicros) - ago };
  }
  return { fault: faultOf(text) };
}

const unitMicros: Readonly<Record<string, number>> = {
  s: 1_000_000,
  m: 60_000_000,
  h: 3_600_000_000,
  d: 86_400_000_000,
};

function faultOf(text: string): string {
  if (timestampFromText(`${text}Z`) !== undefined) {
    return `${text} has no time zone; append Z or an offset such as +01:00`;
  }
  const forms = 'an offset, a position, a time with its zone, or now - 2h';
  return `\`${text}\` is not a place in a history: write ${forms}`;
}
