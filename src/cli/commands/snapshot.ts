import type { Command } from 'commander';
import { boolean, number, object, optional, type Shaped } from '../../values/json-shape.ts';
import { databasePath } from '../api.ts';
import { onlyDatabase } from '../database-argument.ts';
import type { Io } from '../io.ts';
import { jobResult, startedJob } from '../job.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';

const snapshotResult = object({
  /** False: nothing was committed since the one at that offset. */
  taken: boolean,
  offset: number,
  bytes: optional(number),
  rows: optional(number),
  seconds: optional(number),
});

/** Adds `snapshot`, which takes one now and waits for it. */
export function addSnapshot(program: Command, io: Io): void {
  withYes(withServer(program.command('snapshot <database>')))
    .option('--json', 'print JSON')
    .description('take a snapshot of a database, from which it opens without its whole log')
    .action(async (word: string, { json }: { readonly json?: boolean }, command: Command) => {
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word);
      const api = await session.apiWithIdentity(server);
      const { job } = await api.json('POST', databasePath(database, '/snapshot'), startedJob);
      const waiting = { result: snapshotResult, what: 'The snapshot', unit: 'rows' };
      const result = await jobResult(api, job, io, waiting);
      io.out(json === true ? JSON.stringify(result) : textOf(database, result));
    });
}

function textOf(database: string, result: Shaped<typeof snapshotResult>): string {
  const { taken, offset, bytes = 0, rows = 0, seconds = 0 } = result;
  if (!taken) return `Nothing was committed to ${database} since the snapshot at commit ${offset}.`;
  const size = `${rows} rows, ${bytes} bytes, ${seconds.toFixed(1)} s`;
  return `Snapshot of ${database} at commit ${offset}: ${size}.`;
}
