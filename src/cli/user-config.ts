import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { parse, stringify } from 'smol-toml';
import { CliError, type Io } from './io.ts';

/** A host that the user has given a name. */
export interface SavedServer {
  readonly nickname: string | undefined;
  /** With the port. */
  readonly host: string;
  readonly protocol: 'http' | 'https';
  /** Public key that the host showed when it was saved. */
  readonly fingerprint: string | undefined;
}

/** The user's own configuration: servers, and the token that identifies the user. */
export interface UserConfig {
  readonly defaultServer: string | undefined;
  readonly token: string | undefined;
  readonly listenAddress: string | undefined;
  readonly servers: readonly SavedServer[];
}

const initialConfig: UserConfig = {
  defaultServer: 'local',
  token: undefined,
  listenAddress: undefined,
  servers: [
    { nickname: 'local', host: '127.0.0.1:3000', protocol: 'http', fingerprint: undefined },
  ],
};

/** Reads the file, or returns the configuration of a new user. */
export function readUserConfig(file: string): UserConfig {
  if (!existsSync(file)) return initialConfig;
  try {
    return fromToml(parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new CliError(
      `${file} cannot be read as configuration: ${(cause as Error).message.trim()}\n` +
        'Correct it, or move it away to start over.',
      1,
      { cause },
    );
  }
}

/**
 * Replaces the file in one step, even across a power failure: losing the token would lose the
 * identity. Only the owner can read the file.
 */
export function writeUserConfig(file: string, config: UserConfig, io: Io): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.new`;
  const descriptor = openSync(temporary, 'w', 0o600);
  try {
    writeFileSync(descriptor, stringify(toToml(config)));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
  io.err(`Saving config to ${file}.`);
}

function fromToml(table: Record<string, unknown>): UserConfig {
  const servers = Array.isArray(table.server_configs) ? table.server_configs : [];
  return {
    defaultServer: text(table.default_server),
    token: text(table.identity_token) ?? text(table.spacetimedb_token),
    listenAddress: text(table.listen_addr),
    servers: servers.map((entry: Record<string, unknown>) => ({
      nickname: text(entry.nickname),
      host: text(entry.host) ?? '',
      protocol: entry.protocol === 'https' ? 'https' : 'http',
      fingerprint: text(entry.ecdsa_public_key),
    })),
  };
}

function toToml(config: UserConfig): Record<string, unknown> {
  return withoutUndefined({
    default_server: config.defaultServer,
    identity_token: config.token,
    listen_addr: config.listenAddress,
    server_configs: config.servers.map((server) =>
      withoutUndefined({
        nickname: server.nickname,
        host: server.host,
        protocol: server.protocol,
        ecdsa_public_key: server.fingerprint,
      }),
    ),
  });
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function withoutUndefined(table: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).filter(([, value]) => value !== undefined));
}
