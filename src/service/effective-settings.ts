import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { nearestNames } from '../schema/nearest-names.ts';
import { ConfigurationError, type GivenConfiguration } from './configuration.ts';
import { applySetting, type Draft, type Setting, variableOf } from './setting.ts';
import { settings } from './settings.ts';
import { parseToml } from './toml.ts';

/** Where the settings of a service come from; the former win over the latter. */
export interface SettingSources {
  /** By the flag's name. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `config.toml` is looked for here. */
  readonly dataDirectory: string | undefined;
  /** What paths in flags and variables are relative to. */
  readonly folder: string;
}

export interface EffectiveSetting {
  readonly setting: Setting;
  /** As it was written down; `undefined`: it was left out. */
  readonly given: unknown;
  /** Such as `--listen-addr`, `REDUCERDB_LISTEN_ADDR`, `config.toml`, or `default`. */
  readonly origin: string;
}

export interface EffectiveSettings {
  readonly settings: readonly EffectiveSetting[];
  readonly configuration: GivenConfiguration;
}

/** The configuration file of a data folder. */
export function configurationFile(dataDirectory: string): string {
  return path.join(dataDirectory, 'config.toml');
}

/**
 * Every setting with its value and where it comes from, and the configuration that they make.
 * Throws `ConfigurationError` for a value that does not fit and for a key that is none.
 */
export function effectiveSettings(sources: SettingSources): EffectiveSettings {
  const { dataDirectory, folder } = sources;
  const file = dataDirectory === undefined ? undefined : configurationFile(dataDirectory);
  const inFile = file === undefined ? new Map<string, unknown>() : readFile(file);
  const draft: Draft = {};
  const effective = settings.map((setting) => {
    const found = findValue(setting, sources, inFile);
    if (found.given !== undefined) {
      const isOfFile = found.origin === 'config.toml';
      const place = isOfFile ? `${file}: ${setting.key}` : found.origin;
      const base = isOfFile && dataDirectory !== undefined ? dataDirectory : folder;
      applySetting(setting, found.given, { place, folder: base }, draft);
    }
    return { setting, ...found };
  });
  return { settings: effective, configuration: draft };
}

function findValue(
  setting: Setting,
  { flags, environment }: SettingSources,
  inFile: ReadonlyMap<string, unknown>,
): Pick<EffectiveSetting, 'given' | 'origin'> {
  const variable = variableOf(setting);
  if (flags[setting.flag] !== undefined) {
    return { given: flags[setting.flag], origin: `--${setting.flag}` };
  }
  // An empty variable is how a shell leaves one out.
  if (environment[variable] !== undefined && environment[variable] !== '') {
    return { given: environment[variable], origin: variable };
  }
  if (inFile.has(setting.key)) return { given: inFile.get(setting.key), origin: 'config.toml' };
  return { given: undefined, origin: 'default' };
}

/** The file's values by their whole keys; no file: no values. */
function readFile(file: string): ReadonlyMap<string, unknown> {
  if (!existsSync(file)) return new Map();
  let table: Record<string, unknown>;
  try {
    table = parseToml(readFileSync(file, 'utf8'));
  } catch (cause) {
    const text = `${file} cannot be read: ${(cause as Error).message}`;
    throw new ConfigurationError(text, { cause });
  }
  const values = new Map(flattened(table, ''));
  const known = settings.map(({ key }) => key);
  for (const key of values.keys()) {
    if (known.includes(key)) continue;
    const [nearest] = nearestNames(key, known);
    const hint = nearest === undefined ? '' : ` Did you mean \`${nearest}\`?`;
    throw new ConfigurationError(`${file}: \`${key}\` is not a setting.${hint}`);
  }
  return values;
}

function* flattened(
  table: Record<string, unknown>,
  before: string,
): Generator<readonly [string, unknown]> {
  for (const [key, value] of Object.entries(table)) {
    const isTable = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (isTable) yield* flattened(value as Record<string, unknown>, `${before}${key}.`);
    else yield [`${before}${key}`, value];
  }
}
