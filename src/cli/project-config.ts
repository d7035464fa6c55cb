import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import JSON5 from 'json5';
import { CliError } from './io.ts';

/** One database that a project publishes; paths are absolute. */
export interface Target {
  readonly database: string | undefined;
  readonly server: string | undefined;
  readonly modulePath: string | undefined;
  readonly jsPath: string | undefined;
  /** Folder of the static files to publish. */
  readonly static: string | undefined;
  readonly breakClients: boolean;
  readonly anonymous: boolean;
  readonly generate: readonly GenerateEntry[];
}

/** Bindings that a project asks to generate; paths are absolute. */
export interface GenerateEntry {
  readonly language: string | undefined;
  readonly outDir: string | undefined;
  readonly modulePath: string | undefined;
  readonly includePrivate: boolean;
}

/** The content of `service.json` and its layers, with children flattened into targets. */
export interface ProjectConfig {
  /** The main file, for messages. */
  readonly file: string;
  readonly targets: readonly Target[];
  /** What `reducerdb dev` runs beside the module. */
  readonly devRun: string | undefined;
}

type Layer = Record<string, unknown>;

/**
 * Reads the project configuration that applies in `directory`: the nearest `service.json` upwards,
 * overridden by its layers `service.local.json`, `service.{env}.json` and
 * `service.{env}.local.json`.
 */
export function readProjectConfig(
  directory: string,
  environment: string | undefined,
): ProjectConfig | undefined {
  const folder = projectFolder(directory);
  if (folder === undefined) return undefined;
  const names = ['service.json', 'service.local.json'];
  if (environment !== undefined) {
    names.push(`service.${environment}.json`, `service.${environment}.local.json`);
  }
  const merged = names
    .map((name) => path.join(folder, name))
    .filter((file) => existsSync(file))
    .map(readLayer)
    .reduce(mergeLayers, {});
  const targets = flatten(merged, {}).map((layer) => toTarget(layer, folder));
  const devRun = (merged.dev as { readonly run?: string } | undefined)?.run;
  return { file: path.join(folder, 'service.json'), targets, devRun };
}

/** The one server that all targets name; `undefined` when they name none or several. */
export function onlyServer(config: ProjectConfig): string | undefined {
  const named = config.targets.map(({ server }) => server).filter((server) => server !== undefined);
  const servers = new Set(named);
  return servers.size === 1 ? [...servers][0] : undefined;
}

/** The folder of the nearest `service.json`, upwards. */
export function projectFolder(directory: string): string | undefined {
  for (let folder = path.resolve(directory); ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, 'service.json'))) return folder;
    if (folder === path.dirname(folder)) return undefined;
  }
}

const knownKeys = [
  'database',
  'server',
  'module-path',
  'bin-path',
  'js-path',
  'build-options',
  'break-clients',
  'anonymous',
  'num-replicas',
  'parent',
  'organization',
  'native-aot',
  'dotnet-version',
  'generate',
  'children',
  'dev',
  'static',
];

/** Spellings of the same keys by an older tool. */
const otherSpellings: Readonly<Record<string, string>> = {
  'wasm-file': 'bin-path',
  'js-file': 'js-path',
  'anon-identity': 'anonymous',
};

function readLayer(file: string): Layer {
  let parsed: unknown;
  try {
    parsed = JSON5.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new CliError(`${file} is not JSON5: ${(cause as Error).message}`, 1, { cause });
  }
  return checkedLayer(parsed, file);
}

function checkedLayer(parsed: unknown, file: string): Layer {
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new CliError(`${file} must contain one object`);
  }
  const layer: Layer = {};
  for (const [given, value] of Object.entries(parsed)) {
    const key = otherSpellings[given] ?? given;
    if (key === 'hosts') throw new CliError(`${file}: ${hostsText}`);
    if (!knownKeys.includes(key)) throw unsupportedKey(file, given, knownKeys);
    layer[key] = checkedValue(key, value, file);
  }
  const [source, another] = sources.filter((key) => layer[key] !== undefined);
  if (source !== undefined && another !== undefined) {
    throw new CliError(`${file}: ${source} and ${another} cannot be combined`);
  }
  return layer;
}

const hostsText =
  '`hosts` is not a key of the project: host names are bound by the operator of the service, ' +
  'in its config.toml, below [apps.hosts]: "app.example.com" = "my-db"';

const textKeys = [
  'database',
  'server',
  'module-path',
  'bin-path',
  'js-path',
  'build-options',
  'static',
];
const flagKeys = ['break-clients', 'anonymous'];

function checkedValue(key: string, value: unknown, file: string): unknown {
  if (textKeys.includes(key) && typeof value !== 'string') {
    throw new CliError(`${file}: ${key} must be a string`);
  }
  if (flagKeys.includes(key) && typeof value !== 'boolean') {
    throw new CliError(`${file}: ${key} must be true or false`);
  }
  if (key === 'dev') checkDev(value, file);
  if (key === 'generate') checkGenerate(value, file);
  if (key !== 'children') return value;
  if (!Array.isArray(value)) throw new CliError(`${file}: children must be an array`);
  return value.map((child) => checkedLayer(child, file));
}

function checkDev(value: unknown, file: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CliError(`${file}: dev must be an object, such as { "run": "vite" }`);
  }
  const unknown = Object.keys(value).find((key) => key !== 'run');
  if (unknown !== undefined) throw unsupportedKey(file, `dev.${unknown}`, ['run']);
  if ('run' in value && typeof value.run !== 'string') {
    throw new CliError(`${file}: dev.run must be a string, such as "vite"`);
  }
}

const entryTextKeys = [
  'language',
  'out-dir',
  'module-path',
  'namespace',
  'unreal-module-name',
  'uproject-dir',
  'module-prefix',
];

function checkGenerate(value: unknown, file: string): void {
  if (!Array.isArray(value)) throw new CliError(`${file}: generate must be an array`);
  const available = [...entryTextKeys, 'include-private'];
  for (const [at, entry] of value.entries()) {
    const where = `generate[${at}]`;
    if (typeof entry !== 'object' || entry === null) {
      throw new CliError(`${file}: ${where} must be an object`);
    }
    for (const [key, item] of Object.entries(entry)) {
      if (!available.includes(key)) throw unsupportedKey(file, `${where}.${key}`, available);
      const wanted = key === 'include-private' ? 'boolean' : 'string';
      if (typeof item === wanted) continue;
      const text = wanted === 'boolean' ? 'true or false' : 'a string';
      throw new CliError(`${file}: ${where}.${key} must be ${text}`);
    }
  }
}

function unsupportedKey(file: string, key: string, available: readonly string[]): CliError {
  return new CliError(
    `${file}: Config key '${key}' is not supported in the config file. ` +
      `Available keys: ${available.join(', ')}`,
  );
}

/** Later keys replace earlier ones whole; children are merged pairwise up to the shorter list. */
function mergeLayers(below: Layer, above: Layer): Layer {
  const merged = over(below, above);
  if (Array.isArray(below.children) && Array.isArray(above.children)) {
    merged.children = below.children.map((child: Layer, at: number) => {
      const matching: Layer | undefined = (above.children as Layer[])[at];
      return matching === undefined ? child : mergeLayers(child, matching);
    });
  }
  return merged;
}

const notInherited = ['database', 'generate', 'children', 'dev'];
const sources = ['module-path', 'bin-path', 'js-path'];

/**
 * A layer and its children as targets; a child inherits its parent's keys unless it has its own.
 */
function flatten(layer: Layer, parent: Layer): Layer[] {
  const inherited = Object.entries(parent).filter(([key]) => !notInherited.includes(key));
  const own = over(Object.fromEntries(inherited), layer);
  const children = Array.isArray(layer.children) ? (layer.children as Layer[]) : [];
  return [own, ...children.flatMap((child) => flatten(child, own))];
}

/** The keys of both; those of `above` win, and its source, if it names one, replaces any other. */
function over(below: Layer, above: Layer): Layer {
  const hasSource = sources.some((key) => above[key] !== undefined);
  const kept = Object.entries(below).filter(([key]) => !(hasSource && sources.includes(key)));
  return { ...Object.fromEntries(kept), ...above };
}

function toTarget(layer: Layer, folder: string): Target {
  const absolute = (value: unknown) => {
    return typeof value === 'string' ? path.resolve(folder, value) : undefined;
  };
  const entries = Array.isArray(layer.generate) ? (layer.generate as Layer[]) : [];
  return {
    database: text(layer.database),
    server: text(layer.server),
    modulePath: absolute(layer['module-path']),
    jsPath: absolute(layer['js-path']),
    static: absolute(layer.static),
    breakClients: layer['break-clients'] === true,
    anonymous: layer.anonymous === true,
    generate: entries.map((entry) => ({
      language: text(entry.language),
      outDir: absolute(entry['out-dir']),
      modulePath: absolute(entry['module-path']),
      includePrivate: entry['include-private'] === true,
    })),
  };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
