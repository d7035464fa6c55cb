import path from 'node:path';
import { definitionFromSchema } from '../../codegen/schema-document.ts';
import { databasePath } from '../api.ts';
import { deployList, planChanges } from '../deploys.ts';
import { CliError, type Io } from '../io.ts';
import { writeBindings } from './dev-bindings.ts';
import { type DevInput, devInput } from './dev-input.ts';
import { DevKeys } from './dev-keys.ts';
import { DevLoop } from './dev-loop.ts';
import type { DevPlace } from './dev-place.ts';
import type { DevProject } from './dev-project.ts';
import type { PublishResult } from './dev-publish.ts';
import type { DevScreen } from './dev-screen.ts';
import type { DevServer } from './dev-server.ts';
import { DevWatch } from './dev-watch.ts';
import { followLog } from './follow-log.ts';
import { frontEndCommand, placeVariables, SideCommand } from './front-end.ts';
import { countRows, runningSchema, totalOf } from './row-counts.ts';
import { runSeed, seedFile } from './run-seed.ts';
import { type OnConflict, resolveConflict } from './schema-conflict.ts';
import { SleepWatch } from './sleep-watch.ts';
import { TypeErrors } from './type-errors.ts';

export interface DevOptions {
  readonly io: Io;
  readonly place: DevPlace;
  readonly project: DevProject;
  readonly server: DevServer;
  readonly screen: DevScreen;
  readonly onConflict: OnConflict;
  /** Starts with an empty database. */
  readonly isReset: boolean;
  readonly hasFrontEnd: boolean;
  readonly writesBindings: boolean;
  /** Sources of configuration: a change of one is only named. */
  readonly configuration: readonly string[];
}

/** One run of `dev`, from its service to its end. */
export class DevSession {
  readonly #options: DevOptions;
  readonly #input: DevInput;
  readonly #loop: DevLoop;
  readonly #types: TypeErrors;
  readonly #commands = new Set<SideCommand>();
  readonly #ending = new AbortController();
  readonly #since = Date.now() * 1_000;
  #schema = '';
  #isFollowing = false;
  #hasEnsured = true;
  /** Resolves `untilEnd`. */
  #ended: (code: number) => void = () => undefined;

  constructor(options: DevOptions) {
    this.#options = options;
    const { io, project, screen, server, place } = options;
    this.#input = devInput(io);
    this.#types = new TypeErrors(project.module, screen);
    const { module, database } = project;
    this.#loop = new DevLoop({
      ...{ root: place.root, module, database, screen, types: this.#types },
      api: () => server.api(),
      ensure: () => this.#ensure(),
      resolve: async (program, reason, signal) => {
        const asking = { screen, input: this.#input, policy: options.onConflict, signal };
        const api = await server.api();
        return resolveConflict({ api, database, module, program, reason, ...asking });
      },
      published: (result, how) => this.#published(result, how),
    });
  }

  /** Runs until the user ends it, or nothing more can be done; gives the exit code. */
  async run(): Promise<number> {
    const { isReset, screen, place } = this.#options;
    this.#listen();
    const untilEnd = new Promise<number>((resolve) => {
      this.#ended = resolve;
    });
    const watch = this.#watch();
    const sleep = new SleepWatch({
      folder: place.root,
      woke: (seconds) => this.#woke(seconds),
      gone: () => {
        screen.fault(`${place.root} was moved or deleted: dev ends. Start it where it is now.`);
        this.end(1);
      },
      look: () => void this.#lookAtService(),
    });
    const stop = () => this.end(0);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
    process.on('exit', () => this.#killAll());
    try {
      await watch.ready();
      this.#loop.watch = watch;
      await (isReset ? this.#loop.reset() : this.#loop.run());
      await this.#begun();
      return await untilEnd;
    } finally {
      sleep.end();
      await this.#close(watch);
    }
  }

  /** Ends the run; a second time, the process at once. */
  end(code: number): void {
    if (this.#ending.signal.aborted) process.exit(code);
    this.#ending.abort();
    this.#ended(code);
  }

  #listen(): void {
    const { io, project, place, screen, server } = this.#options;
    new DevKeys({
      ...{ io, screen, project, server, input: this.#input, root: place.root },
      reset: () => this.#loop.reset(),
      start: (run) => this.#side(run),
      quit: () => this.end(0),
    }).listen();
  }

  #watch(): DevWatch {
    const { project, place, configuration, screen } = this.#options;
    const seeds = [place.root, project.module].map((folder) => path.join(folder, 'seed.ts'));
    return new DevWatch({
      folders: [...new Set([project.module, ...seeds, ...configuration])],
      ignored: [...project.bindings.map(({ folder }) => folder), place.folder],
      changing: (file) => this.#loop.changing(file),
      changed: (files) => {
        const changed = configuration.find((file) => files.has(file));
        if (changed !== undefined) {
          screen.warn(`${path.basename(changed)} has changed: start dev again to have it read`);
        }
        this.#loop.changed(files);
      },
      failed: (error) => screen.warn(`a folder cannot be watched: ${String(error)}`),
    });
  }

  /** What comes after the first round, whatever has become of it. */
  async #begun(): Promise<void> {
    const { io, project, place, screen, server, hasFrontEnd } = this.#options;
    if (this.#ending.signal.aborted) return;
    const console = `${server.url}/console/`;
    screen.say(`database: ${project.database}   console: ${console}`);
    const command = hasFrontEnd ? frontEndCommand(place.root, project.run) : undefined;
    if (command === undefined) screen.say('front end: none (dev.run in service.json names one)');
    else {
      screen.say(`front end: ${command.command}`);
      const frontEnd = this.#side({
        ...command,
        screen,
        mark: '[web] ',
        environment: { ...io.environment, ...placeVariables(server.url, project.database) },
        onPage: (url) => {
          // Some print where their database is.
          const isPage = new URL(url).origin !== new URL(server.url).origin;
          if (isPage) screen.say(`page: ${url}   console: ${console}`);
          return isPage;
        },
      });
      void frontEnd.ended.then((code) => {
        if (frontEnd.isEnding) return;
        screen.warn(`the front end has ended (exit code ${code ?? 'unknown'}); dev goes on`);
      });
    }
    screen.say('watching. r reset and seed, s SQL, c console, t tests, q quit');
  }

  #side(options: ConstructorParameters<typeof SideCommand>[0]): SideCommand {
    const command = new SideCommand(options);
    this.#remember(command);
    return command;
  }

  #remember(command: SideCommand): void {
    this.#commands.add(command);
    void command.ended.then(() => this.#commands.delete(command));
  }

  async #published(
    result: Extract<PublishResult, { kind: 'published' }>,
    { millis, isReset }: { readonly millis: number; readonly isReset: boolean },
  ): Promise<void> {
    const { screen, project, server } = this.#options;
    const verb = isReset ? 'reset and published' : result.isCreated ? 'created' : 'published';
    const same = !result.isNew && !result.isCreated && !isReset;
    if (same) screen.say(`${project.database} runs this program already`);
    else screen.say(`${verb} ${project.database} in ${Math.round(millis)} ms`);
    const api = await server.api();
    const before = this.#schema;
    this.#schema = await runningSchema(api, project.database);
    if (before !== '' && before !== this.#schema && !isReset) await this.#nameChanges();
    if (before !== this.#schema && this.#options.writesBindings) await this.#writeBindings();
    this.#follow();
    await this.#seed(result.identity, isReset || result.isCreated);
  }

  /** Names what has become of the tables, in one line. */
  async #nameChanges(): Promise<void> {
    const { screen, project, server } = this.#options;
    const api = await server.api();
    const where = databasePath(project.database, '/deploys');
    const [newest] = (await api.json('GET', where, deployList)).deploys;
    const changes = planChanges(newest?.plan ?? '');
    if (changes !== '') screen.say(`schema: ${changes}`);
  }

  async #writeBindings(): Promise<void> {
    const { io, project, place, screen } = this.#options;
    const { bindings } = project;
    if (bindings.length === 0) return;
    await writeBindings(this.#schema, bindings, io);
    const folders = bindings.map(({ folder }) => path.relative(place.root, folder)).join(', ');
    screen.say(`bindings: ${folders}`);
  }

  #follow(): void {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    const { io, screen, project, server } = this.#options;
    const { signal } = this.#ending;
    const told = { screen, database: project.database, hasColours: io.hasColours };
    const ensure = () => this.#ensure();
    const api = () => server.api();
    followLog({ ...told, since: this.#since, api, ensure, signal }).catch((error: unknown) => {
      if (!signal.aborted) screen.warn(`the log is not followed: ${String(error)}`);
    });
  }

  /**
   * Runs the seed on a database without rows, once. A new one gets it whatever is counted: a module
   * may have rows of its own from `init`, and rows of the connections that are open.
   */
  async #seed(identity: string, isNew: boolean): Promise<void> {
    const { io, screen, project, place, server } = this.#options;
    const file = seedFile(place.root, project.module);
    if (file === undefined || (!isNew && place.seeded === identity)) return;
    const api = await server.api();
    if (!isNew) {
      const counts = await countRows(api, project.database, definitionFromSchema(this.#schema));
      if (totalOf(counts) > 0) return;
    }
    const shown = path.relative(place.root, file);
    const isDone = await runSeed({
      root: place.root,
      file,
      folder: place.folder,
      bindings: project.bindings.map(({ folder }) => folder),
      url: server.url,
      database: project.database,
      token: api.token,
      screen,
      environment: io.environment,
      started: (command) => this.#remember(command),
    });
    if (!isDone) {
      screen.fault(`${shown} has failed: correct it and press r, which resets and runs it again`);
      return;
    }
    place.noteSeeded(identity);
    screen.say(`seeded by ${shown}`);
  }

  async #ensure(): Promise<void> {
    if (this.#ending.signal.aborted) return;
    try {
      await this.#options.server.ensure();
      this.#hasEnsured = true;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      this.#options.screen.fault(error.message);
      this.end(1);
    }
  }

  async #lookAtService(): Promise<void> {
    if (!this.#hasEnsured) return;
    this.#hasEnsured = false;
    await this.#ensure();
  }

  #woke(seconds: number): void {
    this.#options.screen.say(`the machine slept for ${seconds} s: looking again at everything`);
    void this.#loop.run();
  }

  async #close(watch: DevWatch): Promise<void> {
    const { screen, server } = this.#options;
    this.#input.close();
    screen.release();
    screen.say('ending');
    for (const command of this.#commands) command.kill();
    await this.#loop.end();
    await watch.close();
    await server.end();
    this.#commands.clear();
  }

  /** Ends what must not outlive this process. */
  #killAll(): void {
    for (const command of this.#commands) command.kill();
    this.#options.server.kill();
  }
}
