import { existsSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { CliError, type Io } from '../io.ts';
import { type MovedFile, planMove } from '../moved-project.ts';
import { ownDependency } from '../own-dependency.ts';

export function addMigrateFromSpacetimedb(program: Command, io: Io): void {
  program
    .command('migrate-from-spacetimedb [dir]')
    .description('change imports, dependencies and configuration of a project of that server')
    .option('--dry-run', 'print what would change, and change nothing')
    .addHelpText('after', examples)
    .action((word: string | undefined, flags: { readonly dryRun?: boolean }) => {
      const root = path.resolve(io.cwd, word ?? '.');
      if (!existsSync(root)) throw new CliError(`${root} does not exist`);
      const isDry = flags.dryRun === true;
      const plan = planMove(root, ownDependency);
      const left = [...plan.left];
      const lines: string[] = [];
      for (const moved of plan.files) {
        const conflict =
          moved.renamedTo !== undefined && existsSync(path.join(root, moved.renamedTo));
        if (conflict) {
          left.push(`${moved.file}: ${moved.renamedTo} is there already; join the two by hand`);
          continue;
        }
        if (!isDry) write(root, moved);
        lines.push(...moved.changes.map((change) => describe(moved, change)));
      }
      io.out(lines.length === 0 ? 'There is nothing to change.' : lines.join('\n'));
      if (left.length > 0) io.out(['', 'Left to do by hand:', ...left].join('\n'));
      if (lines.length > 0) io.out(isDry ? '\nNothing was changed.' : next);
    });
}

const examples = `
Examples:
  reducerdb migrate-from-spacetimedb app --dry-run
  reducerdb migrate-from-spacetimedb app`;

const next = `
Next:
  npm install
  reducerdb build                 in the folder of the module
  reducerdb publish my-db`;

function describe({ file, renamedTo }: MovedFile, change: string): string {
  return renamedTo === undefined ? `${file}${change}` : `${file}: ${change}`;
}

function write(root: string, { file, renamedTo, text }: MovedFile): void {
  const place = path.join(root, file);
  if (text !== undefined) writeFileSync(place, text);
  if (renamedTo !== undefined) renameSync(place, path.join(root, renamedTo));
}
