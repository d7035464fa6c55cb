import { expect, it } from 'vitest';
import type { Io } from './io.ts';
import { makeProgram } from './program.ts';

const program = makeProgram({} as Io);

it('[cli 1] lists commands with their arguments', () => {
  const help = program.helpInformation();
  for (const line of [
    'call [options] [database] <function> [arguments...]',
    'sql [options] [database] <query>',
    'subscribe [options] [database] <query>…',
    'delete [options] [database]',
  ]) {
    expect(help).toContain(`\n  ${line}  `);
  }
});

it('[cli 1] lists no arguments by the names under which they are parsed', () => {
  const lists = [program, ...program.commands].map((command) => command.helpInformation());
  expect(lists.join('\n')).not.toMatch(/[[<]words?\b/);
});
