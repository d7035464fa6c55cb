import path from 'node:path';
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
import { addClusterExport } from './cluster-export.ts';
import { addClusterHosts } from './cluster-hosts.ts';
import { addClusterSecret } from './cluster-secret.ts';
import { addClusterRepair, addClusterVerify } from './cluster-verify.ts';

/** Adds `cluster`, for services that share their databases. */
export function addCluster(program: Command, io: Io): void {
  const cluster = program
    .command('cluster')
    .description('look at the hosts that share their databases, and move these between them');
  addClusterHosts(cluster, io);
  addClusterExport(cluster, io);
  addClusterSecret(cluster, io);
  addClusterVerify(cluster, io);
  addClusterRepair(cluster, io);
  withYes(withServer(cluster.command('check [address]')))
    .description('try whether an engine can hold the logs of a cluster, and how quick it is')
    .option('--keys-file <file>', 'file with the keys of the store, as for a repository')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(async (given: string | undefined, flags: CheckFlags, command: Command) => {
      const { json, server } = flags;
      const address =
        given ?? (server === undefined ? io.environment.REDUCERDB_CLUSTER : undefined);
      if (address === undefined && server === undefined) throw new CliError(addressText, 2);
      const report =
        address === undefined ? await checkOf(io, command) : await check(address, flags, io);
      if (json === true) io.out(JSON.stringify(report, null, 2));
      else io.out(tableOf(report));
      const faults = report.findings.filter(({ isFine }) => !isFine);
      if (faults.length === 0) return;
      throw new CliError(faults.map(({ check: name, detail }) => `${name}: ${detail}`).join('\n'));
    });
}

interface CheckFlags {
  readonly keysFile?: string;
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
  'Give the address of PostgreSQL or of a store: reducerdb cluster check ' +
  'postgres://USER@HOST/DATABASE or s3://BUCKET/PREFIX, or set REDUCERDB_CLUSTER; or name a host ' +
  'of a cluster with --server.';

const help = `
The address can name several servers of PostgreSQL: postgres://user@pg1,pg2/app. The check uses the
one that is the primary. Or it names an S3-compatible store: s3://bucket/prefix, with
?endpoint=https://… unless it is that of AWS, and ?region=…; its keys are in
REDUCERDB_S3_ACCESS_KEY_ID and REDUCERDB_S3_SECRET_ACCESS_KEY, or in --keys-file. The check writes
to a log of its own there, and removes it. With --server a host of a cluster tries the engine that
it uses, for its operators. A variable, REDUCERDB_CLUSTER, keeps a password out of
the list of processes.`;

async function check(
  address: string,
  { keysFile }: CheckFlags,
  { environment }: Io,
): Promise<EngineReport> {
  const [{ checkEngine }, { parseEngineAddress }, { openEngine, placeWith }, keys, errors] =
    await Promise.all([
      import('../../cluster/check-engine.ts'),
      import('../../engines/engine-place.ts'),
      import('../../engines/open-engine.ts'),
      import('../../service/repositories.ts'),
      import('../../shared-log/shared-log.ts'),
    ]);
  const reading = parseEngineAddress(address);
  if (reading.kind === 'invalid') throw new CliError(reading.reason, 2);
  const found =
    keysFile === undefined
      ? keys.s3KeysIn(environment)
      : keys.readKeysFile(path.resolve(keysFile), '--keys-file:');
  const place = placeWith(reading.place, found);
  if (place === undefined) throw new CliError(noKeysText, 2);
  try {
    const engine = await openEngine(place);
    try {
      return await checkEngine(engine.sharedLog, () => performance.now());
    } finally {
      engine.close();
    }
  } catch (error) {
    if (!(error instanceof errors.EngineError)) throw error;
    throw new CliError(error.message, 1, { cause: error });
  }
}

const noKeysText =
  'The store needs keys: set REDUCERDB_S3_ACCESS_KEY_ID and REDUCERDB_S3_SECRET_ACCESS_KEY, or ' +
  'name a file with --keys-file.';

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
