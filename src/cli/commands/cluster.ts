import type { Command } from 'commander';
import type { EngineReport, LatencyFigures } from '../../cluster/check-engine.ts';
import {
  boolean,
  list,
  number,
  object,
  optional,
  parseAs,
  type Shape,
  string,
} from '../../values/json-shape.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { addClusterHosts } from './cluster-hosts.ts';

/** Adds `cluster`, for services that share their databases. */
export function addCluster(program: Command, io: Io): void {
  const cluster = program
    .command('cluster')
    .description('look at the hosts that share their databases, and move these between them');
  addClusterHosts(cluster, io);
  withYes(withServer(cluster.command('check [address]')))
    .description('try whether PostgreSQL can hold the logs of a cluster, and how quick it is')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(async (given: string | undefined, flags: CheckFlags, command: Command) => {
      const { json, server } = flags;
      const address =
        given ?? (server === undefined ? io.environment.REDUCERDB_CLUSTER : undefined);
      if (address === undefined && server === undefined) throw new CliError(addressText, 2);
      const report = address === undefined ? await checkOf(io, command) : await check(address);
      if (json === true) io.out(JSON.stringify(report, null, 2));
      else io.out(tableOf(report));
      const faults = report.findings.filter(({ isFine }) => !isFine);
      if (faults.length === 0) return;
      throw new CliError(faults.map(({ check: name, detail }) => `${name}: ${detail}`).join('\n'));
    });
}

interface CheckFlags {
  readonly json?: true;
  readonly server?: string;
}

/** A host tries the engine that it uses. */
async function checkOf(io: Io, command: Command): Promise<EngineReport> {
  const api = await new Session(io, command).apiWithIdentity();
  return parseAs(await api.text('POST', '/v1/cluster/check'), reportShape);
}

const latency = object({ p50: number, p99: number });

const reportShape: Shape<EngineReport> = (json, place) => {
  const read = object({
    findings: list(object({ check: string, isFine: boolean, detail: string })),
    ...{ append: optional(latency), confirm: optional(latency) },
  })(json, place);
  const { findings, append, confirm } = read;
  return { findings, ...(append && { append }), ...(confirm && { confirm }) };
};

const addressText =
  'Give the address of PostgreSQL: reducerdb cluster check postgres://USER@HOST/DATABASE, or set ' +
  'REDUCERDB_CLUSTER; or name a host of a cluster with --server.';

const help = `
The address can name several servers: postgres://user@pg1,pg2/app. The check uses the one that is
the primary, writes to a log of its own there, and removes it. A variable, REDUCERDB_CLUSTER, keeps
a password out of the list of processes.`;

async function check(address: string): Promise<EngineReport> {
  const [{ checkEngine }, { PostgresEngine }, { parsePostgresPlace }, { EngineError }] =
    await Promise.all([
      import('../../cluster/check-engine.ts'),
      import('../../engines/postgres/postgres-engine.ts'),
      import('../../engines/postgres/postgres-place.ts'),
      import('../../shared-log/shared-log.ts'),
    ]);
  const reading = parsePostgresPlace(address);
  if (reading.kind === 'invalid') throw new CliError(reading.reason, 2);
  try {
    const engine = await PostgresEngine.open(reading.place);
    try {
      return await checkEngine(engine, () => performance.now());
    } finally {
      engine.close();
    }
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new CliError(error.message, 1, { cause: error });
  }
}

function tableOf({ findings, append, confirm }: EngineReport): string {
  const rows = findings.map(({ check: name, isFine, detail }) => [
    name,
    isFine ? 'ok' : 'FAILED',
    // What is wrong is said below, with what to do.
    isFine ? detail : '',
  ]);
  const figures = [...latencyRow('append', append), ...latencyRow('confirm', confirm)];
  return drawTable({ header: ['CHECK', 'RESULT', 'DETAIL'], rows: [...rows, ...figures] });
}

function latencyRow(name: string, figures: LatencyFigures | undefined): string[][] {
  if (figures === undefined) return [];
  const [p50, p99] = [figures.p50, figures.p99].map((millis) => millis.toFixed(1));
  return [[name, '', `p50 ${p50} ms, p99 ${p99} ms`]];
}
