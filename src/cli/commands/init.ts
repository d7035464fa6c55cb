import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { copyExample, exampleNames, exampleSummary } from '../example-project.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withYes } from '../shared-flags.ts';
import { allTemplates, copyTemplate, type Template, templateNamed } from '../template-project.ts';

interface InitFlags {
  readonly projectPath?: string;
  readonly template?: string | true;
  readonly lang?: string;
  readonly example?: string;
  readonly listExamples?: boolean;
  readonly serverOnly?: boolean;
  readonly nonInteractive?: boolean;
}

export function addInit(program: Command, io: Io): void {
  withYes(program.command('init [name]'))
    .description('create a project: a module, and with most templates a live page or program')
    .option(
      '--project-path <dir>',
      'folder to create it in (default: ./<name>; a name that is a path, such as dir/app or ., ' +
        'is that folder)',
    )
    .option('-t, --template [name]', 'template to use; without a name, list the templates')
    .option('--example <name>', 'begin with an example of the package instead of a template')
    .option('--list-examples', 'list the examples')
    .option('--lang <language>', 'language of the module: typescript')
    .option('--local', 'use the local server (the default)')
    .option('--server-only', 'create no client: the template basic')
    .option('--non-interactive', 'never ask questions')
    .addHelpText('after', templatesText)
    .action(async (name: string | undefined, flags: InitFlags, command: Command) => {
      if (flags.template === true) {
        for (const { name: id, description } of allTemplates()) io.out(`${id}: ${description}`);
        return;
      }
      if (flags.listExamples === true) {
        for (const id of exampleNames()) io.out(`${id}: ${exampleSummary(id)}`);
        return;
      }
      await makeProject(new Session(io, command), name, flags);
    });
}

function templatesText(): string {
  const lines = allTemplates().map(({ name, description }) => `  ${name.padEnd(9)}${description}`);
  return `\nTemplates:\n${lines.join('\n')}\n\nExample:\n  reducerdb init my-app --template react`;
}

async function makeProject(session: Session, given: string | undefined, flags: InitFlags) {
  const { io } = session;
  const { example } = flags;
  refuseBoth(flags);
  const { name, template } = await choicesOf(session, given, flags);
  if (name === undefined && flags.projectPath === undefined && example === undefined) {
    throw new CliError('PROJECT_NAME is required in non-interactive mode', 2);
  }
  const { folder, projectName } = placeOf(io.cwd, name ?? example, flags.projectPath);
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    const question = `${folder} is not empty. Create the project there anyway?`;
    const refused = 'Nothing was created.';
    if (!(await confirm(io, question, session.answersYes('all'), refused))) {
      throw new CliError(refused);
    }
  }
  mkdirSync(folder, { recursive: true });
  if (example === undefined) copyTemplate(template, folder, projectName);
  else copyExample(example, folder, projectName);
  writeProjectConfig(folder, projectName);
  const where = path.relative(io.cwd, folder);
  const origin = example === undefined ? '' : `, from the example ${example}`;
  io.out(`Created ${projectName} in ${folder}${origin}.\n\n${nextText(where, template, example)}`);
}

function refuseBoth({ lang, template, example, serverOnly }: InitFlags): void {
  const refusal = (text: string) => new CliError(text, 2);
  if (lang !== undefined && template !== undefined) {
    throw refusal(
      'Cannot specify both --template and --lang. Language is determined by the template.',
    );
  }
  if (lang !== undefined && !['typescript', 'ts'].includes(lang)) {
    throw refusal(`Modules are written in TypeScript; \`${lang}\` is not supported.`);
  }
  if (example !== undefined && template !== undefined) {
    throw refusal('Cannot specify both --template and --example.');
  }
  if (serverOnly === true && template !== undefined && template !== 'basic') {
    throw refusal(`--server-only is the template basic; leave out --template ${template}.`);
  }
}

interface Choices {
  readonly name: string | undefined;
  readonly template: Template;
}

/** In a terminal, asks for what was not given; elsewhere the template is `basic`. */
async function choicesOf(
  session: Session,
  name: string | undefined,
  { template, lang, example, projectPath, serverOnly, nonInteractive }: InitFlags,
): Promise<Choices> {
  const { io } = session;
  const chosen = typeof template === 'string' ? templateNamed(template) : undefined;
  const isDecided = chosen !== undefined || lang !== undefined || serverOnly === true;
  const asks =
    io.isInteractive && io.showsResults && nonInteractive !== true && !session.answersYes('all');
  if (!asks || example !== undefined) {
    return { name, template: chosen ?? templateNamed('basic') };
  }
  // Loaded on demand: other commands start faster without the prompts.
  const { askName, askTemplate } = await import('../ask-project.ts');
  const isNamed = name !== undefined || projectPath !== undefined;
  return {
    name: isNamed ? name : await askName(),
    template: chosen ?? (isDecided ? templateNamed('basic') : await askTemplate(allTemplates())),
  };
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

/** What to do with the new project, in `where`: its folder from the current one. */
function nextText(where: string, { parts }: Template, example: string | undefined): string {
  const enter = where === '' ? '' : `  cd ${where}\n`;
  if (example !== undefined) {
    return `Next:
${enter}  npm install

See README.md there. With a service running (reducerdb start), \`reducerdb publish\` puts its module
into the database of service.local.json.`;
  }
  if (!parts.includes('shared/module')) {
    return `Next, with a service running (reducerdb start):
${enter}  reducerdb publish
  reducerdb call add_task "write a reducer"
  reducerdb sql "SELECT * FROM task"

The module is src/index.ts; service.local.json names its database.
Run \`npm install\` there for type checks in publish and in your editor.`;
  }
  return `Next:
${enter}  npm install
  npm run dev

README.md says what is where.`;
}
