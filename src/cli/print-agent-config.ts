import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { agentClients, type BridgeCommand } from './agent-clients.ts';
import { ciTokenVariable } from './ci-token.ts';
import { isInstalledFor } from './installation.ts';
import { CliError, type Io } from './io.ts';

/** The command line that starts an agent's bridge. */
export interface BridgeArguments {
  /** Flags that precede the command. */
  readonly globalFlags: readonly string[];
  readonly database: string | undefined;
  readonly serverUrl: string;
  readonly isAnonymous: boolean;
  readonly features: readonly string[];
  /** The variable with a token that was made for the agent; absent: the saved identity counts. */
  readonly tokenVariable?: string | undefined;
}

/**
 * Prints the configuration with which `client` starts the bridge and, to standard error, the file
 * it belongs in. `list` prints the known clients.
 *
 * Everything that depends on this environment is written out, because an agent is started
 * elsewhere: the server's address replaces the project's configuration and the user's default. The
 * user's own identity is never part of it.
 */
export async function printAgentConfig(
  io: Io,
  client: string,
  given: () => Promise<BridgeArguments>,
): Promise<void> {
  const clients = agentClients(io.environment);
  if (client === 'list') {
    io.out(clients.map(({ word, title, file }) => row([word, title, file])).join('\n'));
    return;
  }
  const found = clients.find(({ word }) => word === client);
  if (found === undefined) {
    const words = clients.map(({ word }) => word).join(', ');
    throw new CliError(`--print-config must be one of list, ${words}`, 2);
  }
  const isOfProject = !path.isAbsolute(found.file);
  const where = isOfProject ? `${found.file} in the folder of your project` : found.file;
  const bridge = await given();
  if (bridge.tokenVariable !== undefined && isOfProject) {
    io.err(`Do not commit ${found.file}: with its token, anyone has the rights of the agent.`);
  }
  io.err(`For ${found.title}, add this to ${where}:\n`);
  io.out(found.entry(bridgeCommand(bridge, isOfProject)));
}

function row([word, title, file]: readonly [string, string, string]): string {
  return `${word.padEnd(15)} ${title.padEnd(19)} ${file}`;
}

function bridgeCommand(given: BridgeArguments, isShared: boolean): BridgeCommand {
  const { globalFlags, database, serverUrl, isAnonymous, features, tokenVariable } = given;
  const [command, ...start] = commandLine(isShared, process.cwd());
  const args = [...start, ...globalFlags, 'mcp'];
  if (database !== undefined) args.push(database);
  args.push('--server', serverUrl);
  if (isAnonymous) args.push('--anonymous');
  if (features.length > 0) args.push('--features', features.join(','));
  const bridge = { name: database ?? 'reducerdb', command, args };
  return tokenVariable === undefined
    ? bridge
    : { ...bridge, env: { [ciTokenVariable]: tokenVariable } };
}

/**
 * The command line that starts this program. The cache of `npx` may be cleared, so what runs from
 * there is fetched again. A project's file is shared, and read in the project's folder, where `npx`
 * finds the project's own version; it fetches none: what a registry has under the name may be
 * another program. Elsewhere absolute paths are named: a desktop application does not have the
 * shell's path.
 */
function commandLine(isShared: boolean, folder: string): readonly [string, ...string[]] {
  const program = fileURLToPath(new URL('main.js', import.meta.url));
  if (program.split(path.sep).includes('_npx')) return ['npx', '-y', 'reducerdb'];
  if (isShared && isInstalledFor(folder)) return ['npx', '--no-install', 'reducerdb'];
  return [process.execPath, program];
}
