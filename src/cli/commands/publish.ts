import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { parseTarget } from '../../host/registry/names.ts';
import {
  boolean,
  nullable,
  number,
  object,
  optional,
  type Shaped,
  string,
  word,
} from '../../values/json-shape.ts';
import { type Api, databasePath, readAnswer } from '../api.ts';
import { buildProject } from '../build-project.ts';
import { awaitCanary } from '../deploys.ts';
import { type GivenValue, valuesOf } from '../env-values.ts';
import { followPublish } from '../follow-publish.ts';
import { CliError, confirm, type Io } from '../io.ts';
import {
  type DeleteData,
  notYours,
  prepareUpdate,
  publishAbortedText,
  type UpdateChoice,
} from '../prepare-update.ts';
import type { Target } from '../project-config.ts';
import { routeLines } from '../routes.ts';
import { isLocalServer } from '../server-choice.ts';
import { Session } from '../session.ts';
import { withAnonymous, withServer, withYes } from '../shared-flags.ts';
import { showPlan } from '../show-plan.ts';
import { type LocalFiles, readStaticFolder } from '../static-folder.ts';
import { defaultModuleFolder, matcherOf } from '../target-choice.ts';
import { uploadStatic } from '../upload-static.ts';

interface PublishFlags {
  readonly modulePath?: string;
  readonly jsPath?: string;
  readonly deleteData?: string;
  readonly clearDatabase?: string;
  readonly breakClients?: boolean;
  /** False: files of the project configuration are left alone. */
  readonly static?: string | false;
  readonly deleteStatic?: boolean;
  readonly setEnv?: readonly string[];
  readonly setSecret?: readonly string[];
  readonly envFile?: string;
  readonly message?: string;
  readonly canary?: string;
  readonly plan?: boolean;
  readonly json?: boolean;
  readonly token?: string;
  readonly cancel?: boolean;
}

export function addPublish(program: Command, io: Io): void {
  withAnonymous(withYes(withServer(program.command('publish [database]'))))
    .description('build a module and publish it, as a new database or as an update of one you own')
    .option('-p, --module-path <dir>', 'folder of the module project (default: the current one)')
    .option('-j, --js-path <file>', 'publish this bundle instead of building the project')
    .option('--static <dir>', 'publish the files of this folder with it, as a page of the database')
    .option('--no-static', 'leave the static files as they are, whatever service.json says')
    .option('--delete-static', 'serve no static files from now on')
    .option('-c, --delete-data [=when]', 'delete all rows: always, on-conflict or never')
    .addOption(new Option('--clear-database [=when]').hideHelp())
    .option('--break-clients', 'do not ask before a change that disconnects clients')
    .option('--plan', 'try it on the rows that are there, show what happens, and publish nothing')
    .option('--json', 'with --plan: print JSON')
    .option('--token <token>', 'publish exactly what the plan with this token has shown')
    .option('--cancel', 'abandon a publish to the database that is under way')
    .addOption(new Option('--build-options <text>').hideHelp())
    .addOption(new Option('--build-opts <text>').hideHelp())
    .addOption(new Option('--num-replicas <count>').hideHelp())
    .option('--set-env <name=value>', 'set a value that the module reads as ctx.env', collected)
    .option('--set-secret <name[=value]>', 'set a secret; without a value, ask for it', collected)
    .option('--env-file <file>', 'set the values and secrets in a file of lines NAME=value')
    .option('-m, --message <text>', 'what it is for, as `deploys` lists it')
    .option('--canary <seconds>', 'watch its calls for so long; roll it back if they fail')
    .option('--env <name>', 'environment, whose files override the project configuration')
    .addHelpText('after', examples)
    .action(async (name: string | undefined, flags: PublishFlags, command: Command) => {
      // With --json, standard output is for the document alone.
      const session = new Session(flags.json === true ? { ...io, out: io.err } : io, command);
      deleteDataOf(flags);
      checkCanary(flags);
      checkPlanFlags(flags);
      const { project } = session;
      if (project !== undefined) session.io.out(`Using configuration from ${project.file}`);
      const targets = targetsOf(session, name, flags);
      const values = await valuesOf(io, flags);
      if (values.length > 0 && targets.length > 1) {
        throw new CliError('values are for one database: name it before the flags', 2);
      }
      if (flags.token !== undefined && targets.length > 1) {
        throw new CliError('--token is of one database: name it before the flags', 2);
      }
      for (const target of targets) {
        if (flags.cancel === true) await cancelPublish(session, target);
        else await publishTarget(session, target, flags, values);
      }
    });
}

const examples = `
Examples:
  reducerdb publish my-db --module-path app
  reducerdb publish                          as service.json in this folder says
  reducerdb publish my-db --static dist      with the page that a bundler wrote to dist
  reducerdb publish my-db --env-file .env.production --set-secret API_KEY
                                             set what the module reads, then publish
  reducerdb publish my-db --plan             show what it would do to the rows
  reducerdb publish my-db --delete-data      delete all rows, then publish`;

function checkPlanFlags(flags: PublishFlags): void {
  if (flags.json === true && flags.plan !== true) throw new CliError('--json goes with --plan', 2);
  const given = (['plan', 'token', 'cancel', 'deleteData'] as const).filter((name) => {
    return flags[name] !== undefined;
  });
  if (given.length < 2) return;
  const words = given.map((name) => (name === 'deleteData' ? '--delete-data' : `--${name}`));
  throw new CliError(`${words.join(' and ')} cannot be combined`, 2);
}

/** The flags with which a publish of the plan builds the same program for the same database. */
function sameFlags({ flags: shared }: Session, flags: PublishFlags): string[] {
  const given = (name: string, value: string | undefined) => {
    return value === undefined ? [] : [name, value];
  };
  return [
    ...given('--module-path', flags.modulePath),
    ...given('--js-path', flags.jsPath),
    ...(flags.static === false ? ['--no-static'] : given('--static', flags.static)),
    ...(flags.deleteStatic === true ? ['--delete-static'] : []),
    ...given('--server', shared.server),
    ...given('--env', shared.env),
    ...(shared.config === false ? ['--no-config'] : []),
    ...(shared.anonymous === true ? ['--anonymous'] : []),
  ];
}

/** Abandons a publish that somebody has begun. */
async function cancelPublish(session: Session, target: Target): Promise<void> {
  const { database } = target;
  if (database === undefined) throw new CliError('--cancel needs the name of a database', 2);
  const api = await session.api(session.server(target.server));
  const where = databasePath(database, '/publish');
  const { cancelled } = await api.json('DELETE', where, object({ cancelled: boolean }));
  if (!cancelled) throw new CliError(`Nothing is being published to ${database}.`);
  session.io.out(`The publish to ${database} is abandoned, unless its swap was made by then.`);
}

/**
 * The targets to publish: from the flags alone, or the project's targets, overridden by the flags.
 */
function targetsOf(session: Session, name: string | undefined, flags: PublishFlags): Target[] {
  const { modulePath, jsPath } = flags;
  if (flags.deleteStatic === true && typeof flags.static === 'string') {
    throw new CliError('--static and --delete-static cannot be combined', 2);
  }
  if (modulePath !== undefined && jsPath !== undefined) {
    throw new CliError('--module-path and --js-path cannot be combined', 2);
  }
  const fromFlags: Partial<Target> = {
    ...(modulePath === undefined
      ? {}
      : { modulePath: path.resolve(session.io.cwd, modulePath), jsPath: undefined }),
    ...(jsPath === undefined ? {} : { jsPath: path.resolve(session.io.cwd, jsPath) }),
    ...staticOf(session, flags),
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

function staticOf({ io }: Session, flags: PublishFlags): Partial<Pick<Target, 'static'>> {
  if (typeof flags.static === 'string') return { static: path.resolve(io.cwd, flags.static) };
  return flags.static === false || flags.deleteStatic === true ? { static: undefined } : {};
}

const emptyTarget: Target = {
  database: undefined,
  server: undefined,
  modulePath: undefined,
  jsPath: undefined,
  static: undefined,
  breakClients: false,
  anonymous: false,
  generate: [],
};

function collected(word: string, before: readonly string[] = []): readonly string[] {
  return [...before, word];
}

async function publishTarget(
  session: Session,
  target: Target,
  flags: PublishFlags,
  values: readonly GivenValue[],
) {
  const { io } = session;
  const server = session.server(target.server);
  if (target.database !== undefined) checkDatabase(target.database);
  const files = target.static === undefined ? undefined : await readStaticFolder(target.static);
  const program = await programOf(target, io);
  io.out(`Uploading to ${server.name} => ${server.url}`);
  if (!isLocalServer(server)) {
    io.out(`You are about to publish to a non-local server: ${new URL(server.url).hostname}`);
    const isSure = await confirm(
      io,
      'Are you sure you want to proceed?',
      session.answersYes('remote'),
      publishAbortedText,
    );
    if (!isSure) throw new CliError(publishAbortedText);
  }
  const api = target.anonymous
    ? session.anonymousApi(server)
    : await session.apiWithIdentity(server);
  if (flags.plan === true) {
    const { database } = target;
    const isJson = flags.json === true;
    await showPlan({ api, io, program, database, isJson, flags: sameFlags(session, flags) });
    return;
  }
  const choice = await choiceOf(session, target, flags, { api, program });
  const { message, canary } = flags;
  const upload = { api, program, database: target.database, values, message, canary };
  if (files !== undefined) await publishWithFiles(io, { ...upload, ...choice }, files);
  else {
    const removed = flags.deleteStatic === true ? { static: 'none' } : {};
    await publishProgram(io, { ...upload, query: { ...choice.query, ...removed } });
  }
}

/** What the user has agreed to: by the token of a plan, or by answers. */
async function choiceOf(
  session: Session,
  { database, breakClients }: Target,
  flags: PublishFlags,
  { api, program }: Pick<Upload, 'api' | 'program'>,
): Promise<UpdateChoice> {
  const { token } = flags;
  if (token !== undefined) return { query: { policy: 'BreakClients', token } };
  return prepareUpdate({
    api,
    io: session.io,
    program,
    database,
    deleteData: deleteDataOf(flags),
    mayBreakClients: flags.breakClients === true || breakClients,
    answersYes: (kind) => session.answersYes(kind),
  });
}

/** A program, and how it is published. */
interface Upload extends UpdateChoice {
  readonly api: Api;
  readonly database: string | undefined;
  readonly program: Uint8Array<ArrayBuffer>;
  /** What is set with it. */
  readonly values: readonly GivenValue[];
  readonly message: string | undefined;
  /** Seconds for which it is watched. */
  readonly canary: string | undefined;
}

const anonymousFilesText =
  'Static files need several requests of one identity, and an anonymous caller has another one ' +
  'each time. Log in (reducerdb login), or publish without --anonymous.';

/** Publishes both in one step. Files belong to a database, so a new one is there first. */
async function publishWithFiles(io: Io, upload: Upload, files: LocalFiles): Promise<void> {
  const { api, database, query } = upload;
  if (api.token === undefined) throw new CliError(anonymousFilesText);
  const first = database && (await uploadStatic(api, io, database, files));
  if (first) {
    await publishProgram(io, { ...upload, query: { ...query, static: first.id } });
    io.out(`App: ${first.app}`);
    return;
  }
  const { domain, database_identity: identity } = await publishProgram(io, upload);
  const named = domain ?? identity;
  const second = await uploadStatic(api, io, named, files);
  if (second === undefined) throw new CliError('the server takes no static files: it is too old');
  const more = { values: [], query: { static: second.id }, canary: undefined };
  await sendProgram(io, { ...upload, database: named, ...more });
  io.out(`App: ${second.app}`);
}

async function publishProgram(io: Io, upload: Upload): Promise<Published> {
  io.out('Publishing module...');
  const published = await sendProgram(io, upload);
  io.out(resultText(published));
  if (published.deploy === null) io.out(unchangedText(upload.message));
  await watchCanary(io, upload, published);
  const routes = await routeLines(upload.api, published.domain ?? published.database_identity);
  if (routes.length > 0) io.out(['Routes:', ...routes].join('\n'));
  return published;
}

async function watchCanary(
  io: Io,
  { api, canary }: Upload,
  { domain, database_identity: identity, deploy }: Published,
): Promise<void> {
  if (canary === undefined) return;
  if (typeof deploy === 'number') {
    await awaitCanary(api, io, { database: domain ?? identity, deploy, seconds: Number(canary) });
    return;
  }
  io.out('There is nothing to watch.');
}

function checkCanary({ canary }: PublishFlags): void {
  if (canary === undefined) return;
  if (/^[1-9]\d{0,3}$/.test(canary) && Number(canary) <= 3600) return;
  throw new CliError('--canary is a number of seconds from 1 to 3600, such as 60', 2);
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

async function sendProgram(io: Io, upload: Upload): Promise<Published> {
  const { api, database, program, values, message, canary } = upload;
  const { type, bytes } = programBody(program, values);
  const query = new URLSearchParams({
    ...{ host_type: 'Js', ...upload.query },
    ...(message !== undefined && { message }),
    ...(canary !== undefined && { canary }),
  });
  const method = database === undefined ? 'POST' : 'PUT';
  const where = database === undefined ? '/v1/database' : databasePath(database);
  const headers = { 'content-type': type };
  const request = { method, headers, body: bytes };
  const { status, text } = await followPublish(api, `${where}?${query}`, request, io);
  const isOthers =
    (status === 401 && text.startsWith('{"PermissionDenied"')) ||
    (status === 403 && /is not authorized to .*: (?!set env)/.test(text));
  if (isOthers) throw notYours(api, database);
  if (status !== 200) throw new CliError(api.failureText(status, text) + adviceOn(text));
  return readAnswer(text, object({ Success: published })).Success;
}

function adviceOn(refusal: string): string {
  if (!refusal.includes('Token provided is invalid')) return '';
  return (
    '\nThe plan is out of date: the database runs another program by now, or this is another ' +
    'program than the one that was planned. Plan again with --plan.'
  );
}

/** The program; with values, a line of JSON comes before it. */
function programBody(program: Uint8Array<ArrayBuffer>, values: readonly GivenValue[]) {
  if (values.length === 0) return { type: 'text/javascript', bytes: program };
  const env = Object.fromEntries(values.map(({ name, ...given }) => [name, given]));
  const head = Buffer.from(`${JSON.stringify({ env })}\n`);
  const bytes = new Uint8Array(Buffer.concat([head, program]));
  return { type: 'application/x-reducerdb-publish', bytes };
}

/** What a publish of the program that runs has done. */
function unchangedText(message: string | undefined): string {
  const kept = message === undefined ? '' : ' Its message was not kept.';
  return `This program ran already: nothing has changed, and there is no new deploy.${kept}`;
}

const published = object({
  domain: nullable(string),
  database_identity: string,
  op: word('created', 'updated'),
  /** Absent from services that know of none; `null`: the program ran already. */
  deploy: optional(nullable(number)),
});

type Published = Shaped<typeof published>;

function resultText({ domain, database_identity: identity, op }: Published): string {
  const verb = op === 'created' ? 'Created new' : 'Updated';
  const named = domain === null ? '' : `name: ${domain}, `;
  return `${verb} database with ${named}identity: ${identity}`;
}
