import path from 'node:path';
import { type Command, Option } from 'commander';
import type { BindingsRun } from '../generate-bindings.ts';
import { importExtensionFor } from '../import-extension.ts';
import { CliError, type Io } from '../io.ts';
import type { DefinitionSource } from '../module-definition.ts';
import type { GenerateEntry, Target } from '../project-config.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { defaultModuleFolder, matcherOf } from '../target-choice.ts';

interface GenerateFlags {
  readonly lang?: string;
  readonly outDir?: string;
  readonly modulePath?: string;
  readonly jsPath?: string;
  readonly database?: string;
  readonly moduleDef?: string;
  readonly includePrivate?: boolean;
  readonly schemaOnly?: boolean;
  readonly importExtension?: 'none' | 'js' | 'ts';
}

export function addGenerate(program: Command, io: Io): void {
  withYes(withServer(program.command('generate [target]')))
    .description('generate TypeScript client bindings for a module')
    .option('-l, --lang <language>', 'language of the bindings: typescript')
    .option('-o, --out-dir <dir>', 'folder to write them to (default: src/module_bindings)')
    .option('-p, --module-path <dir>', 'folder of the module project (default: the current one)')
    .option('-j, --js-path <file>', 'use this bundle instead of building the project')
    .option('--database <database>', 'use the schema of a running database instead of building')
    .addOption(new Option('--module-def <file>', 'schema as JSON').hideHelp())
    .option('--include-private', 'include private tables and functions')
    .option('--schema-only', 'write only `schema.ts`, for clients typed by the module')
    .addOption(
      new Option(
        '--import-extension <ending>',
        'file extension in imports (default: what the nearest tsconfig.json requires)',
      ).choices(['none', 'js', 'ts']),
    )
    .addOption(new Option('--build-options <text>').hideHelp())
    .addOption(new Option('--build-opts <text>').hideHelp())
    .option('--env <name>', 'environment, whose files override the project configuration')
    .addHelpText('after', examples)
    .action(async (pattern: string | undefined, flags: GenerateFlags, command: Command) => {
      const session = new Session(io, command);
      const runs = runsOf(session, pattern, flags);
      // Loaded on demand: other commands do not need definitions and their rules.
      const { generateBindings } = await import('../generate-bindings.ts');
      await generateBindings(session, runs);
      io.out('Generate finished successfully.');
    });
}

const examples = `
Examples:
  reducerdb generate --module-path app --out-dir web/module_bindings
  reducerdb generate --database my-db --out-dir web/module_bindings`;

/** The bindings to write: those of the flags, or those of the project, overridden by the flags. */
function runsOf(
  session: Session,
  pattern: string | undefined,
  flags: GenerateFlags,
): BindingsRun[] {
  checkLanguage(flags.lang);
  const given = sourceOfFlags(flags, session.io);
  const targets = chosenTargets(session, pattern);
  const entries = targets.flatMap((target) => target.generate.map((entry) => ({ target, entry })));
  if (entries.length > 1 && (given !== undefined || flags.outDir !== undefined)) {
    throw new CliError(
      'The project configures several sets of bindings. ' +
        'Name one target, or pass --no-config to use only the flags.',
      2,
    );
  }
  if (entries.length === 0) {
    const [target, another] = targets;
    if (given === undefined && target !== undefined && another !== undefined) {
      const names = targets.map(({ database }) => database).filter((name) => name !== undefined);
      throw new CliError(
        `Multiple databases found in config: ${names.join(', ')}. Please specify which one to use.`,
        2,
      );
    }
    return [runOf(session, flags, given ?? sourceOfTarget(target, undefined, session.io))];
  }
  return entries.map(({ target, entry }) => {
    checkLanguage(entry.language);
    const source = given ?? sourceOfTarget(target, entry, session.io);
    return runOf(session, flags, source, entry);
  });
}

function runOf(
  { io }: Session,
  flags: GenerateFlags,
  source: DefinitionSource,
  entry?: GenerateEntry,
): BindingsRun {
  const fallback = entry?.outDir ?? path.join('src', 'module_bindings');
  const folder = path.resolve(io.cwd, flags.outDir ?? fallback);
  const endings = { none: '', js: '.js', ts: '.ts' } as const;
  return {
    source,
    folder,
    includePrivate: flags.includePrivate === true || entry?.includePrivate === true,
    isSchemaOnly: flags.schemaOnly === true,
    extension:
      flags.importExtension === undefined
        ? importExtensionFor(folder)
        : endings[flags.importExtension],
  };
}

function chosenTargets({ project }: Session, pattern: string | undefined): readonly Target[] {
  const targets = project?.targets ?? [];
  if (pattern === undefined) return targets;
  const chosen = targets.filter(matcherOf(pattern));
  if (chosen.length > 0) return chosen;
  const names = targets.map(({ database }) => database).filter((name) => name !== undefined);
  const available = names.length === 0 ? '' : ` Available databases: ${names.join(', ')}.`;
  throw new CliError(
    `No database target matches '${pattern}'.${available} ` +
      `To use the schema of a running database, pass --database ${pattern}.`,
  );
}

function checkLanguage(language: string | undefined): void {
  if (language === undefined || ['typescript', 'ts'].includes(language.toLowerCase())) return;
  throw new CliError(`Bindings for ${language} are not supported, only for typescript.`, 2);
}

/** The source of the definition that the flags name, if any. */
function sourceOfFlags(flags: GenerateFlags, io: Io): DefinitionSource | undefined {
  const { modulePath, jsPath, database, moduleDef } = flags;
  const absolute = (file: string) => path.resolve(io.cwd, file);
  const given: DefinitionSource[] = [];
  if (modulePath !== undefined) given.push({ kind: 'project', folder: absolute(modulePath) });
  if (jsPath !== undefined) given.push({ kind: 'program', file: absolute(jsPath) });
  if (database !== undefined) given.push({ kind: 'database', name: database, server: undefined });
  if (moduleDef !== undefined) given.push({ kind: 'document', file: absolute(moduleDef) });
  if (given.length > 1) {
    throw new CliError('--module-path, --js-path and --database cannot be combined', 2);
  }
  return given[0];
}

function sourceOfTarget(
  target: Target | undefined,
  entry: GenerateEntry | undefined,
  io: Io,
): DefinitionSource {
  const folder = entry?.modulePath ?? target?.modulePath;
  if (folder !== undefined) return { kind: 'project', folder };
  if (target?.jsPath !== undefined) return { kind: 'program', file: target.jsPath };
  return { kind: 'project', folder: defaultModuleFolder(io.cwd) };
}
