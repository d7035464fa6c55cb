import path from 'node:path';
import * as esbuild from 'esbuild';
import {
  type BuiltModule,
  type BundleOptions,
  builtModule,
  bundleOptions,
  refusing,
} from './build-module.ts';
import { type MigrationSource, readMigrations } from './migrations.ts';
import { findProject, type Project } from './project.ts';

/** A program, and the files that it was made of. */
export interface RebuiltModule extends BuiltModule {
  /** Absolute paths of the files of the disk that were bundled, those of packages too. */
  readonly sources: readonly string[];
}

/** A bundler that is kept between two builds, and the shape of the project that it was made for. */
interface Kept {
  readonly context: esbuild.BuildContext<BundleOptions>;
  readonly shape: string;
}

/**
 * Builds one project again and again, as `buildModule` does: the same program for the same sources.
 * What did not change since the build before is not parsed again. One build runs at a time.
 */
export class ModuleBuilder {
  readonly #location: string;
  #kept: Kept | undefined;

  constructor(location: string) {
    this.#location = location;
  }

  /** Rejects with `BuildError`; the next build is independent of that. */
  async build(): Promise<RebuiltModule> {
    const project = findProject(this.#location);
    const migrations = readMigrations(project);
    const context = await this.#contextFor(project, migrations);
    const result = await refusing(() => context.rebuild());
    const sources = Object.keys(result.metafile.inputs)
      // Our own package can be bundled from beside this file, under names of its own.
      .filter((name) => !/^[\w-]{2,}:/.test(name))
      .map((name) => path.resolve(project.root, name));
    return { ...builtModule(project, result), sources };
  }

  /** Ends the bundler; a later build starts another one. */
  async dispose(): Promise<void> {
    const kept = this.#kept;
    this.#kept = undefined;
    await kept?.context.dispose();
  }

  /** The bundler's options hold the entry and all that a program says of its migrations. */
  async #contextFor(
    project: Project,
    migrations: readonly MigrationSource[],
  ): Promise<Kept['context']> {
    const shape = JSON.stringify([
      project,
      migrations.map((one) => [...Object.values(one)].map(String)),
    ]);
    if (this.#kept?.shape === shape) return this.#kept.context;
    await this.dispose();
    const options = bundleOptions(project, 'production', migrations);
    const context = await startedWithRoom(() => esbuild.context(options));
    this.#kept = { context, shape };
    return context;
  }
}

/**
 * Has the bundler, if it starts now, collect its garbage later than it would: it parses the same
 * again and again, and keeps a few MiB of it.
 */
function startedWithRoom<Result>(start: () => Result): Result {
  const { GOGC } = process.env;
  process.env.GOGC = GOGC ?? '400';
  try {
    return start();
  } finally {
    if (GOGC === undefined) delete process.env.GOGC;
  }
}
