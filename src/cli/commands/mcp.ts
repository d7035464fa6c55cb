import path from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { type AgentFeature, agentFeatures, isAgentFeature } from '../../protocol/agent-features.ts';
import { object, optional, string } from '../../values/json-shape.ts';
import { type AgentTokenKind, agentTokenKinds, makeAgentToken } from '../agent-token.ts';
import { type Api, databasePath, statusText, Unreachable } from '../api.ts';
import { Bridge } from '../bridge/bridge.ts';
import { ciTokenText } from '../ci-token.ts';
import { CliError, type Io } from '../io.ts';
import { printAgentConfig } from '../print-agent-config.ts';
import { Session } from '../session.ts';
import { withAnonymous, withServer } from '../shared-flags.ts';
import { timeText } from '../time-text.ts';

interface McpFlags {
  readonly features?: readonly AgentFeature[];
  readonly printConfig?: string;
  readonly token?: AgentTokenKind;
}

export function addMcp(program: Command, io: Io): void {
  withAnonymous(withServer(program.command('mcp [database]')))
    .description('connect an agent to a host or one database over standard input and output')
    .option('--features <list>', `additional features: ${agentFeatures.join(', ')}`, features)
    .option(
      '--print-config <client>',
      'print the configuration for an agent or editor; `list` lists the clients',
    )
    .option(
      '--token <kind>',
      `with --print-config: make a limited token for it: ${agentTokenKinds.join(', ')}`,
      tokenKind,
    )
    .addHelpText(
      'after',
      '\nWithout a database (argument or SERVICE_DB_NAME) the server is host-wide.\n' +
        'Configuration for an agent: reducerdb mcp my-db --print-config claude-code',
    )
    .action(async (word: string | undefined, flags: McpFlags, command: Command) => {
      const session = new Session(io, command);
      const database = word ?? nonEmpty(io.environment.SERVICE_DB_NAME);
      const { features: wanted = [], printConfig, token } = flags;
      if (token !== undefined) checkToken(session, database, printConfig);
      if (printConfig !== undefined) {
        await printAgentConfig(io, printConfig, async () => {
          const serverUrl = await publicAddress(session);
          return {
            globalFlags: globalFlags(program),
            ...{ database, serverUrl },
            isAnonymous: session.flags.anonymous === true,
            features: wanted,
            tokenVariable:
              token && (await tokenVariable(session, database ?? '', token, serverUrl)),
          };
        });
        return;
      }
      const address = new Address(await session.api(), database, wanted);
      process.once('SIGTERM', () => process.exit(0));
      process.once('SIGINT', () => process.exit(0));
      await address.find().catch((error) => {
        if (!(error instanceof Unreachable)) throw error;
        io.err(`WARNING: ${error.message}`);
      });
      io.err(`Serving MCP over stdio, bridging to ${address.url}`);
      await serve(address);
    });
}

function tokenKind(word: string): AgentTokenKind {
  const found = agentTokenKinds.find((kind) => kind === word);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`Expected one of: ${agentTokenKinds.join(', ')}.`);
}

function checkToken(session: Session, database?: string, client?: string): void {
  if (client === undefined || client === 'list') {
    throw new CliError('--token needs --print-config <client>', 2);
  }
  if (database === undefined) throw new CliError('--token needs a database', 2);
  if (session.flags.anonymous === true) {
    throw new CliError('--token cannot be combined with --anonymous', 2);
  }
}

/**
 * The address that the server has for others, if its operator has named one; else, and where the
 * server cannot be reached, the one with which it was found.
 */
async function publicAddress(session: Session): Promise<string> {
  const { url } = session.server();
  const signal = AbortSignal.timeout(addressMillisMax);
  try {
    const shape = object({ public_url: optional(string) });
    const api = session.anonymousApi(session.server());
    return (await api.json('GET', '/v1/health', shape, { signal })).public_url ?? url;
  } catch (error) {
    if (signal.aborted || error instanceof CliError || error instanceof Unreachable) return url;
    throw error;
  }
}

const addressMillisMax = 2_000;

async function tokenVariable(
  session: Session,
  database: string,
  kind: AgentTokenKind,
  url: string,
): Promise<string> {
  const api = await session.apiWithIdentity();
  const { readDefinition } = await import('../module-definition.ts');
  const source = { kind: 'database', name: database, server: undefined } as const;
  const definition = await readDefinition(source, session);
  const { id, token, expires_at } = await makeAgentToken(api, database, kind, definition);
  const until = timeText(expires_at * 1000);
  session.io.err(
    `Token ${id} for ${database} (${kind}) is part of this configuration. It expires ${until}.`,
  );
  session.io.err(`End it with: reducerdb token revoke ${database} ${id}`);
  return ciTokenText({ server: { url, name: url }, token });
}

async function serve(address: Address): Promise<void> {
  const bridge = new Bridge({
    input: process.stdin,
    write: (line) => {
      const text = `${line.replace(separators, escaped)}\n`;
      return new Promise((resolve) => void process.stdout.write(text, () => resolve()));
    },
    send: async ({ body, headers, signal }) =>
      address.api.open('POST', await address.find(), {
        headers: { ...ofMessages, ...headers },
        body,
        signal,
      }),
  });
  await bridge.run();
}

/** Line separators to some readers, Node's own among them. In JSON they occur only in strings. */
const separators = /[\u0085\u2028\u2029]/g;

function escaped(separator: string): string {
  return `\\u${separator.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const ofMessages = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** The endpoint that messages are sent to. */
class Address {
  readonly api: Api;
  readonly #database: string | undefined;
  readonly #query: string;
  #found: Promise<string> | undefined;
  /** Resolved as far as possible so far. */
  #path: string;

  constructor(api: Api, database: string | undefined, wanted: readonly AgentFeature[]) {
    this.api = api;
    this.#database = database;
    this.#query = wanted.length === 0 ? '' : `?features=${wanted.join(',')}`;
    this.#path = database === undefined ? '/v1/mcp' : databasePath(database, '/mcp');
  }

  get url(): string {
    return `${this.api.server.url}${this.#path}${this.#query}`;
  }

  /**
   * The path of the endpoint. A database is resolved once, so that a later change of its names does
   * not redirect the agent; until a service answers, each message asks again.
   */
  find(): Promise<string> {
    this.#found ??= this.#resolve().catch((error) => {
      this.#found = undefined;
      throw error;
    });
    return this.#found;
  }

  async #resolve(): Promise<string> {
    if (this.#database !== undefined) {
      this.#path = databasePath(await identityOf(this.#database, this.api), '/mcp');
    }
    return `${this.#path}${this.#query}`;
  }
}

async function identityOf(database: string, api: Api): Promise<string> {
  const answer = await api.send('GET', databasePath(database, '/identity'));
  const text = await answer.text();
  if (answer.ok) return text;
  if (answer.status === 401) throw new CliError(api.failureText(answer.status, text));
  // A proxy before a service that is down, or an overloaded service: retried later.
  const isBusy = answer.status >= 500 || answer.status === 429;
  if (isBusy) throw new Unreachable(statusText(answer.status, text));
  throw new CliError(`failed to find database \`${database}\`.`);
}

function features(list: string, before: readonly AgentFeature[] = []): readonly AgentFeature[] {
  const words = list.split(',').map((word) => word.trim());
  const given = words.filter(isAgentFeature);
  if (given.length === words.length) return [...before, ...given];
  throw new InvalidArgumentError(
    `Expected a comma-separated list of: ${agentFeatures.join(', ')}.`,
  );
}

/** Flags for the user's files, for a process that is started elsewhere. */
function globalFlags(program: Command): string[] {
  const { rootDir, configPath } = program.opts<{ rootDir?: string; configPath?: string }>();
  return [
    ...(rootDir === undefined ? [] : ['--root-dir', path.resolve(rootDir)]),
    ...(configPath === undefined ? [] : ['--config-path', path.resolve(configPath)]),
  ];
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
