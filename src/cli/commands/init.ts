import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { copyExample, exampleNames, exampleSummary } from '../example-project.ts';
import { packageFolder } from '../installation.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { ownDependency } from '../own-dependency.ts';
import { Session } from '../session.ts';
import { withYes } from '../shared-flags.ts';

const templates = path.join(packageFolder, 'templates');

interface InitFlags {
  readonly projectPath?: string;
  readonly template?: string | true;
  readonly lang?: string;
  readonly example?: string;
  readonly listExamples?: boolean;
}

export function addInit(program: Command, io: Io): void {
  withYes(program.command('init [name]'))
    .description('create a module project that is ready to build and publish')
    .option(
      '--project-path <dir>',
      'folder to create it in (default: ./<name>; a name that is a path, such as dir/app or ., ' +
        'is that folder)',
    )
    .option('-t, --template [id]', 'template to use; without an id, list the templates')
    .option('--example <name>', 'begin with an example of the package instead of a template')
    .option('--list-examples', 'list the examples')
    .option('--lang <language>', 'language of the module: typescript')
    .option('--local', 'use the local server (the default)')
    .option('--server-only', 'create no client (templates have none yet)')
    .option('--non-interactive', 'never ask questions')
    .action(async (name: string | undefined, flags: InitFlags, command: Command) => {
      if (flags.template === true) {
        for (const id of readdirSync(templates)) io.out(id);
        return;
      }
      if (flags.listExamples === true) {
        for (const id of exampleNames()) io.out(`${id}: ${exampleSummary(id)}`);
        return;
      }
      await makeProject(new Session(io, command), name, flags);
    });
}

async function makeProject(session: Session, name: string | undefined, flags: InitFlags) {
  const { io } = session;
  const { example } = flags;
  if (name === undefined && flags.projectPath === undefined && example === undefined) {
    throw new CliError('PROJECT_NAME is required in non-interactive mode', 2);
  }
  if (flags.lang !== undefined && flags.template !== undefined) {
    throw new CliError(
      'Cannot specify both --template and --lang. Language is determined by the template.',
      2,
    );
  }
  if (example !== undefined && flags.template !== undefined) {
    throw new CliError('Cannot specify both --template and --example.', 2);
  }
  const template = templateFolder(flags);
  const { folder, projectName } = placeOf(io.cwd, name ?? example, flags.projectPath);
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    const question = `${folder} is not empty. Create the project there anyway?`;
    const refused = 'Nothing was created.';
    if (!(await confirm(io, question, session.answersYes('all'), refused))) {
      throw new CliError(refused);
    }
  }
  mkdirSync(folder, { recursive: true });
  if (example === undefined) {
    cpSync(template, folder, { recursive: true, force: false, errorOnExist: false });
    fillIn(folder, projectName);
  } else copyExample(example, folder, projectName);
  writeProjectConfig(folder, projectName);
  sayNext(io, folder, projectName, example);
}

/** Returns where a project is made, and its name: that of its folder, unless one is given. */
function placeOf(
  cwd: string,
  name: string | undefined,
  projectPath: string | undefined,
): { readonly folder: string; readonly projectName: string } {
  const isPath = name !== undefined && isPathLike(name);
  if (isPath && projectPath !== undefined) {
    throw new CliError(
      `\`${name}\` is a path, and --project-path names a folder too: give a name without a path, ` +
        'or leave out the flag',
      2,
    );
  }
  if (name === undefined || isPath) {
    const folder = path.resolve(cwd, projectPath ?? name ?? '');
    return { folder, projectName: slugOf(path.basename(folder) || folder) };
  }
  const projectName = slugOf(name);
  return { folder: path.resolve(cwd, projectPath ?? projectName), projectName };
}

function isPathLike(name: string): boolean {
  return name === '.' || name === '..' || name.includes('/') || name.includes(path.sep);
}

function templateFolder({ template, lang }: InitFlags): string {
  if (lang !== undefined && !['typescript', 'ts'].includes(lang)) {
    throw new CliError(`Modules are written in TypeScript; \`${lang}\` is not supported.`, 2);
  }
  const id = typeof template === 'string' ? template : 'basic';
  const folder = path.join(templates, id);
  if (existsSync(folder) && !id.includes('..')) return folder;
  throw new CliError(`No such template: ${id}. Available: ${readdirSync(templates).join(', ')}`);
}

/** Files that a package manager would rename or drop have other names in the template. */
const renamed: readonly [from: string, to: string][] = [['gitignore', '.gitignore']];

function fillIn(folder: string, name: string): void {
  for (const [from, to] of renamed) {
    const file = path.join(folder, from);
    if (existsSync(path.join(folder, to))) rmSync(file, { force: true });
    else if (existsSync(file)) renameSync(file, path.join(folder, to));
  }
  const manifest = path.join(folder, 'package.json');
  const text = readFileSync(manifest, 'utf8')
    .replaceAll('{{name}}', name)
    .replaceAll('"{{reducerdb}}"', JSON.stringify(ownDependency(folder)));
  writeFileSync(manifest, text);
}

/** Writes the shared configuration and, in a separate file, the database of this copy. */
function writeProjectConfig(folder: string, name: string): void {
  const files = {
    'service.json': { 'module-path': '.' },
    'service.local.json': { database: name },
  };
  for (const [file, content] of Object.entries(files)) {
    const target = path.join(folder, file);
    if (existsSync(target)) continue;
    writeFileSync(target, `${JSON.stringify(content, null, 2)}\n`);
  }
}

/** Turns a name into one that is valid for a package and a database. */
function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  if (slug === '') throw new CliError(`\`${name}\` must contain a letter or digit`, 2);
  return slug;
}

function sayNext(io: Io, folder: string, name: string, example: string | undefined): void {
  const where = path.relative(io.cwd, folder);
  if (example !== undefined) {
    io.out(`Created ${name} in ${folder}, from the example ${example}.

Next: ${where === '' ? '' : `cd ${where}, `}npm install, and see README.md there.
With a service running (reducerdb start), \`reducerdb publish\` puts its module into the database of
service.local.json.`);
    return;
  }
  io.out(`Created ${name} in ${folder}.

Next, with a service running (reducerdb start):
${where === '' ? '' : `  cd ${where}\n`}  reducerdb publish
  reducerdb call add_task "write a reducer"
  reducerdb sql "SELECT * FROM task"

The module is src/index.ts; service.local.json names its database.
Run \`npm install\` there for type checks in publish and in your editor.`);
}
