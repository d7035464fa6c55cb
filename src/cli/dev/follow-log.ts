import { setTimeout as wait } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import { type Api, databasePath } from '../api.ts';
import { CliError } from '../io.ts';
import { logLines } from '../log-lines.ts';
import { logText, parseRecord } from '../log-text.ts';
import type { DevScreen } from './dev-screen.ts';

export interface FollowOptions {
  readonly screen: DevScreen;
  readonly database: string;
  readonly hasColours: boolean;
  /** The service as it is now. */
  readonly api: () => Promise<Api>;
  /** Called when the log has ended by itself, before it is followed again. */
  readonly ensure: () => Promise<void>;
  /** Lines from before this moment are not shown, in microseconds since the Unix epoch. */
  readonly since: number;
  readonly signal: AbortSignal;
}

/** Prints what the module logs, over restarts of the service, until `signal`. */
export async function followLog(options: FollowOptions): Promise<void> {
  const { screen, database, hasColours, signal } = options;
  let seen = options.since;
  while (!signal.aborted) {
    try {
      const api = await options.api();
      // Of the connection before, or from before this run.
      const from = seen;
      const where = databasePath(database, '/logs?num_lines=100&follow=true');
      const pieces = api.pieces(where, { signal });
      for await (const line of logLines(pieces)) {
        const record = parseRecord(line);
        if (record.ts !== undefined && record.ts <= from) continue;
        seen = Math.max(seen, record.ts ?? seen);
        screen.asIs(logText(record, hasColours));
      }
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
    }
    await wait(limits.devFollowMillis, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) await options.ensure().catch(() => undefined);
  }
}
