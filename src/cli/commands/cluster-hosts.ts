import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import {
  boolean,
  either,
  list,
  nullable,
  number,
  object,
  parseAs,
  type Shape,
  type Shaped,
  string,
} from '../../values/json-shape.ts';
import type { Api } from '../api.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';

/** Adds what operators see of a cluster and do with its hosts; any of its hosts will do. */
export function addClusterHosts(cluster: Command, io: Io): void {
  ofServer(cluster.command('status'))
    .description('show the cluster that a service belongs to, and how it reaches its engine')
    .option('--json', 'print JSON')
    .action(async (flags: JsonFlag, command: Command) => {
      const { api, raw, value } = await asked(io, command, '/v1/cluster', statusShape);
      const { hosts } = await api.json('GET', '/v1/cluster/hosts', hostsShape);
      io.out(flags.json === true ? raw : statusText(value, hosts));
    });
  ofServer(cluster.command('hosts'))
    .description('list the hosts, when each was seen, and how many databases it leads')
    .option('--json', 'print JSON')
    .action(async (flags: JsonFlag, command: Command) => {
      const { raw, value } = await asked(io, command, '/v1/cluster/hosts', hostsShape);
      io.out(flags.json === true ? raw : hostsTable(value.hosts));
    });
  ofServer(cluster.command('databases'))
    .description('list the databases, who leads each, and how far the copies of the others are')
    .option('--json', 'print JSON')
    .action(async (flags: JsonFlag, command: Command) => {
      const { raw, value } = await asked(io, command, '/v1/cluster/databases', databasesShape);
      io.out(flags.json === true ? raw : databasesTable(value.databases));
    });
  ofServer(cluster.command('move <database> <host>'))
    .description('have a database led by another host; calls wait meanwhile')
    .action(async (database: string, host: string, _: object, command: Command) => {
      const api = await new Session(io, command).apiWithIdentity();
      await move(api, database, host);
      await untilLed(api, database, host);
      io.out(`${database} is led by ${host}.`);
    });
  addDrains(cluster, io);
  ofServer(cluster.command('forget <host>'))
    .description('take a host that is gone off the list')
    .action(async (host: string, _: object, command: Command) => {
      const api = await new Session(io, command).apiWithIdentity();
      await api.text('DELETE', pathOf(host));
      io.out(`${host} is forgotten.`);
    });
}

function addDrains(cluster: Command, io: Io): void {
  ofServer(cluster.command('drain <host>'))
    .description(
      'give the databases that a host leads to the others; it takes no more until undrain',
    )
    .action(async (host: string, _: object, command: Command) => {
      const api = await new Session(io, command).apiWithIdentity();
      await api.text('POST', pathOf(host, '/drain'));
      await untilDrained(api, host);
      io.out(`${host} leads nothing. It can be stopped, or undrained.`);
    });
  ofServer(cluster.command('undrain <host>'))
    .description('let a drained host lead databases again')
    .action(async (host: string, _: object, command: Command) => {
      const api = await new Session(io, command).apiWithIdentity();
      await api.text('POST', pathOf(host, '/undrain'));
      io.out(`${host} takes databases again.`);
    });
}

const moveMillisMax = 10_000;

/** A host that has just started may have to read first: it is asked again for a while. */
async function move(api: Api, database: string, host: string): Promise<void> {
  const path = `/v1/cluster/databases/${encodeURIComponent(database)}/move`;
  const request = {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ host }),
  };
  const endsAt = performance.now() + moveMillisMax;
  for (;;) {
    try {
      await api.text('POST', path, request);
      return;
    } catch (error) {
      const isEarly = error instanceof CliError && /again in a moment/.test(error.message);
      if (!isEarly || performance.now() > endsAt) throw error;
    }
    await wait(drainLookMillis);
  }
}

/** Its new leader first stores an entry of its own. */
async function untilLed(api: Api, database: string, host: string): Promise<void> {
  const endsAt = performance.now() + moveMillisMax;
  let leader: string | null | undefined;
  while (performance.now() < endsAt) {
    const { databases } = await api.json('GET', '/v1/cluster/databases', databasesShape);
    const found = databases.find(
      (one) => one.names.includes(database) || one.database === database,
    );
    leader = found?.leader;
    if (leader === host) return;
    await wait(drainLookMillis);
  }
  throw new CliError(
    `${host} has not taken ${database} over, which ${leader ?? 'nobody'} leads now. See ` +
      '`reducerdb cluster databases`.',
  );
}

interface JsonFlag {
  readonly json?: true;
}

function ofServer(command: Command): Command {
  return withYes(withServer(command));
}

function pathOf(host: string, rest = ''): string {
  return `/v1/cluster/hosts/${encodeURIComponent(host)}${rest}`;
}

/** What a host answers: as it came, and read. */
async function asked<Value>(io: Io, command: Command, path: string, shape: Shape<Value>) {
  const api = await new Session(io, command).apiWithIdentity();
  const raw = await api.text('GET', path);
  return { api, raw, value: parseAs(raw, shape) };
}

const drainMillisMax = 60_000;
const drainLookMillis = 200;

async function untilDrained(api: Api, name: string): Promise<void> {
  const endsAt = performance.now() + drainMillisMax;
  let leads = 0;
  while (performance.now() < endsAt) {
    const { hosts } = await api.json('GET', '/v1/cluster/hosts', hostsShape);
    const host = hosts.find((one) => one.name === name);
    leads = host?.leads ?? 0;
    if (host?.state !== 'up' && leads === 0) return;
    await wait(drainLookMillis);
  }
  throw new CliError(
    `${name} still leads ${leads} databases: no other host was ready to take them. See ` +
      '`reducerdb cluster databases`, and try again.',
  );
}

const statusShape = object({
  ...{ cluster: string, host: string, state: string, local_sync: boolean },
  lease_seconds: number,
  engine: object({
    ...{ reached: boolean, history: string, beat_age_seconds: number },
    clock_skew_seconds: number,
    copies: either(number, string),
  }),
});

const hostsShape = object({
  hosts: list(
    object({
      ...{ name: string, address: string, client_address: string, state: string },
      ...{ version: string, zone: string, seen_seconds_ago: number, leads: number },
    }),
  ),
});

const databasesShape = object({
  databases: list(
    object({
      ...{ database: string, names: list(string), term: number, leader: nullable(string) },
      copies: list(
        object({
          ...{ host: string, role: string, offset: number, acknowledged: number },
          age_seconds: nullable(number),
        }),
      ),
    }),
  ),
});

type Status = Shaped<typeof statusShape>;
type Hosts = Shaped<typeof hostsShape>['hosts'];
type Databases = Shaped<typeof databasesShape>['databases'];

function statusText({ cluster, host, state, engine, ...rest }: Status, hosts: Hosts): string {
  const reached = engine.reached ? 'reached' : 'NOT REACHED';
  const { copies } = engine;
  const kept = copies === 1 ? '1 copy: its loss loses what was acknowledged' : copiesText(copies);
  const rows = [
    ['cluster', cluster],
    ['asked', `${host}, ${state}`],
    ['hosts', hosts.map(({ name, state: its }) => `${name} ${its}`).join(', ')],
    ['engine', `${reached}, last beat ${secondsText(engine.beat_age_seconds)} ago`],
    ['its past', engine.history],
    ['its copies', kept],
    ['clock', `${Math.round(engine.clock_skew_seconds * 1_000)} ms ahead of the engine's`],
    ['acknowledged', rest.local_sync ? 'by the engine and the own disk' : 'by the engine alone'],
    ['lease', secondsText(rest.lease_seconds)],
  ];
  return drawTable({ header: ['WHAT', 'IS'], rows });
}

function copiesText(copies: number | string): string {
  if (copies === 'external') return 'kept by the storage, as its address says';
  return copies === 'unknown' ? 'not known now' : String(copies);
}

function hostsTable(hosts: Hosts): string {
  return drawTable({
    header: ['HOST', 'STATE', 'LEADS', 'SEEN', 'FOR HOSTS', 'FOR CLIENTS', 'ZONE', 'VERSION'],
    rows: hosts.map((host) => [
      host.name,
      host.state,
      String(host.leads),
      `${secondsText(host.seen_seconds_ago)} ago`,
      host.address,
      host.client_address,
      host.zone,
      host.version,
    ]),
  });
}

function databasesTable(databases: Databases): string {
  return drawTable({
    header: ['DATABASE', 'LEADER', 'TERM', 'COPIES'],
    rows: databases.map(({ database, names, leader, term, copies }) => [
      names[0] ?? database,
      leader ?? 'nobody',
      String(term),
      copies.map(copyText).join(', '),
    ]),
  });
}

function copyText({ host, role, offset, acknowledged, age_seconds: age }: Copy): string {
  if (role === 'leader') return `${host} leads at ${acknowledged}`;
  if (role !== 'follower') return `${host} ${role}`;
  const late = age !== null && age < 1 ? '' : ` (${age === null ? 'never' : secondsText(age)} ago)`;
  return `${host} has ${offset}${late}`;
}

type Copy = Databases[number]['copies'][number];

function secondsText(seconds: number): string {
  return `${seconds.toFixed(1)} s`;
}
