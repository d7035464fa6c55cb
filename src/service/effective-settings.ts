import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { SettingInForce } from '../http/service-facts.ts';
import { nearestNames } from '../values/nearest-names.ts';
import { ConfigurationError, type GivenConfiguration } from './configuration.ts';
import { peerKeys, peerValues } from './peer-keys.ts';
import { repositoriesIn, s3KeysIn, s3Variables } from './repositories.ts';
import { secretVariable } from './secret-variable.ts';
import { applySetting, type Draft, type Setting, shownValue, variableOf } from './setting.ts';
import { settings } from './settings.ts';
import { parseToml } from './toml.ts';

/** The sources of a service's settings, in order of precedence. */
export interface SettingSources {
  /** By flag name. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder of `config.toml`. */
  readonly dataDirectory: string | undefined;
  /** The base of relative paths in flags and variables. */
  readonly folder: string;
}

export interface EffectiveSetting {
  readonly setting: Setting;
  /** As written; `undefined`: omitted. */
  readonly given: unknown;
  /** Such as `--listen-addr`, `REDUCERDB_LISTEN_ADDR`, `config.toml`, or `default`. */
  readonly origin: string;
}

export interface EffectiveSettings {
  readonly settings: readonly EffectiveSetting[];
  readonly configuration: GivenConfiguration;
  /** Inputs without effect, one sentence each. */
  readonly warnings: readonly string[];
}

/** Returns the configuration file of a data folder. */
export function configurationFile(dataDirectory: string): string {
  return path.join(dataDirectory, 'config.toml');
}

/**
 * Returns every setting with its value and origin, and the resulting configuration. Throws
 * `ConfigurationError` for an invalid value and for an unknown key.
 */
export function effectiveSettings(sources: SettingSources): EffectiveSettings {
  const { dataDirectory, folder } = sources;
  const file = dataDirectory === undefined ? undefined : configurationFile(dataDirectory);
  const inFile = file === undefined ? noValues : readFile(file);
  const draft: Draft = {};
  if (file !== undefined && dataDirectory !== undefined && inFile.repositories !== undefined) {
    const { environment } = sources;
    const place = { file, folder: dataDirectory, environment };
    draft.repositories = repositoriesIn(inFile.repositories, place);
  }
  const secret = sources.environment[secretVariable];
  if (secret !== undefined && secret !== '') draft.cluster = { secret };
  const storeKeys = s3KeysIn(sources.environment);
  if (storeKeys !== undefined) draft.cluster = { ...draft.cluster, storeKeys };
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

/** The settings as operators of a running service see them; secrets are not shown. */
export function settingsInForce(effective: readonly EffectiveSetting[]): SettingInForce[] {
  return effective.map(({ setting, given, origin }) => ({
    name: setting.key,
    value: shownValue(setting, given) ?? null,
    source: sourceOf(origin),
    default: setting.otherwise,
  }));
}

function sourceOf(origin: string): SettingInForce['source'] {
  if (origin === 'default') return 'default';
  if (origin.startsWith('--')) return 'flag';
  return origin.startsWith('REDUCERDB_') ? 'environment' : 'file';
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
  // In a shell, an empty variable means an omitted one.
  if (environment[variable] !== undefined && environment[variable] !== '') {
    return { given: environment[variable], origin: variable };
  }
  if (inFile.has(setting.key)) return { given: inFile.get(setting.key), origin: 'config.toml' };
  return { given: undefined, origin: 'default' };
}

interface FileContent {
  /** By full key. */
  readonly values: ReadonlyMap<string, unknown>;
  /** The tables `[repository.NAME]`, which have names of the operator's. */
  readonly repositories: unknown;
  readonly warnings: readonly string[];
}

const noValues: FileContent = { values: new Map(), repositories: undefined, warnings: [] };

/** Reads the file; a missing file has no values. */
function readFile(file: string): FileContent {
  if (!existsSync(file)) return noValues;
  let table: Record<string, unknown>;
  try {
    // Reading a pipe would block.
    if (!statSync(file).isFile()) throw new Error('it is not a file');
    table = parseToml(readFileSync(file, 'utf8'));
  } catch (cause) {
    const text = `${file} cannot be read: ${(cause as Error).message}`;
    throw new ConfigurationError(text, { cause });
  }
  const { repository: repositories, ...others } = table;
  const values = translated(new Map(flattened(others, '')));
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
  return { values, repositories, warnings };
}

/** Replaces what a peer's file says by our setting, unless the file has that, too. */
function translated(values: Map<string, unknown>): ReadonlyMap<string, unknown> {
  for (const { key, value, ours } of peerValues) {
    if (values.get(key) !== value || values.has(ours[0])) continue;
    values.delete(key);
    values.set(...ours);
  }
  return values;
}

/** Keys whose value is a table. */
const tables = new Set(settings.filter(({ kind }) => kind === 'pairs').map(({ key }) => key));

function* flattened(
  table: Record<string, unknown>,
  before: string,
): Generator<readonly [string, unknown]> {
  for (const [key, value] of Object.entries(table)) {
    if (isTable(value) && !tables.has(`${before}${key}`))
      yield* flattened(value, `${before}${key}.`);
    else yield [`${before}${key}`, value];
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null;
  return isObject && !Array.isArray(value) && !(value instanceof Date);
}

/** Warns about variables that look like settings but are not; others may use the prefix too. */
function uselessVariables(environment: SettingSources['environment']): string[] {
  const known = [
    'REDUCERDB_DATA_DIR',
    'REDUCERDB_TOKEN',
    secretVariable,
    ...s3Variables,
    ...settings.map(variableOf),
  ];
  return Object.keys(environment)
    .filter((name) => name.startsWith('REDUCERDB_') && !known.includes(name))
    .map((name) => `The variable ${name} is not a setting.${hint(name, known)}`);
}

/** Suggests a key. Often only its table is missing, such as `level` for `logs.level`. */
function hint(given: string, known: readonly string[]): string {
  const [nearest] = nearestNames(given, known);
  const last = given.split('.').at(-1)?.replaceAll('_', '-');
  const meant = nearest ?? known.find((key) => key.split('.').at(-1) === last);
  return meant === undefined ? '' : ` Did you mean \`${meant}\`?`;
}
