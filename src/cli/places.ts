import os from 'node:os';
import path from 'node:path';

/** Where the command keeps its own files, and where a service it starts keeps its data. */
export interface Places {
  readonly configFile: string;
  /** Holds the key pair of services that this user starts. */
  readonly keyDirectory: string;
  readonly dataDirectory: string;
}

export interface PlaceOptions {
  readonly rootDir?: string | undefined;
  readonly configPath?: string | undefined;
  readonly environment: NodeJS.ProcessEnv;
}

/** `--root-dir` moves everything below one folder; `--config-path` moves the user's file alone. */
export function findPlaces({ rootDir, configPath, environment }: PlaceOptions): Places {
  const configDirectory =
    rootDir === undefined ? userConfigDirectory(environment) : path.resolve(rootDir, 'config');
  const dataDirectory =
    rootDir === undefined ? userDataDirectory(environment) : path.resolve(rootDir, 'data');
  const configFile =
    configPath === undefined ? path.join(configDirectory, 'cli.toml') : path.resolve(configPath);
  return { configFile, keyDirectory: configDirectory, dataDirectory };
}

function userConfigDirectory(environment: NodeJS.ProcessEnv): string {
  if (process.platform === 'win32') return path.join(localApplicationData(environment), 'config');
  return path.join(settingsFolder(environment), 'reducerdb');
}

function userDataDirectory(environment: NodeJS.ProcessEnv): string {
  if (process.platform === 'win32') return path.join(localApplicationData(environment), 'data');
  const base = folderOr(environment.XDG_DATA_HOME, '.local', 'share');
  return path.join(base, 'reducerdb', 'data');
}

function localApplicationData(environment: NodeJS.ProcessEnv): string {
  return path.join(environment.LOCALAPPDATA ?? os.homedir(), 'reducerdb');
}

/** Where programs keep this user's settings, by the Linux conventions. */
export function settingsFolder(environment: NodeJS.ProcessEnv): string {
  return folderOr(environment.XDG_CONFIG_HOME, '.config');
}

/**
 * The folder that a variable names, else this one in the home folder. The XDG base directory
 * specification requires that an empty variable, or a relative path, is ignored.
 */
export function folderOr(named: string | undefined, ...atHome: readonly string[]): string {
  return named !== undefined && path.isAbsolute(named) ? named : path.join(os.homedir(), ...atHome);
}
