import { type Command, InvalidArgumentError, Option } from 'commander';
import { CliError } from './io.ts';
import { yesKinds } from './session.ts';

/** Adds the flags that commands which talk to a host share. */
export function withServer(command: Command): Command {
  return command
    .option('-s, --server <server>', 'nickname, host name or URL of the server')
    .option('--no-config', 'ignore the project configuration (service.json)');
}

/**
 * Adds an option that must be given. It is missed only where no other option is unknown: that one
 * may be a misspelled form of it.
 */
export function withRequired(
  command: Command,
  { flags, help }: { readonly flags: string; readonly help: string },
): Command {
  const option = new Option(flags, help);
  const isGiven = (): boolean => command.getOptionValue(option.attributeName()) !== undefined;
  return command.addOption(option).hook('preAction', () => {
    if (!isGiven()) command.error(`error: required option '${flags}' not specified`);
  });
}

/** Adds `--anonymous`. */
export function withAnonymous(command: Command): Command {
  return command.option('--anonymous', 'do not use the saved identity');
}

/** Adds `--yes`, which answers questions; with a list it answers those kinds only. */
export function withYes(command: Command): Command {
  return command.addOption(
    new Option(
      '-y, --yes [=kinds]',
      'answer yes to questions: to all, or to a list of kinds',
    ).argParser((text: string, before: string[] | undefined) => [
      ...(before ?? []),
      ...kinds(text),
    ]),
  );
}

/** Adds `--data-dir`, for commands that work in the data folder of a service. */
export function withDataDir(command: Command): Command {
  return command.option('--data-dir <dir>', 'data folder (REDUCERDB_DATA_DIR)');
}

/** Refuses flags that a command would ignore; `why` follows the name of the first of them. */
export function refuseFlags<Flags extends object>(
  flags: Flags,
  names: readonly (keyof Flags & string)[],
  why: string,
): void {
  const found = names.find((name) => flags[name] !== undefined);
  if (found === undefined) return;
  const written = found.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new CliError(`--${written} ${why}`, 2);
}

/** Adds `--format`, which `checkFormat` checks. */
export function withFormat(command: Command): Command {
  return command.option('--format <format>', 'text or json', 'text');
}

export function checkFormat(format: string): void {
  if (format !== 'text' && format !== 'json') {
    throw new CliError('--format must be text or json', 2);
  }
}

export function checkConfirmed(confirmed: string | undefined): void {
  if (confirmed !== undefined && confirmed !== 'true' && confirmed !== 'false') {
    throw new CliError('--confirmed must be true or false', 2);
  }
}

export const lineCountFault = '--num-lines must be a whole number';

function kinds(text: string): string[] {
  const known: readonly string[] = yesKinds;
  const given = text.split(',').map((kind) => kind.trim());
  for (const kind of given) {
    if (!known.includes(kind))
      throw new InvalidArgumentError(`Expected one or more of: ${known.join(', ')}.`);
  }
  return given;
}
