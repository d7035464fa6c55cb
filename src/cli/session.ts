import type { Command } from 'commander';
import { deriveIdentity } from '../auth/identity.ts';
import { limits } from '../limits.ts';
import { identityToHex } from '../values/identity.ts';
import { JsonError } from '../values/json-error.ts';
import { list, object, parseAs, string } from '../values/json-shape.ts';
import { Api, type ErrorHints, readAnswer } from './api.ts';
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
import {
  isHeldBack,
  isSavedServer,
  mayHaveMoved,
  replacedAt,
  savedFor,
  tokenOfMoved,
  unboundToken,
  withAnother,
  withCurrent,
  withRotatedKey,
} from './saved-tokens.ts';
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

  /** The server for a command without its own target; `preferred` is what a project names. */
  server(preferred?: string): ServerAddress {
    if (this.flags.server !== undefined) return chooseServer(this.#config, this.flags.server);
    if (this.#ci !== undefined) return this.#ci.server;
    const named = preferred ?? (this.project === undefined ? undefined : onlyServer(this.project));
    if (named !== undefined) return this.#ofProject(chooseServer(this.#config, named));
    if (this.#dev !== undefined) return { url: this.#dev.url, name: 'dev' };
    return chooseServer(this.#config, undefined);
  }

  #ofProject(server: ServerAddress): ServerAddress {
    return isSavedServer(this.#config, server.url) ? server : { ...server, isOnlyOfProject: true };
  }

  /** The service that `dev` runs in this project: no server has to be named for it. */
  get #dev(): RunningDev | undefined {
    const { cwd } = this.io;
    const folder = this.flags.config === false ? undefined : projectFolder(cwd);
    return runningDev(folder ?? cwd);
  }

  /** The token for a server: that of the environment goes to its own server only. */
  async tokenFor(server: ServerAddress): Promise<string | undefined> {
    if (server.url === this.#ci?.server.url) return this.#ci.token;
    const dev = this.#dev;
    return server.url === dev?.url ? dev.token : this.savedTokenFor(server);
  }

  /** The token of the user's file for a server. */
  async savedTokenFor(server: ServerAddress): Promise<string | undefined> {
    const saved = savedFor(this.#config, server);
    if (saved !== undefined) return saved.token;
    if (unboundToken(this.#config) !== undefined || !mayHaveMoved(this.#config, server)) {
      return undefined;
    }
    const key = await keyOf(server);
    return key === undefined ? undefined : tokenOfMoved(this.#config, key)?.token;
  }

  /** The token of the `dev` that runs in this project, if that is what commands are about. */
  get devToken(): string | undefined {
    const dev = this.#dev;
    return dev !== undefined && this.server().url === dev.url ? dev.token : undefined;
  }

  /** Uses the saved identity; anonymous with `--anonymous`, or when none is saved. */
  async api(server = this.server()): Promise<Api> {
    if (this.flags.anonymous === true) return this.anonymousApi(server);
    const token = await this.tokenFor(server);
    if (token === undefined && isHeldBack(this.#config, server)) {
      this.io.err(`Your saved identity is not sent to ${server.url}. ${heldBackAdvice(server)}`);
    }
    return new Api(server, token, this.#hints);
  }

  anonymousApi(server: ServerAddress): Api {
    return new Api(server, undefined, this.#hints);
  }

  /** No databases before the project was read: a command that does not need it does not look. */
  readonly #hints: ErrorHints = {
    projectDatabases: () => {
      const targets = this.#project?.read?.targets ?? [];
      return targets.flatMap(({ database }) => (database === undefined ? [] : [database]));
    },
    replacedIdentities: (server) =>
      replacedAt(this.#config, server).map(({ token }) => identityOfToken(token)),
  };

  /** Uses the saved identity; obtains one from the server first when none is saved. */
  async apiWithIdentity(server = this.server()): Promise<Api> {
    if (this.flags.anonymous === true) return this.anonymousApi(server);
    const token = await this.tokenFor(server);
    if (token !== undefined) return new Api(server, token, this.#hints);
    if (isHeldBack(this.#config, server)) {
      throw new CliError(`Nothing was sent to ${server.url}. ${heldBackAdvice(server)}`);
    }
    return new Api(server, await this.#loginUnasked(server), this.#hints);
  }

  /** Obtains an identity for a command that needs one; no saved one is replaced by it. */
  async #loginUnasked(server: ServerAddress): Promise<string> {
    const dev = this.#dev;
    if (server.url === dev?.url) {
      const { identity, token } = await newIdentity(server);
      dev.keepToken(token);
      this.io.err(`Logged in with identity ${identity}, at the service of dev in this project`);
      return token;
    }
    const isNamed = this.flags.server !== undefined || server.isOnlyOfProject === true;
    if (!isNamed && (await isForDevelopment(server))) throw new CliError(otherDevText(server));
    return this.#loginAt(server, withAnother);
  }

  /**
   * Obtains a new identity, issued by the server itself, and makes it the current one. The saved
   * ones are kept.
   */
  async loginDirectly(server: ServerAddress): Promise<void> {
    await this.#loginAt(server, withCurrent);
  }

  /** Does work that may rotate the key of the server; saved tokens go there as before. */
  async keepingTokens<Result>(work: () => Promise<Result>): Promise<Result> {
    const server = this.server();
    const before = await keyOf(server);
    const result = await work();
    const now = await keyOf(server);
    if (before !== undefined && now !== undefined && now !== before) {
      this.save(withRotatedKey(this.#config, before, now));
    }
    return result;
  }

  async #loginAt(server: ServerAddress, add: typeof withCurrent): Promise<string> {
    const { identity, token, isOfCluster } = await newIdentity(server);
    const key = await keyOf(server);
    this.save(add(this.#config, { token, server: server.url, key, isReplaced: false }));
    this.io.err('We have logged in directly to your target server.');
    this.io.err(
      isOfCluster
        ? 'This login works for all hosts of its cluster, and for no other servers.'
        : 'WARNING: This login will NOT work for any other servers.',
    );
    this.io.err(`Logged in with identity ${identity}`);
    return token;
  }

  /**
   * True if `--yes` was given, alone (all kinds) or with a list that names this kind of question.
   */
  answersYes(kind: YesKind): boolean {
    const { yes = [] } = this.flags;
    return yes.includes('all') || yes.includes(kind);
  }
}

function heldBackAdvice({ url }: ServerAddress): string {
  return (
    'Only the project names that server, and it is not known which one issued your identity. ' +
    `Send it with --server ${url}, or save the server: reducerdb server add <nickname> ${url}`
  );
}

function otherDevText({ url }: ServerAddress): string {
  return (
    `The service at ${url} is the one that reducerdb dev runs for a project. Run the command in ` +
    'the folder of that project, stop that dev and start a service with `reducerdb start`, or ' +
    `name the service: --server ${url}`
  );
}

async function newIdentity(server: ServerAddress) {
  const api = new Api(server, undefined);
  const answer = await api.send('POST', '/v1/identity');
  const text = await answer.text();
  if (!answer.ok) throw new CliError(api.failureText(answer.status, text));
  const made = readAnswer(text, object({ identity: string, token: string }));
  // Hosts of a cluster name themselves.
  return { ...made, isOfCluster: answer.headers.get('reducerdb-host') !== null };
}

/** The public key of a server; `undefined`: it shows none. */
async function keyOf(server: ServerAddress): Promise<string | undefined> {
  return (await askedAside(server, '/v1/identity/public-key'))?.trim();
}

/** Whether a service has the setting `development`. */
async function isForDevelopment(server: ServerAddress): Promise<boolean> {
  const text = await askedAside(server, '/v1/service');
  if (text === undefined) return false;
  try {
    return parseAs(text, object({ features: list(string) })).features.includes('development');
  } catch (error) {
    if (error instanceof JsonError) return false;
    throw error;
  }
}

/** What is good to know, but without which a command goes on; `undefined`: no answer in time. */
async function askedAside(server: ServerAddress, where: string): Promise<string | undefined> {
  const signal = AbortSignal.timeout(limits.askedAsideMillisMax);
  const answerBytesMax = limits.askedAsideBytesMax;
  try {
    const answer = await new Api(server, undefined).send('GET', where, { signal, answerBytesMax });
    return answer.ok ? await answer.text() : undefined;
  } catch (error) {
    if (error instanceof CliError || signal.aborted) return undefined;
    throw error;
  }
}

/** Whether a server accepts a token. */
export async function accepts(server: ServerAddress, token: string): Promise<boolean> {
  const where = `/v1/identity/${identityOfToken(token)}/verify`;
  return (await new Api(server, token).send('GET', where)).ok;
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
