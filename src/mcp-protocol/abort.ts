/**
 * Has `act` run when `signal` is aborted, at once if it is already; gives what forgets about it.
 */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act();
  signal.addEventListener('abort', act);
  return () => signal.removeEventListener('abort', act);
}
