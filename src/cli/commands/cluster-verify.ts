import type { Command } from 'commander';
import { bytesText } from '../../values/bytes-text.ts';
import {
  list,
  number,
  object,
  optional,
  parseAs,
  type Shaped,
  string,
} from '../../values/json-shape.ts';
import { type Api, readAnswer, Unreachable } from '../api.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withRequired, withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';

/** Adds `cluster verify`, which has a host read shared logs whole. */
export function addClusterVerify(cluster: Command, io: Io): void {
  withYes(withServer(cluster.command('verify [database]')))
    .description('read the log of a database in the engine, or of all, and check every entry')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(async (database: string | undefined, flags: Flags, command: Command) => {
      const api = await new Session(io, command).apiWithIdentity();
      const { logs, failures } =
        database === undefined
          ? await verifyEach(api, io, await everyDatabase(api))
          : { logs: [await verify(api, database)], failures: [] };
      if (flags.json === true) io.out(JSON.stringify({ logs }, null, 2));
      else io.out(tableOf(logs));
      const faults = [...logs.flatMap(faultLines), ...failures];
      if (faults.length > 0) throw new CliError(faults.join('\n'));
    });
}

/** Adds `cluster repair`, which has a shared log be what one host has of it. */
export function addClusterRepair(cluster: Command, io: Io): void {
  withRequired(withYes(withServer(cluster.command('repair <database>'))), {
    flags: '--from <host>',
    help: 'the host whose log is right',
  })
    .description('write what the log of a database lacks in the engine, from the log of a host')
    .option('--json', 'print JSON')
    .addHelpText('after', repairHelp)
    .action(async (database: string, flags: RepairFlags, command: Command) => {
      const session = new Session(io, command);
      const api = await session.apiWithIdentity();
      await requireHost(api, flags.from);
      const question =
        `Make the shared log of ${database} match the log of ${flags.from}? ` +
        'Commits that no host is known to have are lost then.';
      if (!(await confirm(io, question, session.answersYes('all')))) return;
      const path = `/v1/cluster/databases/${encodeURIComponent(database)}/repair`;
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ from: flags.from });
      const outcome = parseAs(await api.text('POST', path, { headers, body }), outcomeShape);
      io.out(flags.json === true ? JSON.stringify(outcome) : repairText(database, outcome));
    });
}

/** A slip is an error before anybody is asked. */
async function requireHost(api: Api, name: string): Promise<void> {
  const { hosts } = await api.json('GET', '/v1/cluster/hosts', hostsShape);
  if (hosts.some((host) => host.name === name)) return;
  const all = hosts.map((host) => host.name).join(', ');
  throw new CliError(`No host is named ${name}. The hosts of the cluster are ${all}.`);
}

const hostsShape = object({ hosts: list(object({ name: string })) });

interface RepairFlags extends Flags {
  readonly from: string;
}

const repairHelp = `
For a log of which \`cluster verify\` says that something is missing or damaged. Where its end was
lost, the host's commits behind it are written again; where entries within it are, the log begins
again behind them, with the host's newest snapshot. Both in a new term: the host that leads
the database loses it for a moment, and a host that has all of it takes it over. A host that has
less than others know to be acknowledged is refused. The log of the host is only read.`;

const outcomeShape = object({
  kind: string,
  offset: number,
  from: optional(number),
  seq: optional(number),
});

function repairText(database: string, outcome: Shaped<typeof outcomeShape>): string {
  const { kind, offset, from = 0, seq = 0 } = outcome;
  if (kind === 'whole')
    return `The log of ${database} lacks nothing: it has every commit up to ${offset}.`;
  if (kind === 'restored')
    return `Commits ${from} to ${offset} are in the log of ${database} again.`;
  return `The log of ${database} begins with entry ${seq}, and has every commit up to ${offset}.`;
}

interface Flags {
  readonly json?: true;
}

const help = `
A host reads each log from its first entry to its last: checksums, the chain of records, terms, and
whether one is missing; and compares snapshots with the records at their places, and what the hosts
have with the end of the log. Nothing is changed. Where something is wrong, the exit code is 1, and
each line says what to do. Of all, one that is deleted meanwhile is skipped, and one that cannot be
read keeps no other from it. (registry) names the database in which the hosts keep what they
share.`;

/** Each of them, whatever becomes of the others; `failures`: what keeps one from being read. */
async function verifyEach(api: Api, io: Io, targets: readonly Target[]): Promise<Verified> {
  const logs: Log[] = [];
  const failures: string[] = [];
  for (const [at, { database, names }] of targets.entries()) {
    const name = shown({ database, names });
    try {
      logs.push(await verify(api, database));
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      if (error instanceof NotThereError) {
        io.err(`${name} is skipped: it was deleted meanwhile.`);
        continue;
      }
      failures.push(`${name} was not verified: ${error.message}`);
      const left = targets.length - at - 1;
      if (!(error instanceof Unreachable) || left === 0) continue;
      failures.push(`Nor were those behind it in the list, ${left} more.`);
      break;
    }
  }
  return { logs, failures };
}

interface Verified {
  readonly logs: readonly Log[];
  readonly failures: readonly string[];
}

async function everyDatabase(api: Api): Promise<readonly Target[]> {
  return (await api.json('GET', '/v1/cluster/databases', databasesShape)).databases;
}

/** There is no such database. */
class NotThereError extends CliError {}

async function verify(api: Api, target: string): Promise<Log> {
  const path = `/v1/cluster/databases/${encodeURIComponent(target)}/verify`;
  const answer = await api.send('POST', path);
  const text = await answer.text();
  if (answer.ok) return readAnswer(text, logShape);
  const message = api.failureText(answer.status, text);
  throw answer.status === 404 ? new NotThereError(message) : new CliError(message);
}

const databasesShape = object({
  databases: list(object({ database: string, names: list(string) })),
});

type Target = Shaped<typeof databasesShape>['databases'][number];

const logShape = object({
  ...{ database: string, names: list(string), first: number, entries: number, bytes: number },
  ...{ term: number, offset: number, snapshots: number },
  faults: list(
    object({ kind: string, seq: number, offset: number, reason: string, advice: string }),
  ),
  copies: list(object({ host: string, role: string, offset: number, acknowledged: number })),
});

type Log = Shaped<typeof logShape>;

function tableOf(logs: readonly Log[]): string {
  const rows = logs.map((log) => [
    shown(log),
    log.faults.length === 0 ? 'ok' : 'FAILED',
    log.first === 0 ? String(log.entries) : `${log.entries} from ${log.first} on`,
    bytesText(log.bytes),
    String(log.term),
    String(log.offset),
    String(log.snapshots),
  ]);
  const header = ['DATABASE', 'RESULT', 'ENTRIES', 'BYTES', 'TERM', 'LAST COMMIT', 'SNAPSHOTS'];
  return drawTable({ header, rows });
}

function faultLines(log: Log): string[] {
  return log.faults.map(({ seq, offset, reason, advice }) => {
    return `${shown(log)}, entry ${seq}, behind commit ${offset}: ${reason}. ${advice}`;
  });
}

function shown({ names, database }: Target): string {
  return names[0] ?? database;
}
