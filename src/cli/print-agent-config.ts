import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { agentClients, type BridgeCommand } from './agent-clients.ts';
import { isInstalled } from './installation.ts';
import { CliError, type Io } from './io.ts';

/** What the bridge of an agent is started with. */
export interface BridgeArguments {
  /** Flags that stand before the command. */
  readonly globalFlags: readonly string[];
  readonly database: string | undefined;
  readonly serverUrl: string;
  readonly isAnonymous: boolean;
  readonly features: readonly string[];
}

/**
 * Prints the configuration with which `client` starts the bridge, and to standard error the file
 * that it belongs into. `list` prints which clients there are.
 *
 * All that the environment decides here is spelt out, because an agent is started elsewhere: the
 * address of the server takes the place of a project's configuration and of the user's default.
 */
export function printAgentConfig(io: Io, client: string, given: () => BridgeArguments): void {
  const clients = agentClients(io.environment);
  if (client === 'list') {
    io.out(clients.map(({ word, title, file }) => row([word, title, file])).join('\n'));
    return;
  }
  const found = clients.find(({ word }) => word === client);
  if (found === undefined) {
    const words = clients.map(({ word }) => word).join(', ');
    throw new CliError(`--print-config: one of list, ${words}`, 2);
  }
  const isOfProject = !path.isAbsolute(found.file);
  const where = isOfProject ? `${found.file} in the folder of your project` : found.file;
  io.err(`For ${found.title}, add this to ${where}:\n`);
  io.out(found.entry(bridgeCommand(given(), isOfProject)));
}

function row([word, title, file]: readonly [string, string, string]): string {
  return `${word.padEnd(15)} ${title.padEnd(19)} ${file}`;
}

function bridgeCommand(given: BridgeArguments, isShared: boolean): BridgeCommand {
  const { globalFlags, database, serverUrl, isAnonymous, features } = given;
  const [command, ...start] = commandLine(isShared);
  const args = [...start, ...globalFlags, 'mcp'];
  if (database !== undefined) args.push(database);
  args.push('--server', serverUrl);
  if (isAnonymous) args.push('--anonymous');
  if (features.length > 0) args.push('--features', features.join(','));
  return { name: database ?? 'reducerdb', command, args };
}

/**
 * How this program is started. A project's file is shared by people, and read in its folder, where
 * `npx` finds the project's own version. What belongs to one user names the files themselves: a
 * desktop application does not have the shell's path. What `npx` keeps for itself may go away, and
 * what is no installed package is not to be found by it.
 */
function commandLine(isShared: boolean): readonly [string, ...string[]] {
  const program = fileURLToPath(new URL('main.js', import.meta.url));
  const isKeptByNpx = program.split(path.sep).includes('_npx');
  if (isKeptByNpx || (isShared && isInstalled)) return ['npx', '-y', 'reducerdb'];
  return [process.execPath, program];
}
