/**
 * Called between two steps of work on files, with the bytes that the last one wrote: waits as long
 * as others are to be spared, and throws `StoppedError` if the work is to end.
 */
export type Pause = (bytes: number) => Promise<void>;

/** The work was no longer wanted; everything on the disk is as after a crash. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}
