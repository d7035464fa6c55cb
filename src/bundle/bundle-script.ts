import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';
import { refusing } from './build-module.ts';
import { findInstalled } from './project.ts';

export interface ScriptOptions {
  /** The text of the script. */
  readonly text: string;
  /** The folder that its relative imports are from; it is in the project. */
  readonly folder: string;
  /** The file to write: an ES module for Node, in the project, so that it finds packages. */
  readonly output: string;
}

/**
 * Bundles a script that runs in Node beside a project, with the project's own files in it; packages
 * are imported when it runs. Our own package is the one beside this file if the project has not
 * installed it. Rejects with `BuildError`.
 */
export async function bundleScript({ text, folder, output }: ScriptOptions): Promise<void> {
  await refusing(() =>
    esbuild.build({
      stdin: { contents: text, resolveDir: folder, sourcefile: 'dev-script.js', loader: 'js' },
      absWorkingDir: folder,
      outfile: output,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      packages: 'external',
      sourcemap: 'inline',
      logLevel: 'silent',
      logLimit: 20,
      plugins: [provideClient(folder)],
    }),
  );
}

function provideClient(folder: string): esbuild.Plugin {
  return {
    name: 'provide-client',
    setup(build) {
      build.onResolve({ filter: /^reducerdb\/(?:client|sdk|values)$/ }, ({ path: name }) => {
        if (findInstalled(folder, 'reducerdb') !== undefined) return undefined;
        const room = name === 'reducerdb/values' ? 'values' : 'client';
        return { path: pathToFileURL(builtFile(room)).href, external: true };
      });
    },
  };
}

/** The built entry of a room, whether this file is a source or built itself. */
function builtFile(room: string): string {
  const here = path.dirname(fileURLToPath(import.meta.url));
  const beside = path.join(here, '..', room, 'index.js');
  return existsSync(beside) ? beside : path.join(here, '../../dist', room, 'index.js');
}
