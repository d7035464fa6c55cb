import path from 'node:path';
import type { Command } from 'commander';
import { buildProject } from '../build-project.ts';
import type { Io } from '../io.ts';

export function addBuild(program: Command, io: Io): void {
  program
    .command('build')
    .description('type-check a module project and bundle it to dist/bundle.js')
    .option('-p, --module-path <dir>', 'folder of the module project', '.')
    .action(async (flags: { modulePath: string }) => {
      await buildProject(path.resolve(io.cwd, flags.modulePath), io);
      io.out('Build finished successfully.');
    });
}
