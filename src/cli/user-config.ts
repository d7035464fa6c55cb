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

/** A token, and the server that it goes to. */
export interface SavedToken {
  readonly token: string;
  /** Address of the server that has issued it; `undefined`: not known. */
  readonly server: string | undefined;
  /** Public key of that server. */
  readonly key: string | undefined;
  /** True: another one is in use in its place. */
  readonly isReplaced: boolean;
}

/** The user's own configuration: servers, and the tokens that identify the user. */
export interface UserConfig {
  readonly defaultServer: string | undefined;
  /** The current one. */
  readonly saved: SavedToken | undefined;
  /** Those of other servers, and replaced ones, the newest first. */
  readonly kept: readonly SavedToken[];
  readonly listenAddress: string | undefined;
  readonly servers: readonly SavedServer[];
}

const initialConfig: UserConfig = {
  defaultServer: 'local',
  saved: undefined,
  kept: [],
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
  const kept = Array.isArray(table.kept_identities) ? table.kept_identities : [];
  const token = text(table.identity_token) ?? text(table.spacetimedb_token);
  return {
    defaultServer: text(table.default_server),
    saved:
      token === undefined
        ? undefined
        : {
            ...{ token, server: text(table.identity_server), isReplaced: false },
            key: text(table.identity_server_key),
          },
    kept: kept.map((entry: Record<string, unknown>) => ({
      token: text(entry.token) ?? '',
      server: text(entry.server),
      key: text(entry.server_key),
      isReplaced: entry.is_replaced === true,
    })),
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
    identity_token: config.saved?.token,
    identity_server: config.saved?.server,
    identity_server_key: config.saved?.key,
    listen_addr: config.listenAddress,
    kept_identities: config.kept.length === 0 ? undefined : config.kept.map(keptToToml),
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

function keptToToml({ token, server, key, isReplaced }: SavedToken): Record<string, unknown> {
  const isMarked = isReplaced ? true : undefined;
  return withoutUndefined({ server, server_key: key, token, is_replaced: isMarked });
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function withoutUndefined(table: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).filter(([, value]) => value !== undefined));
}
