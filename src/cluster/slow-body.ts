import type { Readable } from 'node:stream';

/**
 * Calls `late` when a body that is being piped has brought no bytes for so long. The time for which
 * its receiver takes none does not count. Returns what ends the watch.
 */
export function watchBody(body: Readable, idleMillisMax: number, late: () => void): () => void {
  const look = (): void => {
    if (body.isPaused()) timer.refresh();
    else late();
  };
  const timer = setTimeout(look, idleMillisMax);
  const refresh = (): void => void timer.refresh();
  const stop = (): void => {
    clearTimeout(timer);
    body.off('data', refresh).off('end', stop);
  };
  body.on('data', refresh).once('end', stop);
  return stop;
}
