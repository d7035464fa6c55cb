/**
 * Returns a module's reason for rejecting the caller, or, without one, the status of the HTTP door.
 * `show` formats the module's text.
 */
export function refusedConnectionText(words: string, show: (data: string) => string): string {
  return words.trim() === '' ? 'request failed with HTTP 403 Forbidden' : show(words);
}
