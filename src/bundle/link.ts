import { createHash, randomBytes } from 'node:crypto';
import * as esbuild from 'esbuild';
import { limits } from '../limits.ts';
import { type LinkedProgram, ProgramError } from '../module/runner.ts';
import { renderMessages } from './build-error.ts';
import { checkNesting } from './check-nesting.ts';
import { lowerGuards } from './lower-guards.ts';
import { isSurelyTame } from './tame-text.ts';

/** Name of the program's own text in traces if the program has no source map. */
const programTextName = 'module.js';

/**
 * Makes a published program ready for a runner. `bytes` is the UTF-8 text of one ES module; the
 * script is the body of a function of `module` and `require` that leaves its exports in `module`.
 *
 * The script is printed from a parsed program, in the syntax of the oldest supported Node, and
 * contains
 *  - no `async` function and no `await`: they become generators over the `Promise` in scope (the
 *    engine's own promises would escape the runner's control);
 *  - no `import()`: it becomes a call of `require`, which the runner makes throw (a real one would
 *    reach out of the sandbox);
 *  - no `require`, `module` or `exports` of the program's own: to it they are undefined names.
 *
 * The first two are proved, not assumed (see `proveTame`).
 *
 * Rejects with `ProgramError` when the program does not parse, nests too deeply, has a top-level
 * `await`, uses `import.meta`, or becomes too large. The source map leads to the author's files if
 * the program has an inline one.
 *
 * Linking takes many times the program's size in memory, and a program can crash the bundler's
 * process: a host links in a process that it can afford to lose (see `host/linking/linker.ts`).
 */
export async function linkProgram(bytes: Uint8Array): Promise<LinkedProgram> {
  const text = decodeProgram(bytes);
  checkNesting(text);
  const imports = new Set<string>();
  const output = await lowerGuards(await printAsScript(text, imports));
  checkSizes(output);
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

/** The oldest supported Node: a program means the same on every version. */
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
    logLimit: 20,
    logOverride: { 'empty-import-meta': 'error' },
    plugins: [collectImports(imports)],
  };
  try {
    const result = await esbuild.build(options);
    const file = (ending: string) =>
      result.outputFiles?.find(({ path }) => path.endsWith(ending))?.text ?? '';
    return { script: file('.js'), sourceMap: file('.map') };
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    throw new ProgramError(linkErrorText(error.errors), { cause: error });
  }
}

/** A text without import or export would be parsed as a script, whose rules are laxer. */
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

/** Returns false if the bundler itself has ended, whose error is of no use to the user. */
function isBuildFailure(error: unknown): error is esbuild.BuildFailure {
  return error instanceof Error && 'errors' in error;
}

function linkErrorText(errors: readonly esbuild.Message[]): string {
  if (errors.some(({ text }) => text.startsWith('Top-level await'))) {
    return 'module has top-level await and is pending';
  }
  if (errors.some(({ id }) => id === 'empty-import-meta')) {
    return 'import.meta is not available in modules';
  }
  return renderMessages(errors);
}

/** A small program can become a large script: newer syntax is expanded wherever it is used. */
function checkSizes({ script, sourceMap }: Pick<LinkedProgram, 'script' | 'sourceMap'>): void {
  const tooLarge = (what: string, bytesMax: number, advice: string) => {
    const words = `${what} is larger than ${bytesMax / (1024 * 1024)} MiB`;
    return new ProgramError(`the program is too large to be linked: ${words}; ${advice}`);
  };
  const { linkedScriptBytesMax, linkedMapBytesMax } = limits;
  if (Buffer.byteLength(script) > linkedScriptBytesMax) {
    throw tooLarge('its script', linkedScriptBytesMax, 'leave out what it does not need');
  }
  if (Buffer.byteLength(sourceMap) > linkedMapBytesMax) {
    throw tooLarge('its source map', linkedMapBytesMax, 'publish it without a source map');
  }
}

/**
 * Proves that the script contains neither an `import()` expression nor an `async` function, in any
 * form that the bundler leaves alone. For most scripts their text is proof enough. In the others
 * the words may still be in a string, or name a property: so both are replaced by unused names.
 * Then `async` syntax no longer parses, and `import(x)` has become a use of an undeclared variable,
 * which the bundler replaces by a string, there and nowhere else. Throws `ProgramError`.
 */
async function proveTame(script: string): Promise<void> {
  if (isSurelyTame(script)) return;
  const importName = unusedName(script);
  const asyncName = unusedName(script);
  const found = unusedName(script);
  const text = script.replaceAll('import', importName).replaceAll('async', asyncName);
  let printed: string;
  try {
    const options: esbuild.BuildOptions = {
      // Not `transform`: it writes a large text to a file, which stays if its process is killed.
      stdin: { contents: text, loader: 'js' },
      write: false,
      format: 'cjs',
      target: 'esnext',
      minifyWhitespace: true,
      define: { [importName]: JSON.stringify(found) },
      logLevel: 'silent',
      logLimit: 1,
    };
    printed = (await esbuild.build(options)).outputFiles?.[0]?.text ?? found;
  } catch (cause) {
    if (!isBuildFailure(cause)) throw cause;
    throw new ProgramError(
      'the program contains an async function in a form that is not supported',
      {
        cause,
      },
    );
  }
  if (printed.includes(found)) {
    throw new ProgramError('import() with computed options is not available in modules');
  }
}

/**
 * A name that does not occur in `text`. It is random, so that no program can contain every
 * candidate, and short, so that a text full of the replaced word does not grow much.
 */
function unusedName(text: string): string {
  for (;;) {
    const name = `x${randomBytes(6).toString('hex')}`;
    if (!text.includes(name)) return name;
  }
}
