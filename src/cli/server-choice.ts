import { CliError } from './io.ts';
import type { SavedServer, UserConfig } from './user-config.ts';

/** A host to talk to. */
export interface ServerAddress {
  /** Without a slash at the end. */
  readonly url: string;
  /** As the user knows it. */
  readonly name: string;
  /** True: a project names it, and the user has not: not every token goes there. */
  readonly isOnlyOfProject?: boolean;
}

/**
 * Finds the server: the named one, else the user's default. A text with `://` is an address;
 * anything else is a saved nickname, then a saved host name.
 */
export function chooseServer(config: UserConfig, named: string | undefined): ServerAddress {
  const wanted = named ?? config.defaultServer;
  if (wanted === undefined) {
    throw new CliError(
      'No server is named, and there is no default. ' +
        'Use --server, or choose a default with `reducerdb server set-default`.',
    );
  }
  if (wanted.includes('://')) return { url: checkedUrl(wanted), name: wanted };
  const server = findServer(config, wanted);
  if (server === undefined) {
    const { message } = unknownServer(wanted);
    throw new CliError(`${message}\nAn address begins with http:// or https://`);
  }
  return serverAddress(server);
}

export function serverAddress({ protocol, host, nickname }: SavedServer): ServerAddress {
  return { url: `${protocol}://${host}`, name: nickname ?? host };
}

export function findServer(config: UserConfig, name: string): SavedServer | undefined {
  return (
    config.servers.find(({ nickname }) => nickname === name) ??
    config.servers.find(({ host }) => host === name)
  );
}

export function unknownServer(name: string): CliError {
  return new CliError(
    `No such saved server configuration: ${name}\n` +
      `Add it with: reducerdb server add ${name} <url>`,
  );
}

/** True for a server on this machine: a publish to it needs no confirmation. */
export function isLocalServer({ url }: ServerAddress): boolean {
  const { hostname } = new URL(url);
  return /^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname);
}

function checkedUrl(text: string): string {
  const { origin, pathname } = serverUrl(text);
  return `${origin}${pathname}`.replace(/\/+$/, '');
}

/** Reads the address of a server. */
export function serverUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new CliError(`\`${text}\` is not the address of a server, such as http://127.0.0.1:3000`);
}
