import { createHash } from 'node:crypto';
import * as esbuild from 'esbuild';
import { type LinkedProgram, ProgramError } from '../module/runner.ts';
import { renderMessages } from './build-error.ts';

/** Name of the program's own text in traces, where the program brings no source map. */
const programTextName = 'module.js';

/**
 * Makes a published program ready for a runner. `bytes` is the UTF-8 text of one ES module; the
 * script is the body of a function of `module` and `require` that leaves the exports in `module`.
 *
 * The script is printed from a parsed program, in the syntax of the oldest supported Node, and holds
 *  - no `async` function and no `await`: they become generators over whatever `Promise` is in scope
 *    (the engine's own promises would escape the runner's control);
 *  - no `import()`: it becomes a call of `require`, which the runner makes throw; this is proved, not
 *    assumed, because real `import()` would reach out of the sandbox;
 *  - no `require`, `module` or `exports` of the program's own: to it they are undefined names.
 *
 * Rejects with `ProgramError` when the program does not parse, waits at top level, or uses
 * `import.meta`. The source map leads to the author's files when the program has an inline one.
 */
export async function linkProgram(bytes: Uint8Array): Promise<LinkedProgram> {
  const text = decodeProgram(bytes);
  const imports = new Set<string>();
  const output = await printAsScript(text, imports);
  await assertNoImportExpression(output.script);
  return {
    ...output,
    imports: [...imports],
    seed: new Uint8Array(createHash('sha256').update(bytes).digest()),
  };
}

function decodeProgram(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ProgramError('the program is not UTF-8 text', { cause });
  }
}

/** The oldest Node that we run on: a program means the same on every one. */
const target = 'node20.19';

async function printAsScript(
  text: string,
  imports: Set<string>,
): Promise<Pick<LinkedProgram, 'script' | 'sourceMap'>> {
  const options: esbuild.BuildOptions = {
    stdin: { contents: text, sourcefile: programTextName, loader: 'js' },
    absWorkingDir: '/',
    outfile: '/program.js',
    write: false,
    bundle: true,
    format: 'cjs',
    platform: 'neutral',
    target,
    supported: {
      'async-await': false,
      'async-generator': false,
      'for-await': false,
      'dynamic-import': false,
    },
    define: { require: 'undefined', module: 'undefined', exports: 'undefined' },
    treeShaking: false,
    legalComments: 'none',
    charset: 'utf8',
    sourcemap: 'external',
    sourcesContent: false,
    logLevel: 'silent',
    logOverride: { 'empty-import-meta': 'error' },
    plugins: [collectImports(imports)],
  };
  try {
    const result = await esbuild.build(options);
    const file = (ending: string) =>
      result.outputFiles?.find(({ path }) => path.endsWith(ending))?.text ?? '';
    return { script: file('.js'), sourceMap: file('.map') };
  } catch (error) {
    throw new ProgramError(linkErrorText(error), { cause: error });
  }
}

/** Leaves every import to the runner and notes the static ones. */
function collectImports(imports: Set<string>): esbuild.Plugin {
  return {
    name: 'collect-imports',
    setup(build) {
      build.onResolve({ filter: /.*/ }, ({ kind, path }) => {
        if (kind === 'entry-point') return undefined;
        if (kind === 'import-statement') imports.add(path);
        return { path, external: true };
      });
    },
  };
}

function linkErrorText(error: unknown): string {
  const { errors } = error as Partial<esbuild.BuildFailure>;
  if (errors === undefined) return String(error);
  if (errors.some(({ text }) => text.startsWith('Top-level await'))) {
    return 'module has top-level await and is pending';
  }
  if (errors.some(({ id }) => id === 'empty-import-meta')) {
    return 'import.meta is not available in modules';
  }
  return renderMessages(errors);
}

/**
 * `import(` in a string or a comment is harmless; as an expression it is the way out. If a second
 * parse, told that the expression does not exist, prints the same as one that keeps it, there is none.
 */
async function assertNoImportExpression(script: string): Promise<void> {
  if (!script.includes('import')) return;
  const print = async (isSupported: boolean): Promise<string> => {
    const result = await esbuild.transform(script, {
      loader: 'js',
      format: 'cjs',
      target: 'esnext',
      supported: { 'dynamic-import': isSupported },
      logLevel: 'silent',
    });
    return result.code;
  };
  const [kept, replaced] = await Promise.all([print(true), print(false)]);
  if (kept !== replaced) throw new ProgramError('the program holds an import() expression');
}
