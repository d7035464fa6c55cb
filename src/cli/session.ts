import type { Command } from 'commander';
import { deriveIdentity } from '../auth/identity.ts';
import { identityToHex } from '../values/identity.ts';
import { object, string } from '../values/json-shape.ts';
import { Api } from './api.ts';
import { type CiToken, readCiToken } from './ci-token.ts';
import { type RunningDev, runningDev } from './dev/running-dev.ts';
import { CliError, type Io } from './io.ts';
import { findPlaces, type Places } from './places.ts';
import {
  onlyServer,
  type ProjectConfig,
  projectFolder,
  readProjectConfig,
} from './project-config.ts';
import { chooseServer, type ServerAddress } from './server-choice.ts';
import { readUserConfig, type UserConfig, writeUserConfig } from './user-config.ts';

/** Kinds of questions that `--yes` can name. */
export const yesKinds = [
  'all',
  'remote',
  'migrate',
  'break-clients',
  'skip-login',
  'delete-data',
  'give-up',
  'forget',
  'in-place',
  'rollback',
] as const;

export type YesKind = (typeof yesKinds)[number];

/** Flags that all commands which talk to a host share. */
export interface SharedFlags {
  readonly server?: string;
  readonly anonymous?: boolean;
  /** Kinds of questions to answer with yes. */
  readonly yes?: readonly string[];
  readonly config?: boolean;
  readonly env?: string;
}

/** The text for a command that needs a saved identity and finds none. */
export const notLoggedInText = 'You are not logged in.';

/** The configuration and connections of one run of a command. */
export class Session {
  readonly io: Io;
  readonly places: Places;
  readonly flags: SharedFlags;
  /** Of the environment; its server goes before those of files. */
  readonly #ci: CiToken | undefined;
  #config: UserConfig;
  #project: { readonly read: ProjectConfig | undefined } | undefined;

  constructor(io: Io, command: Command) {
    this.io = io;
    this.flags = command.optsWithGlobals<SharedFlags & { rootDir?: string; configPath?: string }>();
    const { rootDir, configPath } = command.optsWithGlobals();
    this.places = findPlaces({ rootDir, configPath, environment: io.environment });
    this.#config = readUserConfig(this.places.configFile);
    this.#ci = readCiToken(io.environment);
  }

  get config(): UserConfig {
    return this.#config;
  }

  /** Read on first use: a fault in it does not stop a command that does not need it. */
  get project(): ProjectConfig | undefined {
    if (this.flags.config === false) return undefined;
    this.#project ??= { read: readProjectConfig(this.io.cwd, this.flags.env) };
    return this.#project.read;
  }

  save(config: UserConfig): void {
    this.#config = config;
    writeUserConfig(this.places.configFile, config, this.io);
  }

  /** The server for a command without its own target. */
  server(preferred?: string): ServerAddress {
    const project = () => (this.project === undefined ? undefined : onlyServer(this.project));
    if (this.flags.server === undefined && this.#ci !== undefined) return this.#ci.server;
    const named = this.flags.server ?? preferred ?? project();
    if (named === undefined && this.#dev !== undefined) return { url: this.#dev.url, name: 'dev' };
    return chooseServer(this.#config, named);
  }

  /** The service that `dev` runs in this project: no server has to be named for it. */
  get #dev(): RunningDev | undefined {
    const { cwd } = this.io;
    const folder = this.flags.config === false ? undefined : projectFolder(cwd);
    return runningDev(folder ?? cwd);
  }

  /** The token for a server: that of the environment goes to its own server only. */
  tokenFor(server: ServerAddress): string | undefined {
    if (server.url === this.#ci?.server.url) return this.#ci.token;
    const dev = this.#dev;
    return server.url === dev?.url ? dev.token : this.#config.token;
  }

  /** Uses the saved identity; anonymous with `--anonymous`, or when none is saved. */
  api(server = this.server()): Api {
    return this.flags.anonymous === true
      ? this.anonymousApi(server)
      : new Api(server, this.tokenFor(server), this.#projectDatabases);
  }

  anonymousApi(server: ServerAddress): Api {
    return new Api(server, undefined, this.#projectDatabases);
  }

  /** None before the project was read: a command that does not need it does not look at it. */
  readonly #projectDatabases = (): readonly string[] => {
    const targets = this.#project?.read?.targets ?? [];
    return targets.flatMap(({ database }) => (database === undefined ? [] : [database]));
  };

  /** Uses the saved identity; obtains one from the server first when none is saved. */
  async apiWithIdentity(server = this.server()): Promise<Api> {
    if (this.flags.anonymous !== true && this.tokenFor(server) === undefined) {
      await this.loginDirectly(server);
    }
    return this.api(server);
  }

  /** Obtains a new identity, issued by the server itself: it is not valid on other servers. */
  async loginDirectly(server: ServerAddress): Promise<void> {
    const shape = object({ identity: string, token: string });
    const answer = await new Api(server, undefined).json('POST', '/v1/identity', shape);
    this.save({ ...this.#config, token: answer.token });
    this.io.err('We have logged in directly to your target server.');
    this.io.err('WARNING: This login will NOT work for any other servers.');
    this.io.err(`Logged in with identity ${answer.identity}`);
  }

  /**
   * True if `--yes` was given, alone (all kinds) or with a list that names this kind of question.
   */
  answersYes(kind: YesKind): boolean {
    const { yes = [] } = this.flags;
    return yes.includes('all') || yes.includes(kind);
  }
}

/** The identity of a token, read from its claims, which only the server verifies. */
export function identityOfToken(token: string): string {
  try {
    const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
    const { iss, sub } = JSON.parse(payload) as { iss: unknown; sub: unknown };
    if (typeof iss === 'string' && typeof sub === 'string') {
      return identityToHex(deriveIdentity(iss, sub));
    }
  } catch {
    // Handled below: a token that cannot be read has no identity.
  }
  throw new CliError('That is not a token: it has no readable issuer and subject.');
}
