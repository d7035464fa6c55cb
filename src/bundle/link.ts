import { createHash } from 'node:crypto';
import * as esbuild from 'esbuild';
import { type LinkedProgram, ProgramError } from '../module/runner.ts';
import { renderMessages } from './build-error.ts';
import { lowerGuards } from './lower-guards.ts';

/** Name of the program's own text in traces, where the program brings no source map. */
const programTextName = 'module.js';

/**
 * Makes a published program ready for a runner. `bytes` is the UTF-8 text of one ES module; the
 * script is the body of a function of `module` and `require` that leaves the exports in `module`.
 *
 * The script is printed from a parsed program, in the syntax of the oldest supported Node, and
 * holds
 *  - no `async` function and no `await`: they become generators over whatever `Promise` is in scope
 *    (the engine's own promises would escape the runner's control);
 *  - no `import()`: it becomes a call of `require`, which the runner makes throw (a real one would
 *    reach out of the sandbox);
 *  - no `require`, `module` or `exports` of the program's own: to it they are undefined names.
 *
 * The first two are proved, not assumed (see `proveTame`).
 *
 * Rejects with `ProgramError` when the program does not parse, waits at top level, or uses
 * `import.meta`. The source map leads to the author's files when the program has an inline one.
 */
export async function linkProgram(bytes: Uint8Array): Promise<LinkedProgram> {
  const text = decodeProgram(bytes);
  const imports = new Set<string>();
  const output = await lowerGuards(await printAsScript(text, imports));
  await proveTame(output.script);
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
    stdin: { contents: asModule(text), sourcefile: programTextName, loader: 'js' },
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

/** A text without any import or export would be taken for a script, with a laxer language. */
function asModule(text: string): string {
  return `${text}\nexport {};\n`;
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
 * Proves that the script holds neither an `import()` expression nor an `async` function, whatever
 * forms of them the bundler leaves alone. The letters alone prove nothing: they may be in a string,
 * or be somebody's property. So both words are replaced by names that are not in use. Then `async`
 * syntax no longer parses, and `import(x)` has become a use of an undeclared variable, which the
 * bundler replaces by a text, there and nowhere else. Throws `ProgramError`.
 */
async function proveTame(script: string): Promise<void> {
  const importName = unusedName(script, 'importExpression');
  const asyncName = unusedName(script, 'asyncFunction');
  const found = unusedName(script, 'foundExpression');
  const text = script.replaceAll('import', importName).replaceAll('async', asyncName);
  if (text === script) return;
  let printed: string;
  try {
    const define = { [importName]: JSON.stringify(found) };
    const options = { loader: 'js', format: 'cjs', target: 'esnext', define } as const;
    printed = (await esbuild.transform(text, { ...options, logLevel: 'silent' })).code;
  } catch (cause) {
    throw new ProgramError('the program holds an async function of a form that cannot be run', {
      cause,
    });
  }
  if (printed.includes(found)) {
    throw new ProgramError('import() with computed options is not available in modules');
  }
}

function unusedName(text: string, base: string): string {
  let name = base;
  for (let count = 0; text.includes(name); count += 1) name = `${base}${count}`;
  return name;
}
