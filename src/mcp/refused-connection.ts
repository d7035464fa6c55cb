/**
 * Why a module does not let the caller in: its own words, alone. Where it has none, the status that
 * the HTTP door answers with says it. `show` is what becomes of words of a module.
 */
export function refusedConnectionText(words: string, show: (data: string) => string): string {
  return words.trim() === '' ? 'request failed with HTTP 403 Forbidden' : show(words);
}
