import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseTarget } from '../../host/registry/names.ts';
import { CliError } from '../io.ts';
import type { ProjectConfig } from '../project-config.ts';
import { defaultModuleFolder } from '../target-choice.ts';
import type { BindingsPlace } from './dev-bindings.ts';

/** What `dev` works on. Paths are absolute. */
export interface DevProject {
  /** Folder of `service.json`, else of the module. */
  readonly root: string;
  readonly module: string;
  readonly database: string;
  readonly bindings: readonly BindingsPlace[];
  /** The front end's command, as the project names it. */
  readonly run: string | undefined;
}

export interface ProjectChoice {
  readonly database?: string | undefined;
  readonly modulePath?: string | undefined;
  readonly moduleBindingsPath?: string | undefined;
  readonly run?: string | undefined;
}

/** The project in a folder, from its configuration and the flags; flags are relative to `cwd`. */
export function devProject(
  folder: string,
  config: ProjectConfig | undefined,
  flags: ProjectChoice,
  cwd: string,
): DevProject {
  const root = config === undefined ? folder : path.dirname(config.file);
  const target = targetOf(config, flags.database);
  const named = flags.modulePath === undefined ? undefined : path.resolve(cwd, flags.modulePath);
  const module = named ?? target?.modulePath ?? defaultModuleFolder(root);
  if (!existsSync(path.join(module, 'package.json'))) throw noProject(module, target?.jsPath);
  const flagged = flags.moduleBindingsPath;
  const bindings =
    flagged === undefined
      ? (target?.generate ?? []).map(({ outDir, includePrivate }) => ({
          folder: outDir ?? path.join(root, 'src/module_bindings'),
          includePrivate,
        }))
      : [{ folder: path.resolve(cwd, flagged), includePrivate: false }];
  const database = flags.database ?? target?.database ?? nameOf(root);
  checkName(database);
  return { root, module, database, bindings, run: flags.run ?? config?.devRun };
}

function targetOf(config: ProjectConfig | undefined, database: string | undefined) {
  const targets = config?.targets ?? [];
  if (database !== undefined) {
    return targets.find((target) => target.database === database) ?? targets[0];
  }
  const named = targets.filter((target) => target.database !== undefined);
  if (named.length > 1) {
    const names = named.map((target) => target.database).join(', ');
    throw new CliError(`service.json names several databases: ${names}. Give dev one of them.`, 2);
  }
  return named[0] ?? targets[0];
}

function noProject(module: string, jsPath: string | undefined): CliError {
  if (jsPath !== undefined) {
    return new CliError('dev builds sources: service.json names a bundle (js-path) instead');
  }
  return new CliError(
    `${module} is not a module project: it has no package.json. ` +
      'Create one with `reducerdb init <name>`, or name its folder with --module-path.',
  );
}

/** The name of the package, as a database can have it. */
function nameOf(root: string): string {
  let name: unknown;
  try {
    ({ name } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')));
  } catch {
    // The folder has a name, too.
  }
  const text = typeof name === 'string' && name !== '' ? name : path.basename(root);
  const plain = text.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return plain.replace(/^-+|-+$/g, '') || 'app';
}

function checkName(given: string): void {
  const found = parseTarget(given);
  if (found.kind === 'name') return;
  const why = found.kind === 'invalid' ? found.fault : 'it is an identity';
  throw new CliError(
    `\`${given}\`: ${why}. ` +
      'A name consists of lower-case letters, digits and single hyphens, such as my-db.',
    2,
  );
}
