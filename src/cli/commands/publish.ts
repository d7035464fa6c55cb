import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { parseTarget } from '../../host/registry/names.ts';
import { nullable, object, type Shaped, string, word } from '../../values/json-shape.ts';
import { type Api, databasePath, readAnswer, statusText } from '../api.ts';
import { buildProject } from '../build-project.ts';
import { CliError, confirm, type Io } from '../io.ts';
import {
  type DeleteData,
  notYours,
  prepareUpdate,
  publishAbortedText,
  type UpdateChoice,
} from '../prepare-update.ts';
import type { Target } from '../project-config.ts';
import { isLocalServer } from '../server-choice.ts';
import { Session } from '../session.ts';
import { withAnonymous, withServer, withYes } from '../shared-flags.ts';
import { defaultModuleFolder, matcherOf } from '../target-choice.ts';

interface PublishFlags {
  readonly modulePath?: string;
  readonly jsPath?: string;
  readonly deleteData?: string;
  readonly clearDatabase?: string;
  readonly breakClients?: boolean;
}

export function addPublish(program: Command, io: Io): void {
  withAnonymous(withYes(withServer(program.command('publish [database]'))))
    .description('build a module and publish it, as a new database or as an update of one you own')
    .option('-p, --module-path <dir>', 'folder of the module project (default: the current one)')
    .option('-j, --js-path <file>', 'publish this bundle instead of building the project')
    .option('-c, --delete-data [=when]', 'delete all rows: always, on-conflict or never')
    .addOption(new Option('--clear-database [=when]').hideHelp())
    .option('--break-clients', 'do not ask before a change that disconnects clients')
    .addOption(new Option('--build-options <text>').hideHelp())
    .addOption(new Option('--build-opts <text>').hideHelp())
    .addOption(new Option('--num-replicas <count>').hideHelp())
    .option('--env <name>', 'environment, whose files override the project configuration')
    .addHelpText('after', examples)
    .action(async (name: string | undefined, flags: PublishFlags, command: Command) => {
      const session = new Session(io, command);
      deleteDataOf(flags);
      if (session.project !== undefined) io.out(`Using configuration from ${session.project.file}`);
      for (const target of targetsOf(session, name, flags)) {
        await publishTarget(session, target, flags);
      }
    });
}

const examples = `
Examples:
  reducerdb publish my-db --module-path app
  reducerdb publish                          as service.json in this folder says
  reducerdb publish my-db --delete-data      delete all rows, then publish`;

/**
 * The targets to publish: from the flags alone, or the project's targets, overridden by the flags.
 */
function targetsOf(session: Session, name: string | undefined, flags: PublishFlags): Target[] {
  const { modulePath, jsPath } = flags;
  if (modulePath !== undefined && jsPath !== undefined) {
    throw new CliError('--module-path and --js-path cannot be combined', 2);
  }
  const fromFlags: Partial<Target> = {
    ...(modulePath === undefined
      ? {}
      : { modulePath: path.resolve(session.io.cwd, modulePath), jsPath: undefined }),
    ...(jsPath === undefined ? {} : { jsPath: path.resolve(session.io.cwd, jsPath) }),
  };
  const targets = session.project?.targets ?? [];
  const chosen = name === undefined ? targets : targets.filter(matcherOf(name));
  if (chosen.length > 0) return chosen.map((target) => ({ ...target, ...fromFlags }));
  if (targets.length > 1) {
    const available = targets.map(({ database }) => database).filter((it) => it !== undefined);
    throw new CliError(
      `No database target matches '${name}'. Available databases: ${available.join(', ')}`,
    );
  }
  return [{ ...emptyTarget, ...targets[0], database: name, ...fromFlags }];
}

const emptyTarget: Target = {
  database: undefined,
  server: undefined,
  modulePath: undefined,
  jsPath: undefined,
  breakClients: false,
  anonymous: false,
  generate: [],
};

async function publishTarget(session: Session, target: Target, flags: PublishFlags) {
  const { io } = session;
  const server = session.server(target.server);
  if (target.database !== undefined) checkDatabase(target.database);
  const program = await programOf(target, io);
  io.out(`Uploading to ${server.name} => ${server.url}`);
  if (!isLocalServer(server)) {
    io.out(`You are about to publish to a non-local server: ${new URL(server.url).hostname}`);
    const isSure = await confirm(
      io,
      'Are you sure you want to proceed?',
      session.answersYes('remote'),
    );
    if (!isSure) throw new CliError(publishAbortedText);
  }
  const api = target.anonymous
    ? session.anonymousApi(server)
    : await session.apiWithIdentity(server);
  const choice = await prepareUpdate({
    api,
    io,
    program,
    database: target.database,
    deleteData: deleteDataOf(flags),
    mayBreakClients: flags.breakClients === true || target.breakClients,
    answersYes: (kind) => session.answersYes(kind),
  });
  io.out('Publishing module...');
  io.out(resultText(await upload(api, target.database, program, choice)));
}

/** Rejects a name that no database can have before anything is built. */
function checkDatabase(given: string): void {
  const found = parseTarget(given);
  if (found.kind !== 'invalid') return;
  throw new CliError(
    `\`${given}\`: ${found.fault}. ` +
      'A name consists of lower-case letters, digits and single hyphens, such as my-db.',
  );
}

async function programOf(target: Target, io: Io): Promise<Uint8Array<ArrayBuffer>> {
  const { jsPath, database } = target;
  const named = database === undefined ? '' : ` to database '${database}'`;
  if (jsPath !== undefined) {
    if (!existsSync(jsPath)) throw new CliError(`${jsPath} does not exist`);
    io.out(`Publishing module ${jsPath}${named}`);
    return new Uint8Array(readFileSync(jsPath));
  }
  const folder = target.modulePath ?? defaultModuleFolder(io.cwd);
  io.out(`Publishing module ${folder}${named}`);
  return new Uint8Array(await buildProject(folder, io));
}

function deleteDataOf(flags: PublishFlags): DeleteData {
  const given = flags.deleteData ?? flags.clearDatabase ?? 'never';
  const choices = ['always', 'on-conflict', 'never'] as const;
  const choice = choices.find((candidate) => candidate === given);
  if (choice === undefined)
    throw new CliError(`--delete-data must be one of ${choices.join(', ')}`, 2);
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
  const isOthers =
    (answer.status === 401 && text.startsWith('{"PermissionDenied"')) ||
    (answer.status === 403 && text.includes('is not authorized to'));
  if (isOthers) throw notYours(api, database);
  if (!answer.ok) throw new CliError(statusText(answer.status, text));
  return readAnswer(text, object({ Success: published })).Success;
}

const published = object({
  domain: nullable(string),
  database_identity: string,
  op: word('created', 'updated'),
});

type Published = Shaped<typeof published>;

function resultText({ domain, database_identity: identity, op }: Published): string {
  const verb = op === 'created' ? 'Created new' : 'Updated';
  const named = domain === null ? '' : `name: ${domain}, `;
  return `${verb} database with ${named}identity: ${identity}`;
}
