import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { nearestNames } from '../schema/nearest-names.ts';
import { ConfigurationError, type GivenConfiguration } from './configuration.ts';
import { peerKeys } from './peer-keys.ts';
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
  /** What was written down and has no effect, a sentence each. */
  readonly warnings: readonly string[];
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
  const inFile = file === undefined ? noValues : readFile(file);
  const draft: Draft = {};
  const effective = settings.map((setting) => {
    const found = findValue(setting, sources, inFile.values);
    if (found.given !== undefined) {
      const isOfFile = found.origin === 'config.toml';
      const place = isOfFile ? `${file}: ${setting.key}` : found.origin;
      const base = isOfFile && dataDirectory !== undefined ? dataDirectory : folder;
      applySetting(setting, found.given, { place, folder: base }, draft);
    }
    return { setting, ...found };
  });
  const warnings = [...inFile.warnings, ...uselessVariables(sources.environment)];
  return { settings: effective, configuration: draft, warnings };
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

interface FileContent {
  /** By their whole keys. */
  readonly values: ReadonlyMap<string, unknown>;
  readonly warnings: readonly string[];
}

const noValues: FileContent = { values: new Map(), warnings: [] };

/** No file: no values. */
function readFile(file: string): FileContent {
  if (!existsSync(file)) return noValues;
  let table: Record<string, unknown>;
  try {
    // A pipe would be waited for.
    if (!statSync(file).isFile()) throw new Error('it is no file');
    table = parseToml(readFileSync(file, 'utf8'));
  } catch (cause) {
    const text = `${file} cannot be read: ${(cause as Error).message}`;
    throw new ConfigurationError(text, { cause });
  }
  const values = new Map(flattened(table, ''));
  const known = settings.map(({ key }) => key);
  const warnings: string[] = [];
  for (const key of values.keys()) {
    if (known.includes(key)) continue;
    if (!peerKeys.has(key)) {
      throw new ConfigurationError(`${file}: \`${key}\` is not a setting.${hint(key, known)}`);
    }
    const ours = peerKeys.get(key);
    const instead = ours === undefined ? '' : `; use \`${ours}\``;
    warnings.push(`${file}: \`${key}\` has no effect here${instead}.`);
  }
  return { values, warnings };
}

function* flattened(
  table: Record<string, unknown>,
  before: string,
): Generator<readonly [string, unknown]> {
  for (const [key, value] of Object.entries(table)) {
    if (isTable(value)) yield* flattened(value, `${before}${key}.`);
    else yield [`${before}${key}`, value];
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null;
  return isObject && !Array.isArray(value) && !(value instanceof Date);
}

/** Variables that look like settings and are none; others may have named theirs in this way. */
function uselessVariables(environment: SettingSources['environment']): string[] {
  const known = ['REDUCERDB_DATA_DIR', ...settings.map(variableOf)];
  return Object.keys(environment)
    .filter((name) => name.startsWith('REDUCERDB_') && !known.includes(name))
    .map((name) => `The variable ${name} is not a setting.${hint(name, known)}`);
}

/** A key is often right but for its table, such as `level` for `logs.level`. */
function hint(given: string, known: readonly string[]): string {
  const [nearest] = nearestNames(given, known);
  const last = given.split('.').at(-1)?.replaceAll('_', '-');
  const meant = nearest ?? known.find((key) => key.split('.').at(-1) === last);
  return meant === undefined ? '' : ` Did you mean \`${meant}\`?`;
}
