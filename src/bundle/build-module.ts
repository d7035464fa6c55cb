import { realpathSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import * as esbuild from 'esbuild';
import { limits } from '../limits.ts';
import { sdkSourcePrefix } from '../module/javascript/stack-trace.ts';
import { BuildError, renderMessages } from './build-error.ts';
import { collectDocs } from './doc-comments.ts';
import {
  enterMigrations,
  entrySource,
  type MigrationSource,
  migrationsEntry,
  readMigrations,
} from './migrations.ts';
import { ownNamespace, readOwnSource, resolveOwnPackage, webGlobals } from './own-package.ts';
import { namePeerImports, peerImports } from './peer-imports.ts';
import { docsLine } from './program-docs.ts';
import { findInstalled, findProject, type Project } from './project.ts';

export interface BuildOptions {
  /** Shown as the version of a development build; defaults to `production`. */
  readonly mode?: 'production' | 'development';
  /** False: leaves out doc comments, which the program otherwise carries for its readers. */
  readonly docs?: boolean;
}

export interface BuiltModule {
  /** The program to publish: UTF-8 text of one ES module with its source map inside. */
  readonly program: Uint8Array;
  /** For people, one message each, with place and code frame. */
  readonly warnings: readonly string[];
}

/**
 * Bundles the TypeScript module at `location` (a project folder or a single file) into one program.
 *
 * The output depends on the sources alone: no absolute path, no time. Nothing is lowered or
 * minified; the host does what its engine needs (see `link.ts`). Types are not checked (see
 * `type-check.ts`). Rejects with `BuildError`, whose text names file, line and column.
 */
export async function buildModule(
  location: string,
  options: BuildOptions = {},
): Promise<BuiltModule> {
  const project = findProject(location);
  const bundle = bundleOptions(project, options.mode ?? 'production', readMigrations(project));
  return builtModule(project, await refusing(() => esbuild.build(bundle)), options);
}

/** What the bundler gives of a project. */
export type Bundled = esbuild.BuildResult<BundleOptions>;

/** The program of a bundled project. Throws `BuildError`. */
export function builtModule(
  project: Project,
  result: Bundled,
  options: BuildOptions = {},
): BuiltModule {
  const outputs = Object.values(result.metafile.outputs);
  const isDefaultExported = outputs.some(({ exports }) => exports.includes('default'));
  if (!isDefaultExported) {
    throw new BuildError(
      `${relativeTo(project, project.entry)}: must export schema as default export, ` +
        'as in: export default db',
    );
  }
  const file = (ending: string) =>
    result.outputFiles.find((output) => output.path.endsWith(ending))?.text ?? '';
  const warnings = result.warnings.map((warning) => renderMessages([warning]));
  const docs = options.docs === false ? '' : docsLine(collectDocs(file('.js'), file('.map')));
  if (docs === undefined) warnings.push(docsLeftOut);
  const map = portableMap(file('.map'), project, printedInputs(result));
  const url = `data:application/json;base64,${Buffer.from(map).toString('base64')}`;
  const text = `${file('.js')}${docs ?? ''}//# sourceMappingURL=${url}\n`;
  return { program: new TextEncoder().encode(text), warnings };
}

const docsLeftOut =
  'the doc comments of the module are left out of the program: ' +
  `together they are longer than ${limits.programDocsBytesMax} bytes`;

/** How the bundler is asked, of which the results depend. */
export interface BundleOptions extends esbuild.BuildOptions {
  metafile: true;
  write: false;
}

/** How a project with these migrations is bundled. */
export function bundleOptions(
  project: Project,
  mode: string,
  migrations: readonly MigrationSource[],
): BundleOptions {
  return {
    entryPoints: [migrations.length === 0 ? project.entry : migrationsEntry],
    absWorkingDir: project.root,
    outfile: path.join(project.root, 'dist/bundle.js'),
    write: false,
    metafile: true,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'esnext',
    conditions: ['reducerdb-module', mode, 'import', 'default'],
    define: { 'process.env.NODE_ENV': JSON.stringify(mode) },
    // Decorators and the like follow the language, not the settings of an enclosing project.
    tsconfigRaw: {},
    charset: 'utf8',
    legalComments: 'none',
    sourcemap: 'external',
    sourcesContent: true,
    logLevel: 'silent',
    // Our own package declares that it has no side effects; an import for its types alone is
    // fine.
    logOverride: { 'ignored-bare-import': 'silent' },
    logLimit: 20,
    external: ['spacetime:sys*'],
    inject: [webGlobals],
    plugins: [
      ...(migrations.length === 0 ? [] : [enterMigrations(project, migrations)]),
      provideOwnPackage(project),
      namePeerImports(async (build, args) => {
        return (await resolveInstalled(build, args, project.root)).errors.length === 0;
      }),
      refuseNodeModules(project),
    ],
  };
}

/** Runs the bundler; its errors become a `BuildError`. */
export async function refusing<Result>(bundle: () => Promise<Result>): Promise<Result> {
  try {
    return await bundle();
  } catch (error) {
    const { errors } = error as Partial<esbuild.BuildFailure>;
    if (errors === undefined) throw error;
    const isMoved = errors.some(({ pluginName }) => pluginName === peerImports);
    throw new BuildError(renderMessages(errors), { cause: error }, isMoved);
  }
}

/** Resolves our own package to files beside this one if the project has not installed it. */
function provideOwnPackage({ root }: Project): esbuild.Plugin {
  return {
    name: 'provide-own-package',
    setup(build) {
      build.onResolve({ filter: /^reducerdb($|\/)/ }, async (args) => {
        if (args.pluginData === resolving) return undefined;
        const installed = await resolveInstalled(build, args, root);
        if (installed.errors.length === 0) return installed;
        const file = resolveOwnPackage(args.path);
        return file === undefined ? undefined : { path: file, namespace: ownNamespace };
      });
      // Always from beside this file: a project may have an older package installed.
      build.onResolve({ filter: /^server\/web\/globals\.[jt]s$/ }, ({ kind, path: file }) => {
        if (kind !== 'entry-point') return undefined;
        return { path: file, namespace: ownNamespace, sideEffects: false };
      });
      build.onResolve({ filter: /^\./, namespace: ownNamespace }, ({ path: file, importer }) => ({
        path: path.posix.join(path.posix.dirname(importer), file),
        namespace: ownNamespace,
        sideEffects: false,
      }));
      build.onLoad({ filter: /.*/, namespace: ownNamespace }, ({ path: file }) => ({
        contents: readOwnSource(file),
        loader: file.endsWith('.ts') ? 'ts' : 'js',
      }));
    },
  };
}

const nodeModules = new Set(builtinModules);

/** Rejects Node's built-in modules; a package of the same name is allowed. */
function refuseNodeModules({ root }: Project): esbuild.Plugin {
  return {
    name: 'refuse-node-modules',
    setup(build) {
      build.onResolve({ filter: /^[a-z_]/ }, async (args) => {
        if (args.pluginData === resolving) return undefined;
        if (!args.path.startsWith('node:')) {
          if (!nodeModules.has(args.path)) return undefined;
          const installed = await resolveInstalled(build, args, root);
          if (installed.errors.length === 0) return installed;
        }
        const text = `"${args.path}" is not available: modules have no I/O`;
        return { errors: [{ text, notes: [{ text: whyNoInput }] }] };
      });
    },
  };
}

const whyNoInput =
  'a module runs inside the database, without files, network, timers or environment; ' +
  'pass what it needs as arguments of a reducer';

/** Marks our own requests to the bundler's resolver, so that our plugin does not handle them. */
const resolving = Symbol('resolving');

function resolveInstalled(
  build: esbuild.PluginBuild,
  { path: specifier, importer, resolveDir, kind }: esbuild.OnResolveArgs,
  root: string,
): Promise<esbuild.ResolveResult> {
  return build.resolve(specifier, {
    importer,
    resolveDir: resolveDir === '' ? root : resolveDir,
    kind,
    pluginData: resolving,
  });
}

/**
 * Names sources by where they are in the project, and our own by where they are in our package. Of
 * those, `dist/module-sdk` has no places in the map; it is named as a part of the program.
 */
function portableMap(json: string, project: Project, inputs: readonly string[]): string {
  const map = JSON.parse(json) as { sources: string[]; sourcesContent: (string | null)[] };
  const entry = map.sources.indexOf(entrySource);
  if (entry >= 0) map.sourcesContent[entry] = null;
  const outputFolder = path.join(project.root, 'dist');
  // It may be a link, such as one to a clone; the bundler names files by their real paths.
  const installed = findInstalled(project.root, 'reducerdb');
  const linked = installed && realpathSync(installed);
  const portable = (whole: string) => {
    const file = relativeTo(project, whole);
    const inLinked = linked && relativeTo({ root: linked }, whole);
    const [, inPackage] =
      /(?:^|\/)node_modules\/reducerdb\/(?:dist\/|src\/)?(.*)$/.exec(file) ??
      /^(?:dist|src)\/(.*)$/.exec(inLinked ?? '') ??
      [];
    return inPackage === undefined ? file : sdkSourcePrefix + inPackage;
  };
  const named = (source: string, folder: string) => {
    if (!source.startsWith(`${ownNamespace}:`)) return portable(path.resolve(folder, source));
    return sdkSourcePrefix + source.slice(ownNamespace.length + 1);
  };
  map.sources = map.sources.map((source) => named(source, outputFolder));
  const isOurs = (name: string) => name.startsWith(sdkSourcePrefix);
  const isPart = inputs.some((name) => isOurs(named(name, project.root)));
  if (isPart && !map.sources.some(isOurs)) map.sources.push(`${sdkSourcePrefix}module-sdk`);
  // Nobody is shown our own files, and their texts are longer than most modules.
  map.sourcesContent = map.sources.map((name, at) => {
    return isOurs(name) ? null : (map.sourcesContent[at] ?? null);
  });
  return JSON.stringify(map);
}

/** What of the inputs is in the program. */
function printedInputs({ metafile }: Bundled): readonly string[] {
  return Object.values(metafile.outputs).flatMap(({ inputs }) => {
    return Object.keys(inputs).filter((name) => (inputs[name]?.bytesInOutput ?? 0) > 0);
  });
}

function relativeTo({ root }: Pick<Project, 'root'>, file: string): string {
  return path.relative(root, file).split(path.sep).join('/');
}
