import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { type Api, databasePath, statusText } from '../api.ts';
import { buildProject } from '../build-project.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { type DeleteData, prepareUpdate, type UpdateChoice } from '../prepare-update.ts';
import { withAnonymous, withServer, withYes } from '../program.ts';
import type { Target } from '../project-config.ts';
import { isLocalServer } from '../server-choice.ts';
import { Session } from '../session.ts';

interface PublishFlags {
  readonly modulePath?: string;
  readonly jsPath?: string;
  readonly deleteData?: string | true;
  readonly clearDatabase?: string | true;
  readonly breakClients?: boolean;
}

export function addPublish(program: Command, io: Io): void {
  withAnonymous(withYes(withServer(program.command('publish [database]'))))
    .description('build a module and put it on a server, as a new database or over one you own')
    .option('-p, --module-path <dir>', 'folder of the module project (default: the current one)')
    .option('-j, --js-path <file>', 'publish this bundle, without building')
    .option('-c, --delete-data [when]', 'delete all rows: always, on-conflict or never')
    .option('--clear-database [when]', 'the same')
    .option('--break-clients', 'do not ask before a change that disconnects clients')
    .option('--build-options <text>', 'accepted for compatibility')
    .option('--env <name>', 'overlay of the project configuration')
    .action(async (name: string | undefined, flags: PublishFlags, command: Command) => {
      const session = new Session(io, command);
      if (session.project !== undefined) io.out(`Using configuration from ${session.project.file}`);
      for (const target of targetsOf(session, name, flags)) {
        await publishTarget(session, target, flags);
      }
    });
}

/** What to publish: the flags alone, or the project's targets with the flags over them. */
function targetsOf(session: Session, name: string | undefined, flags: PublishFlags): Target[] {
  const fromFlags: Partial<Target> = {
    ...(flags.modulePath === undefined
      ? {}
      : { modulePath: path.resolve(session.io.cwd, flags.modulePath), jsPath: undefined }),
    ...(flags.jsPath === undefined ? {} : { jsPath: path.resolve(session.io.cwd, flags.jsPath) }),
  };
  const targets = session.project?.targets ?? [];
  const only = targets.length === 1 ? targets[0] : undefined;
  if (name === undefined && targets.length > 0) {
    return targets.map((target) => ({ ...target, ...fromFlags }));
  }
  const named = targets.find(({ database }) => database === name);
  if (targets.length > 1 && named === undefined) {
    const available = targets.map(({ database }) => database).join(', ');
    throw new CliError(`No database target matches '${name}'. Available databases: ${available}`);
  }
  return [{ ...emptyTarget, ...(named ?? only), database: name, ...fromFlags }];
}

const emptyTarget: Target = {
  database: undefined,
  server: undefined,
  modulePath: undefined,
  jsPath: undefined,
  breakClients: false,
  anonymous: false,
};

async function publishTarget(session: Session, target: Target, flags: PublishFlags) {
  const { io } = session;
  const server = session.server(target.server);
  const program = await programOf(target, io);
  io.out(`Uploading to ${server.name} => ${server.url}`);
  if (!isLocalServer(server)) {
    io.out(`You are about to publish to a non-local server: ${new URL(server.url).hostname}`);
    const isSure = await confirm(
      io,
      'Are you sure you want to proceed?',
      session.answersYes('remote'),
    );
    if (!isSure) throw new CliError('Publish aborted by user.');
  }
  const api = target.anonymous ? session.api(server) : await session.apiWithIdentity(server);
  const choice = await prepareUpdate({
    api,
    io,
    program,
    database: target.database,
    deleteData: deleteDataOf(flags),
    mayBreakClients: flags.breakClients === true || target.breakClients,
    answersYes: (kind) => session.answersYes(kind),
  });
  if (choice === undefined) return;
  io.out('Publishing module...');
  io.out(resultText(await upload(api, target.database, program, choice)));
}

async function programOf(target: Target, io: Io): Promise<Uint8Array<ArrayBuffer>> {
  const { jsPath, database } = target;
  const named = database === undefined ? '' : ` to database '${database}'`;
  if (jsPath !== undefined) {
    if (!existsSync(jsPath)) throw new CliError(`${jsPath} does not exist`);
    io.out(`Publishing module ${jsPath}${named}`);
    return new Uint8Array(readFileSync(jsPath));
  }
  const folder = target.modulePath ?? defaultFolder(io.cwd);
  io.out(`Publishing module ${folder}${named}`);
  return new Uint8Array(await buildProject(folder, io));
}

/** A module project beside a client, or the current folder. */
function defaultFolder(cwd: string): string {
  const nested = path.join(cwd, 'spacetimedb');
  return existsSync(nested) ? nested : cwd;
}

function deleteDataOf(flags: PublishFlags): DeleteData {
  const given = flags.deleteData ?? flags.clearDatabase ?? 'never';
  const choices = ['always', 'on-conflict', 'never'] as const;
  const choice = choices.find((candidate) => candidate === given);
  if (given === true) return 'always';
  if (choice === undefined) throw new CliError(`--delete-data: one of ${choices.join(', ')}`, 2);
  return choice;
}

async function upload(
  api: Api,
  database: string | undefined,
  program: Uint8Array<ArrayBuffer>,
  choice: UpdateChoice,
): Promise<Published> {
  const query = new URLSearchParams({ host_type: 'Js', ...choice.query });
  const method = database === undefined ? 'POST' : 'PUT';
  const where = database === undefined ? '/v1/database' : databasePath(database);
  const headers = { 'content-type': 'text/javascript' };
  const answer = await api.send(method, `${where}?${query}`, { headers, body: program });
  const text = await answer.text();
  if (answer.status === 401 && text.startsWith('{"PermissionDenied"')) {
    throw new CliError(
      api.token === undefined
        ? `You need to be logged in as the owner of ${database} to publish to ${database}`
        : `The database ${database} is not registered to the identity you provided.\n` +
            'Publish under another name, or log in as its owner.',
    );
  }
  if (!answer.ok) throw new CliError(statusText(answer.status, text));
  return (JSON.parse(text) as { Success: Published }).Success;
}

interface Published {
  readonly domain: string | null;
  readonly database_identity: string;
  readonly op: 'created' | 'updated';
}

function resultText({ domain, database_identity: identity, op }: Published): string {
  const verb = op === 'created' ? 'Created new' : 'Updated';
  const named = domain === null ? '' : `name: ${domain}, `;
  return `${verb} database with ${named}identity: ${identity}`;
}
