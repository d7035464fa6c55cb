import os from 'node:os';
import path from 'node:path';
import { folderOr, settingsFolder } from './places.ts';

/** How an agent starts the bridge. */
export interface BridgeCommand {
  /** What the agent calls the server. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Variables that it needs. */
  readonly env?: Readonly<Record<string, string>>;
}

/** An agent or editor, and how to configure it for a server on standard input and output. */
export interface AgentClient {
  /** What `--print-config` calls it. */
  readonly word: string;
  readonly title: string;
  /** Its configuration file: the project's when the path is relative, else the user's. */
  readonly file: string;
  /** The entry to put into that file. */
  readonly entry: (server: BridgeCommand) => string;
}

export function agentClients(environment: NodeJS.ProcessEnv): readonly AgentClient[] {
  const inHome = (...parts: string[]) => path.join(os.homedir(), ...parts);
  const ofItsHome = (variable: string, folder: string, file: string) =>
    path.join(folderOr(environment[variable], folder), file);
  const { application, settings } = userFolders(environment);
  const cline = 'Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json';
  const rows: readonly [string, string, string, AgentClient['entry']][] = [
    ['claude-code', 'Claude Code', '.mcp.json', typed('mcpServers')],
    ['claude-desktop', 'Claude Desktop', application('Claude/claude_desktop_config.json'), plain],
    ['cline', 'Cline', application(cline), plain],
    ['codex', 'Codex', ofItsHome('CODEX_HOME', '.codex', 'config.toml'), codex],
    [
      'copilot-cli',
      'Copilot CLI',
      ofItsHome('COPILOT_HOME', '.copilot', 'mcp-config.json'),
      copilot,
    ],
    ['cursor', 'Cursor', path.join('.cursor', 'mcp.json'), plain],
    ['gemini-cli', 'Gemini CLI', inHome('.gemini', 'settings.json'), plain],
    ['goose', 'goose', settings('goose/config.yaml', 'Block/goose/config/config.yaml'), goose],
    ['junie', 'Junie', path.join('.junie', 'mcp', 'mcp.json'), plain],
    ['kiro', 'Kiro', path.join('.kiro', 'settings', 'mcp.json'), plain],
    ['lm-studio', 'LM Studio', inHome('.lmstudio', 'mcp.json'), plain],
    ['opencode', 'opencode', 'opencode.json', opencode],
    ['visual-studio', 'Visual Studio', '.mcp.json', typed('servers')],
    ['vscode', 'Visual Studio Code', path.join('.vscode', 'mcp.json'), typed('servers')],
    ['windsurf', 'Windsurf', inHome('.codeium', 'windsurf', 'mcp_config.json'), plain],
    ['zed', 'Zed', settings('zed/settings.json', 'Zed/settings.json'), zed],
  ];
  return rows.map(([word, title, file, entry]) => ({ word, title, file, entry }));
}

/** Where this user's programs keep their files, by the conventions of the operating system. */
function userFolders(environment: NodeJS.ProcessEnv) {
  const roaming = folderOr(environment.APPDATA, 'AppData', 'Roaming');
  const ofLinux = settingsFolder(environment);
  const applications = {
    win32: roaming,
    darwin: path.join(os.homedir(), 'Library', 'Application Support'),
  }[process.platform as string];
  return {
    /** For desktop applications. */
    application: (file: string) => path.join(applications ?? ofLinux, file),
    /** For programs that follow the Linux conventions on macOS, too. */
    settings: (file: string, onWindows: string) =>
      process.platform === 'win32' ? path.join(roaming, onWindows) : path.join(ofLinux, file),
  };
}

type Entry = AgentClient['entry'];

const plain: Entry = ({ name, command, args, env }) =>
  json({ mcpServers: { [name]: { command, args, env } } });

function typed(key: string): Entry {
  return ({ name, command, args, env }) =>
    json({ [key]: { [name]: { type: 'stdio', command, args, env } } });
}

const copilot: Entry = ({ name, command, args, env }) =>
  json({ mcpServers: { [name]: { type: 'local', command, args, tools: ['*'], env } } });

const zed: Entry = ({ name, command, args, env }) =>
  json({ context_servers: { [name]: { command, args, env } } });

const opencode: Entry = ({ name, command, args, env: environment }) => {
  const server = { type: 'local', command: [command, ...args], enabled: true, environment };
  return json({ mcp: { [name]: server } });
};

/** JSON strings are valid TOML and YAML strings, too, and any name is a valid key when quoted. */
const codex: Entry = ({ name, command, args, env = {} }) =>
  [
    `[mcp_servers.${/^[\w-]+$/.test(name) ? name : JSON.stringify(name)}]`,
    `command = ${JSON.stringify(command)}`,
    `args = ${listText(args)}`,
    ...Object.entries(env).map(([key, value]) => `env = { ${key} = ${JSON.stringify(value)} }`),
  ].join('\n');

const goose: Entry = ({ name, command, args, env = {} }) =>
  [
    'extensions:',
    `  ${JSON.stringify(name)}:`,
    `    name: ${JSON.stringify(name)}`,
    '    description: Tables and reducers of a reducerdb service',
    '    type: stdio',
    '    enabled: true',
    '    timeout: 300',
    `    cmd: ${JSON.stringify(command)}`,
    `    args: ${listText(args)}`,
    ...Object.entries(env).flatMap(([key, value]) => [
      '    envs:',
      `      ${key}: ${JSON.stringify(value)}`,
    ]),
  ].join('\n');

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

function listText(args: readonly string[]): string {
  return `[${args.map((arg) => JSON.stringify(arg)).join(', ')}]`;
}
