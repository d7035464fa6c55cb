import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import {
  boolean,
  either,
  list,
  nullable,
  number,
  object,
  optional,
  parseAs,
  type Shape,
  type Shaped,
  string,
} from '../../values/json-shape.ts';
import type { Api } from '../api.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withRequired, withServer, withYes } from '../shared-flags.ts';
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
  withRequired(ofServer(cluster.command('set <database>')), {
    flags: '--copies <count>',
    help: 'hosts with a copy, or `default`: as many as `cluster.copies` says',
  })
    .description('say how many hosts have a copy of a database, that of its leader included')
    .action(async (database: string, flags: { copies: string }, command: Command) => {
      const copies = countIn(flags.copies);
      const api = await new Session(io, command).apiWithIdentity();
      const path = `/v1/cluster/databases/${encodeURIComponent(database)}/set`;
      await api.text('POST', path, jsonOf({ copies: copies ?? null }));
      io.out(`${database} gets ${copiesSaid(copies)}.`);
      const { hosts } = await api.json('GET', '/v1/cluster/hosts', hostsShape);
      const count = hosts.filter(({ state }) => state === 'up').length;
      if (copies === undefined || copies <= count) return;
      const there = count === 1 ? '1 host is' : `${count} hosts are`;
      io.err(`${there} there: the others get theirs when more hosts are started.`);
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
      const session = new Session(io, command);
      const api = await session.apiWithIdentity();
      const { hosts } = await api.json('GET', '/v1/cluster/hosts', hostsShape);
      const isOnly = !hosts.some(({ name, state }) => name !== host && state === 'up');
      const isKnown = hosts.some(({ name }) => name === host);
      if (isKnown && isOnly) {
        io.err(onlyText(host));
        if (!(await confirm(io, 'Drain it all the same?', session.answersYes('all')))) return;
      }
      const { left } = await api.json('POST', pathOf(host, '/drain'), drainedShape);
      if (left.length > 0) throw new CliError(leftText(host, left));
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

function jsonOf(body: object) {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** `undefined`: as many as of any database. */
function countIn(text: string): number | undefined {
  if (text === 'default') return undefined;
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new CliError(
    `--copies ${text} is not a count of copies; give a whole number from 1 on, or default.`,
    2,
  );
}

function copiesSaid(copies: number | undefined): string {
  if (copies === undefined) return 'as many copies as cluster.copies says';
  return copies === 1 ? '1 copy' : `${copies} copies`;
}

function onlyText(host: string): string {
  return (
    `No host but ${host} takes databases. Drained, it still leads them, and answers 503 at ` +
    '/v1/ready: a load balancer has no host left that it sends requests to.'
  );
}

const moveMillisMax = 10_000;

/** A host that has just started may have to read first: it is asked again for a while. */
async function move(api: Api, database: string, host: string): Promise<void> {
  const path = `/v1/cluster/databases/${encodeURIComponent(database)}/move`;
  const request = jsonOf({ host });
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

const drainMillisMax = 10_000;
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
    `${name} has given everything away, and ${leads} databases are not taken up by their next ` +
      'leaders yet. See `reducerdb cluster databases`.',
  );
}

function leftText(host: string, left: Left): string {
  const lines = left.map(({ database, names, reason }) => `  ${names[0] ?? database}: ${reason}`);
  const shown = lines.slice(0, leftShownMax);
  if (lines.length > leftShownMax) shown.push(`  and ${lines.length - leftShownMax} more`);
  const count = left.length === 1 ? 'a database' : `${left.length} databases`;
  return (
    `${host} takes no more databases, and still leads ${count} that nobody takes:\n` +
    `${shown.join('\n')}\n` +
    'Stopped now, it leaves them without a leader until another host has claimed them. Drain it ' +
    `again, or take it back with \`reducerdb cluster undrain ${host}\`.`
  );
}

const leftShownMax = 20;

const drainedShape = object({
  left: list(object({ database: string, names: list(string), reason: string })),
});

type Left = Shaped<typeof drainedShape>['left'];

const statusShape = object({
  ...{ cluster: string, host: string, state: string, local_sync: boolean },
  ...{ lease_seconds: number, fail_over_seconds_max: optional(number), reads: optional(string) },
  engine: object({
    ...{ reached: boolean, history: string, beat_age_seconds: number },
    ...{ clock_skew_seconds: number, takes_commits: boolean, trouble: nullable(string) },
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
      copies_wanted: optional(number),
      copies: list(
        object({
          ...{ host: string, role: string, offset: number, acknowledged: number },
          ...{ warm: boolean, fault: nullable(string) },
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
  const { copies, takes_commits: takes, trouble } = engine;
  const reached = engine.reached ? 'reached' : takes ? 'NOT REACHED' : 'TAKES NO COMMITS';
  const kept = copies === 1 ? '1 copy: its loss loses what was acknowledged' : copiesText(copies);
  const rows = [
    ['cluster', cluster],
    ['asked', `${host}, ${state}`],
    ['hosts', hosts.map(({ name, state: its }) => `${name} ${its}`).join(', ')],
    ['engine', `${reached}, last beat ${secondsText(engine.beat_age_seconds)} ago`],
    ...(takes ? [] : [['its trouble', trouble ?? 'not known yet']]),
    ['its past', engine.history],
    ['its copies', kept],
    ['clock', skewText(engine.clock_skew_seconds)],
    ['acknowledged', rest.local_sync ? 'by the engine and the own disk' : 'by the engine alone'],
    ['lease', leaseText(rest)],
    ...(rest.reads === 'lease' ? [['reads', readsText]] : []),
  ];
  return drawTable({ header: ['WHAT', 'IS'], rows });
}

const readsText = 'confirmed within the lease of a leader: old if its machine was paused';

/** An older service does not say how soon writes are back. */
function leaseText({
  lease_seconds: lease,
  fail_over_seconds_max: most,
}: Pick<Status, 'lease_seconds' | 'fail_over_seconds_max'>): string {
  if (most === undefined) return secondsText(lease);
  return `${secondsText(lease)}; writes are back within ${most} s after the loss of a leader`;
}

function copiesText(copies: number | string): string {
  if (copies === 'external') return 'kept by the storage';
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
    rows: databases.map(({ database, names, leader, term, copies, ...rest }) => [
      names[0] ?? database,
      leader ?? 'nobody',
      String(term),
      `${copies.length} of ${rest.copies_wanted ?? '?'}: ${copies.map(copyText).join(', ')}`,
    ]),
  });
}

function copyText({ host, role, offset, acknowledged, warm, fault, ...copy }: Copy): string {
  const { age_seconds: age } = copy;
  if (role === 'leader') return `${host} leads at ${acknowledged}`;
  if (role !== 'follower') return `${host} ${role}`;
  const late = age !== null && age < 1 ? '' : ` (${age === null ? 'never' : secondsText(age)} ago)`;
  const cold = fault === null ? ', loads its program' : ', CANNOT LOAD its program';
  return `${host} has ${offset}${late}${warm ? '' : cold}`;
}

type Copy = Databases[number]['copies'][number];

function secondsText(seconds: number): string {
  return `${seconds.toFixed(1)} s`;
}

function skewText(seconds: number): string {
  const millis = Math.round(seconds * 1_000);
  return `${Math.abs(millis)} ms ${millis < 0 ? 'behind' : 'ahead of'} the engine's`;
}
