import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import {
  boolean,
  nullable,
  number,
  object,
  optional,
  type Shaped,
  string,
} from '../../values/json-shape.ts';
import { type Api, databasePath } from '../api.ts';
import { onlyDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';

const started = object({ job: string });

const snapshotJob = object({
  state: string,
  phase: string,
  done: number,
  total: number,
  result: nullable(
    object({
      /** False: nothing was committed since the one at that offset. */
      taken: boolean,
      offset: number,
      bytes: optional(number),
      rows: optional(number),
      seconds: optional(number),
    }),
  ),
  error: nullable(string),
});

type SnapshotJob = Shaped<typeof snapshotJob>;

/** Adds `snapshot`, which takes one now and waits for it. */
export function addSnapshot(program: Command, io: Io): void {
  withYes(withServer(program.command('snapshot <database>')))
    .option('--json', 'print JSON')
    .description('take a snapshot of a database, from which it opens without its whole log')
    .action(async (word: string, { json }: { readonly json?: boolean }, command: Command) => {
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word);
      const api = await session.apiWithIdentity(server);
      const { job } = await api.json('POST', databasePath(database, '/snapshot'), started);
      const { state, result, error } = await ended(api, job, io);
      if (result === null) throw new CliError(error ?? `The snapshot was ${state}`);
      io.out(json === true ? JSON.stringify(result) : textOf(database, result));
    });
}

async function ended(api: Api, id: string, io: Io): Promise<SnapshotJob> {
  for (let pause = firstMillis; ; pause = Math.min(pause * 2, pauseMillisMax)) {
    const job = await api.json('GET', `/v1/jobs/${id}`, snapshotJob);
    if (job.state !== 'running') {
      io.progress('');
      return job;
    }
    io.progress(progressText(job));
    await wait(pause);
  }
}

const firstMillis = 20;
const pauseMillisMax = 250;

function progressText({ phase, done, total }: SnapshotJob): string {
  if (total === 0) return `${phase} …`;
  const part = Math.min(1, done / total);
  const filled = Math.round(part * barWidth);
  const bar = '#'.repeat(filled) + '.'.repeat(barWidth - filled);
  return `${phase} [${bar}] ${Math.floor(part * 100)} % of ${total} rows`;
}

const barWidth = 30;

function textOf(database: string, result: NonNullable<SnapshotJob['result']>): string {
  const { taken, offset, bytes = 0, rows = 0, seconds = 0 } = result;
  if (!taken) return `Nothing was committed to ${database} since the snapshot at commit ${offset}.`;
  const size = `${rows} rows, ${bytes} bytes, ${seconds.toFixed(1)} s`;
  return `Snapshot of ${database} at commit ${offset}: ${size}.`;
}
