import path from 'node:path';
import { type Command, Option } from 'commander';
import type { KeyFiles } from '../auth/keys.ts';
import {
  ConfigurationError,
  completeConfiguration,
  type GivenConfiguration,
  keyFilesOf,
  parseListenAddress,
} from '../service/configuration.ts';
import {
  type EffectiveSetting,
  type EffectiveSettings,
  effectiveSettings,
  settingsInForce,
} from '../service/effective-settings.ts';
import type { Setting } from '../service/setting.ts';
import { settings } from '../service/settings.ts';
import { CliError } from './io.ts';
import { findPlaces } from './places.ts';
import type { Session } from './session.ts';
import { withDataDir } from './shared-flags.ts';

/** Adds a flag for each setting of a service, and the flags for its data folder. */
export function withServiceSettings(command: Command): Command {
  withDataDir(command).option('--in-memory', 'keep databases only in memory');
  for (const setting of settings) command.addOption(optionOf(setting));
  return command;
}

/** Adds the flags for the key files of a service. */
export function withKeySettings(command: Command): Command {
  withDataDir(command);
  for (const setting of settings) {
    if (setting.flag.startsWith('jwt-')) command.addOption(optionOf(setting));
  }
  return command;
}

function optionOf({ flag, kind, value, help, otherwise }: Setting): Option {
  const short = flag === 'listen-addr' ? '-l, ' : '';
  const shown = kind === 'switch' ? '[true|false]' : (value ?? '<value>');
  const option = new Option(`${short}--${flag} ${shown}`, `${help} (default: ${otherwise})`);
  if (kind === 'list' || kind === 'pairs') option.argParser(collect);
  return option;
}

/** Collects the values of a flag that can be given several times. */
function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

export interface ServiceSettings extends Omit<EffectiveSettings, 'configuration'> {
  readonly configuration: GivenConfiguration;
  /** Folder of the data and of `config.toml`, also when databases are kept in memory. */
  readonly dataDirectory: string;
}

/**
 * The settings that a service started by this command would run with. Throws `ConfigurationError`.
 */
export function serviceSettings(session: Session, command: Command): ServiceSettings {
  const { io, places, config } = session;
  const flags = command.opts<{ dataDir?: string; inMemory?: boolean }>();
  const named = flags.dataDir ?? io.environment.REDUCERDB_DATA_DIR;
  const dataDirectory = dataFolder(session, flags.dataDir);
  const effective = usable(() =>
    effectiveSettings({
      flags: Object.fromEntries(
        settings.map(({ flag }) => [flag, command.opts()[camelCase(flag)]]),
      ),
      environment: io.environment,
      dataDirectory,
      folder: io.cwd,
    }),
  );
  return {
    settings: effective.settings,
    warnings: effective.warnings,
    configuration: {
      // Keys are kept with the user's configuration, or with the data if its folder was named.
      keyDirectory: named === undefined ? places.keyDirectory : path.join(dataDirectory, 'keys'),
      ...(config.listenAddress !== undefined && {
        listen: parseListenAddress(config.listenAddress),
      }),
      ...effective.configuration,
      settingsInForce: settingsInForce(
        effective.settings.map((one) => withOwnFile(one, config.listenAddress)),
      ),
      dataDirectory: flags.inMemory === true ? undefined : dataDirectory,
    },
    dataDirectory,
  };
}

/** The user's own file has another default for the address. */
function withOwnFile(one: EffectiveSetting, listenAddress: string | undefined): EffectiveSetting {
  const isOwn = one.setting.key === 'listen-addr' && one.given === undefined;
  if (!isOwn || listenAddress === undefined) return one;
  return { ...one, given: listenAddress, origin: 'cli.toml' };
}

/** The key files of a service started with the same flags. Throws `ConfigurationError`. */
export function keyFilesOfService(session: Session, command: Command): KeyFiles {
  const { configuration } = serviceSettings(session, command);
  return keyFilesOf(completeConfiguration(configuration));
}

/** The data folder of a service: from the flag, else the variable, else the user's default. */
export function dataFolder({ io, places }: Session, flag: string | undefined): string {
  const named = flag ?? io.environment.REDUCERDB_DATA_DIR;
  return named === undefined ? places.dataDirectory : path.resolve(io.cwd, named);
}

/**
 * The suffix that makes a printed command use the same data: ` --data-dir …`, or nothing for the
 * default folder.
 */
export function dataFolderFlag(session: Session, flag: string | undefined): string {
  const folder = dataFolder(session, flag);
  const { dataDirectory } = findPlaces({ environment: session.io.environment });
  if (folder === dataDirectory) return '';
  const isPlain = /^[\w./:@%+=-]+$/.test(folder);
  return ` --data-dir ${isPlain ? folder : `'${folder.replaceAll("'", "'\\''")}'`}`;
}

/** Reports an unusable value of a flag as a usage error. */
function usable<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    const isFlag = error instanceof ConfigurationError && error.message.startsWith('--');
    throw isFlag ? new CliError(error.message, 2, { cause: error }) : error;
  }
}

/** The property under which commander stores a flag's value. */
function camelCase(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
