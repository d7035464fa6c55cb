import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { BuildError } from '../bundle/build-error.ts';
import { CliError, type Io } from './io.ts';

/**
 * Type-checks a module project with its own compiler, bundles it, checks its crons, and writes the
 * program to `dist/bundle.js`. Returns the program.
 */
export async function buildProject(folder: string, io: Io): Promise<Uint8Array> {
  if (!existsSync(path.join(folder, 'package.json'))) {
    throw new CliError(
      `${folder} is not a module project: it has no package.json. ` +
        'Create one with `reducerdb init <name>`, or name the folder of one.',
    );
  }
  // Loaded on demand: commands that build nothing start faster without the bundler.
  const [{ typeCheck }, { buildModule }] = await Promise.all([
    import('../bundle/type-check.ts'),
    import('../bundle/build-module.ts'),
  ]);
  // Beside each other: the compiler is a process of its own, and takes longer than the bundler.
  const ended = new AbortController();
  const checking = typeCheck(folder, ended.signal);
  const built = await buildModule(folder, {}).then(
    (value) => ({ kind: 'built', ...value }) as const,
    (error: unknown) => ({ kind: 'failed', error }) as const,
  );
  if (built.kind === 'failed' && built.error instanceof BuildError && built.error.isMovedImport) {
    ended.abort();
    throw built.error;
  }
  const types = await checking;
  if (types.kind === 'failed')
    throw new CliError(`${types.diagnostics}\nType errors in ${folder}.`);
  if (types.kind === 'skipped') io.err(types.notice);
  if (built.kind === 'failed') throw built.error;
  const { program, warnings } = built;
  for (const warning of warnings) io.err(warning);
  const output = path.join(folder, 'dist', 'bundle.js');
  await checkCrons(program);
  mkdirSync(path.dirname(output), { recursive: true });
  writeFileSync(output, program);
  return program;
}

/** Throws for crons that cannot be read, so that no upload is needed to learn of them. */
async function checkCrons(program: Uint8Array): Promise<void> {
  const text = new TextDecoder().decode(program);
  // Only the program itself knows its expressions, and running it takes a while.
  if (!text.includes('.cron(')) return;
  const [{ describeProgram }, { renderExportFaults }] = await Promise.all([
    import('../host/publishing/describe-program.ts'),
    import('../bundle/export-places.ts'),
  ]);
  const description = await describeProgram(program);
  if (description.kind === 'described' || description.crons.length === 0) return;
  throw new CliError(renderExportFaults(text, description.crons));
}
