import { limits } from '../limits.ts';
import { isLocalServer, type ServerAddress, serverAddress } from './server-choice.ts';
import type { SavedToken, UserConfig } from './user-config.ts';

/**
 * Which saved token goes to which server. A token that a server has issued goes to that server
 * alone. One of unknown origin (`login --token`, or a file of an earlier version) goes to every
 * server that the user has named, and on this machine to one that a project names, but to no other
 * that only a project names; while it is the current one, it goes before others, since the user has
 * chosen it.
 */

/** The token that is sent to a server, as far as its address tells. */
export function savedFor(config: UserConfig, server: ServerAddress): SavedToken | undefined {
  const unbound = isHeldBack(config, server) ? undefined : unboundToken(config);
  return unbound ?? tokenIssuedAt(config, server);
}

/** Whether the token of unknown origin is not sent to a server, because only a project names it. */
export function isHeldBack(config: UserConfig, server: ServerAddress): boolean {
  if (server.isOnlyOfProject !== true || isOnMachine(server.url)) return false;
  return unboundToken(config) !== undefined;
}

/** The token that is saved for a server; `undefined`: none was issued there. */
function tokenIssuedAt(config: UserConfig, server: ServerAddress): SavedToken | undefined {
  const candidates = inUse(config).filter((saved) => saved.server !== undefined);
  const exact = candidates.find((saved) => saved.server === server.url);
  if (exact !== undefined || server.isOnlyOfProject === true) return exact;
  const name = nameOnMachine(server.url);
  if (name === undefined) return undefined;
  return candidates.find((saved) => nameOnMachine(saved.server ?? '') === name);
}

/** The token of unknown origin. */
export function unboundToken({ saved }: UserConfig): SavedToken | undefined {
  return saved?.server === undefined ? saved : undefined;
}

/**
 * The token of a service on this machine that has shown this key at another address: it was started
 * at another port.
 */
export function tokenOfMoved(config: UserConfig, key: string): SavedToken | undefined {
  return inUse(config).find((saved) => isOnMachine(saved.server) && saved.key === key);
}

/** Whether asking a server for its key can lead to a token. */
export function mayHaveMoved(config: UserConfig, server: ServerAddress): boolean {
  if (server.isOnlyOfProject === true || !isOnMachine(server.url)) return false;
  return inUse(config).some(({ server: at, key }) => isOnMachine(at) && key !== undefined);
}

/** Whether the user has named this server, as a saved one. */
export function isSavedServer({ servers }: UserConfig, url: string): boolean {
  return servers.some((saved) => serverAddress(saved).url === url);
}

/** Makes a token the current one; the one before stays in use for its server, or is set aside. */
export function withCurrent(config: UserConfig, saved: SavedToken): UserConfig {
  const { saved: before } = config;
  const kept = before === undefined ? config.kept : [before, ...config.kept];
  return { ...config, saved, kept: settled(kept, saved) };
}

/** Adds a token for a server beside the current one. */
export function withAnother(config: UserConfig, saved: SavedToken): UserConfig {
  if (config.saved === undefined) return withCurrent(config, saved);
  return { ...config, kept: settled([saved, ...config.kept], config.saved) };
}

/** A service has another key now, and takes what it has issued before as it did. */
export function withRotatedKey(config: UserConfig, before: string, now: string): UserConfig {
  const rotated = (one: SavedToken) => (one.key === before ? { ...one, key: now } : one);
  const { saved, kept } = config;
  return { ...config, saved: saved && rotated(saved), kept: kept.map(rotated) };
}

/** Without a token, wherever it is; the others stay. */
export function withoutToken(config: UserConfig, token: string): UserConfig {
  const kept = config.kept.filter((other) => other.token !== token);
  const saved = config.saved?.token === token ? undefined : config.saved;
  return { ...config, saved, kept };
}

/** The tokens that a server has issued, and that later ones of it have replaced, newest first. */
export function replacedAt({ kept }: UserConfig, { url }: ServerAddress): readonly SavedToken[] {
  return kept.filter(({ server, isReplaced }) => isReplaced && server === url);
}

function inUse({ saved, kept }: UserConfig): readonly SavedToken[] {
  return [...(saved === undefined ? [] : [saved]), ...kept.filter((other) => !other.isReplaced)];
}

/** Of one server the newest is in use; what is replaced can be taken up again by `login`. */
function settled(kept: readonly SavedToken[], current: SavedToken): readonly SavedToken[] {
  const seen = new Set([current.server]);
  const others = kept.filter(({ token }) => token !== current.token);
  const marked = others.map((saved) => {
    const isReplaced = saved.isReplaced || saved.server === undefined || seen.has(saved.server);
    seen.add(saved.server);
    return { ...saved, isReplaced };
  });
  return marked.slice(0, limits.keptTokensMax);
}

function isOnMachine(url: string | undefined): boolean {
  return url !== undefined && URL.canParse(url) && isLocalServer({ url, name: url });
}

/** One name for the ways to write a place on this machine. */
function nameOnMachine(url: string): string | undefined {
  if (!isOnMachine(url)) return undefined;
  const { protocol, port, pathname } = new URL(url);
  return `${protocol}${port}${pathname}`;
}
