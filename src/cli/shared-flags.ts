import { type Command, InvalidArgumentError, Option } from 'commander';
import { yesKinds } from './session.ts';

/** Adds the flags that commands which talk to a host share. */
export function withServer(command: Command): Command {
  return command
    .option('-s, --server <server>', 'nickname, host name or URL of the server')
    .option('--no-config', 'ignore the project configuration (service.json)');
}

/** Adds `--anonymous`. */
export function withAnonymous(command: Command): Command {
  return command.option('--anonymous', 'use no saved identity');
}

/** Adds `--yes`, which answers questions; with a list it answers those kinds only. */
export function withYes(command: Command): Command {
  return command.addOption(
    new Option(
      '-y, --yes [=kinds]',
      'answer yes to questions: all, or a list of their kinds',
    ).argParser((text: string, before: string[] | undefined) => [
      ...(before ?? []),
      ...kinds(text),
    ]),
  );
}

function kinds(text: string): string[] {
  const known: readonly string[] = yesKinds;
  const given = text.split(',').map((kind) => kind.trim());
  for (const kind of given) {
    if (!known.includes(kind)) throw new InvalidArgumentError(`One of: ${known.join(', ')}.`);
  }
  return given;
}
