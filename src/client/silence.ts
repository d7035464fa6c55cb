import type { Platform } from './platform.ts';

/** The server pings every 15 s: a little more than twice that without a byte is silence. */
const silenceMillis = 35_000;
const watchMillis = 5_000;
/** A timer that is this late means that the machine was asleep. */
const sleepMillis = 10_000;

/** A connection that is watched. */
export interface WatchedHost {
  readonly link: {
    readonly isOpen: boolean;
    /** When the server was last heard, in milliseconds since 1970. */
    readonly heardAt: number;
    fail(error: Error, isSilent?: boolean): void;
  };
  readonly platform: Platform;
  ping(): void;
}

export interface Patience {
  /** Time without traffic after which the server is asked for a sign of life. */
  readonly idleMillis: number;
  /** Time for a connection to open. */
  readonly openMillis: number;
}

/** Checks every few seconds whether the server is still alive; returns a function that ends it. */
export function watchSilence(host: WatchedHost, { idleMillis, openMillis }: Patience): () => void {
  const { link, platform } = host;
  const startedAt = platform.now();
  let askedAt = 0;
  /** Until when the machine was asleep. */
  let wokenAt = 0;
  let cancel = () => {};
  const look = (due: number): void => {
    const now = platform.now();
    const hasSlept = now - due > sleepMillis;
    // After a sleep silence is no sign of a loss: ping, and allow time for the answer.
    if (hasSlept) wokenAt = now - idleMillis;
    const heardAt = Math.max(link.heardAt, wokenAt);
    const silence = now - heardAt;
    if (!link.isOpen && now - startedAt >= openMillis) {
      link.fail(new Error('the host does not answer'));
      return;
    }
    if (link.isOpen && silence >= silenceMillis) {
      link.fail(new Error('the server is silent'), true);
      return;
    }
    const isDue = hasSlept || (silence >= idleMillis && askedAt <= heardAt);
    if (link.isOpen && isDue) {
      askedAt = now;
      host.ping();
    }
    wait();
  };
  const wait = (): void => {
    const due = platform.now() + watchMillis;
    cancel = platform.after(watchMillis, () => look(due));
  };
  wait();
  return () => cancel();
}
