import type { Value } from '../../src/values/value.ts';

/** A value as a text, to compare or to sort by: JSON, with an `n` behind wide integers. */
export function valueText(value: Value): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part));
}
