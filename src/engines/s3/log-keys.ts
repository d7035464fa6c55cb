import type { LogName } from '../../shared-log/log-name.ts';
import { bigintToHex } from '../../values/hex.ts';

/** The folder of a log, with the slash at its end; its entries are named by their positions. */
export function logFolder(log: LogName): string {
  return `log/${log}/`;
}

export function entryKey(log: LogName, seq: number): string {
  return logFolder(log) + bigintToHex(BigInt(seq), 16);
}

/** The position that a name in such a folder stands for; `undefined`: it is no entry. */
export function seqIn(key: string): number | undefined {
  const [, digits] = /\/([0-9a-f]{16})$/.exec(key) ?? [];
  return digits === undefined ? undefined : Number(BigInt(`0x${digits}`));
}
