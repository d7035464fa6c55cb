/** A message for a value that a reducer rejects a call with, taken from the value itself. */
export function refusalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { tag, message } = value as { readonly tag?: unknown; readonly message?: unknown };
  const words = [message, tag].find((each) => typeof each === 'string');
  return typeof words === 'string' ? words : 'the reducer refused the call';
}
