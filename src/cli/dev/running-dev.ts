import { CliError } from '../io.ts';
import { DevPlace, type DevState, isRunning } from './dev-place.ts';

/** The service that a `dev` runs in a project, and the token that owns its databases. */
export interface RunningDev {
  readonly url: string;
  readonly token: string | undefined;
  /** Keeps the token of a new identity. */
  keepToken(token: string): void;
}

/** What runs in this project now; its other commands are about that. */
export function runningDev(root: string): RunningDev | undefined {
  const place = new DevPlace(root);
  try {
    const { state } = place;
    return state === undefined ? undefined : runningIn(place, state);
  } catch (error) {
    // Notes that `dev` has not written, such as links in a project from elsewhere.
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

function runningIn(place: DevPlace, { folder, pid, url }: DevState): RunningDev | undefined {
  if (folder !== place.root || !isRunning(pid)) return undefined;
  return { url, token: place.token, keepToken: (token) => place.keepToken(token) };
}
