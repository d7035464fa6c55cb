import { limits } from '../../limits.ts';
import { overBudget } from '../failure.ts';

/** Throws `SqlFailure` before a text is made that is longer than a text may be. */
export function checkTextLength(length: number | bigint): void {
  if (length <= limits.sqlTextCharactersMax) return;
  throw overBudget(
    `A function cannot return a text of ${length} characters: ` +
      `at most ${limits.sqlTextCharactersMax} are allowed`,
  );
}

/** Throws `SqlFailure` before an array is made that no row could hold. */
export function checkArrayBytes(byteCount: number): void {
  if (byteCount <= limits.rowBytesMax) return;
  throw overBudget(
    `A function cannot return an array of ${byteCount} bytes: ` +
      `at most ${limits.rowBytesMax} are allowed`,
  );
}

/** Joins the parts, with `separator` between them. */
export function joinedText(parts: readonly string[], separator: string): string {
  let length = separator.length * Math.max(parts.length - 1, 0);
  for (const part of parts) length += part.length;
  checkTextLength(length);
  return parts.join(separator);
}
