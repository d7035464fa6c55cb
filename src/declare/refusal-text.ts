/** Words for a value that a reducer refuses a call with: those that the value has itself. */
export function refusalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { tag, message } = value as { readonly tag?: unknown; readonly message?: unknown };
  const words = [message, tag].find((each) => typeof each === 'string');
  return typeof words === 'string' ? words : 'the reducer refused the call';
}
