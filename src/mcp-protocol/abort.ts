/** Calls `act` once `signal` is aborted, maybe at once; returns a function that unregisters it. */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act();
  signal.addEventListener('abort', act);
  return () => signal.removeEventListener('abort', act);
}
