import { DevPlace, isRunning } from './dev-place.ts';

/** The service that a `dev` runs in a project, and the token that owns its databases. */
export interface RunningDev {
  readonly url: string;
  readonly token: string | undefined;
}

/** What runs in this project now; its other commands are about that. */
export function runningDev(root: string): RunningDev | undefined {
  const place = new DevPlace(root);
  const { state } = place;
  if (state === undefined || state.folder !== place.root) return undefined;
  return isRunning(state.pid) ? { url: state.url, token: place.token } : undefined;
}
