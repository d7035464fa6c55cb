import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { type Command, Option } from 'commander';
import type { OnConflict } from '../dev/schema-conflict.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { readProjectConfig } from '../project-config.ts';
import { isLocalServer } from '../server-choice.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';

interface DevFlags {
  readonly database?: string;
  readonly projectPath: string;
  readonly modulePath?: string;
  readonly moduleBindingsPath?: string;
  readonly clientLang?: string;
  readonly run?: string;
  readonly serverOnly?: boolean;
  readonly skipGenerate?: boolean;
  readonly reset?: boolean;
  readonly deleteData?: string;
  readonly onConflict?: OnConflict;
  readonly port?: string;
  readonly env: string;
  readonly config: boolean;
}

export function addDev(program: Command, io: Io): void {
  withYes(withServer(program.command('dev [database]')))
    .description('run a project while you write it: service, module, bindings, log and front end')
    .addOption(new Option('--database <database>').hideHelp())
    .option('--project-path <dir>', 'folder of the project', '.')
    .option('-p, --module-path <dir>', 'folder of the module (default: as service.json says)')
    .option('--module-bindings-path <dir>', 'write bindings there, whatever service.json says')
    .addOption(new Option('--client-lang <language>').hideHelp())
    .option('--run <command>', "the front end's own command (default: dev.run, else npm run dev)")
    .option('--server-only', 'run no front end')
    .option('--skip-generate', 'write no bindings')
    .option('--reset', 'begin with an empty database, and run seed.ts on it')
    .addOption(
      new Option('-c, --delete-data [when]').choices(['always', 'on-conflict', 'never']).hideHelp(),
    )
    .addOption(
      new Option(
        '--on-conflict <answer>',
        'what to do with a change of the schema that needs a decision (default: ask)',
      ).choices(['ask', 'migrate', 'reset', 'stop']),
    )
    .option('--port <port>', 'port of the service to try first (default: that of the last run)')
    .option('--env <name>', 'environment, whose files override the project configuration', 'dev')
    .addHelpText('after', examples)
    .action(async (word: string | undefined, flags: DevFlags, command: Command) => {
      const session = new Session(io, command);
      process.exitCode = await dev(session, { ...flags, ...databaseOf(word, flags) });
    });
}

const examples = `
Examples:
  reducerdb dev                        as service.json in this folder says
  reducerdb dev my-db --reset          with an empty database, and what seed.ts puts there
  reducerdb dev --server-only --on-conflict=stop
                                       for a script: no front end, no questions

While it runs: r reset and seed, s SQL, c console, t tests, q quit.
The service keeps its data in .reducerdb/ of the project, and ends with this command.`;

function databaseOf(word: string | undefined, { database }: DevFlags) {
  if (word !== undefined && database !== undefined && word !== database) {
    throw new CliError('the database is named twice', 2);
  }
  const named = word ?? database;
  return named === undefined ? {} : { database: named };
}

async function dev(session: Session, flags: DevFlags): Promise<number> {
  const { io } = session;
  const { insideVariable } = await import('../dev/front-end.ts');
  if (io.environment[insideVariable] !== undefined) throw new CliError(insideText, 2);
  const folder = path.resolve(io.cwd, flags.projectPath);
  if (!existsSync(folder)) throw new CliError(`${folder} does not exist`, 2);
  checkLanguage(flags.clientLang);
  const port = portOf(flags.port);
  const real = realpathSync(folder);
  const config = flags.config ? readProjectConfig(real, flags.env) : undefined;
  // Loaded on demand: other commands start faster without bundler and watcher.
  const [{ devProject }, { DevPlace }, { DevScreen }, { DevSession }] = await Promise.all([
    import('../dev/dev-project.ts'),
    import('../dev/dev-place.ts'),
    import('../dev/dev-screen.ts'),
    import('../dev/dev-session.ts'),
  ]);
  const given = devProject(real, config, flags, io.cwd);
  const project = { ...given, module: realpathSync(given.module) };
  const place = new DevPlace(project.root);
  const screen = new DevScreen(io);
  place.make();
  const server = await serverOf(session, { place, screen, port });
  return new DevSession({
    ...{ io, place, project, server, screen },
    onConflict: flags.onConflict ?? (flags.deleteData === 'on-conflict' ? 'reset' : 'ask'),
    isReset: flags.reset === true || flags.deleteData === 'always',
    hasFrontEnd: flags.serverOnly !== true,
    writesBindings: flags.skipGenerate !== true,
    configuration: configurationFiles(place.root, flags.env),
  }).run();
}

const insideText =
  'reducerdb dev runs this command already: let `dev.run` in service.json name the front end’s ' +
  'own command, such as "vite"';

async function serverOf(
  session: Session,
  options: ConstructorParameters<typeof import('../dev/dev-service.ts').DevService>[0],
) {
  const { flags, io } = session;
  if (flags.server === undefined) {
    const { DevService } = await import('../dev/dev-service.ts');
    const service = new DevService(options);
    await service.begin();
    return service;
  }
  const server = session.server();
  if (!isLocalServer(server)) {
    const question = `dev publishes every save to ${server.url}. Proceed?`;
    const isSure = await confirm(io, question, session.answersYes('remote'), 'Nothing was done.');
    if (!isSure) throw new CliError('Nothing was done.');
  }
  const { namedServer } = await import('../dev/dev-server.ts');
  return namedServer(await session.apiWithIdentity(server));
}

function configurationFiles(root: string, environment: string): string[] {
  const layers = ['', '.local', `.${environment}`, `.${environment}.local`];
  return layers.map((layer) => path.join(root, `service${layer}.json`));
}

function checkLanguage(language: string | undefined): void {
  if (language === undefined || ['typescript', 'ts'].includes(language.toLowerCase())) return;
  throw new CliError(`Bindings for ${language} are not supported, only for typescript.`, 2);
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new CliError('--port must be a number from 1 to 65535', 2);
}
