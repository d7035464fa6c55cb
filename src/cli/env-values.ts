import { readFileSync } from 'node:fs';
import path from 'node:path';
import { envFileFault, parseEnvFile } from '../bundle/env-file.ts';
import { limits } from '../limits.ts';
import { envNameFault } from '../schema/env-values.ts';
import { CliError, type Io } from './io.ts';

/** A value for a database's configuration; `secret` absent: as the program declares it. */
export interface GivenValue {
  readonly name: string;
  readonly value: string;
  readonly secret?: boolean;
}

export interface PublishedValues {
  readonly setEnv?: readonly string[];
  readonly setSecret?: readonly string[];
  readonly envFile?: string;
}

/** The values that the flags of `publish` name; later ones count. */
export async function valuesOf(io: Io, flags: PublishedValues): Promise<readonly GivenValue[]> {
  const values = new Map<string, GivenValue>();
  const add = (given: GivenValue) => values.set(given.name, given);
  const { setEnv = [], setSecret = [], envFile } = flags;
  if (envFile !== undefined) {
    for (const [name, value] of parseEnvFile(envText(io, envFile))) add({ name, value });
  }
  for (const word of setEnv) {
    const { name, value } = divided(word);
    if (value === undefined) throw new CliError(`--set-env needs ${name}=VALUE`, 2);
    add({ name, value, secret: false });
  }
  for (const word of setSecret) {
    const { name, value } = divided(word);
    checkName(name);
    add({ name, value: value ?? (await askSecret(io, name)), secret: true });
  }
  for (const name of values.keys()) checkName(name);
  return [...values.values()];
}

/** `NAME=VALUE`, or a name alone. */
export function divided(word: string): { readonly name: string; readonly value?: string } {
  const at = word.indexOf('=');
  return at < 0 ? { name: word } : { name: word.slice(0, at), value: word.slice(at + 1) };
}

/** Whether a word is a name, or `NAME=VALUE`. */
export function isValueWord(word: string): boolean {
  return envNameFault(divided(word).name) === undefined;
}

export function checkName(name: string): void {
  const fault = envNameFault(name);
  if (fault !== undefined) throw new CliError(fault, 2);
}

/** The text of a file; `-`: of standard input. A line break at its end does not count. */
export async function valueIn(io: Io, file: string): Promise<string> {
  const text = file === '-' ? await io.readInput() : textOf(io, file);
  return text.replace(/\r?\n$/, '');
}

/** Asks for a secret without showing it; from a pipe, takes a line. */
async function askSecret(io: Io, name: string): Promise<string> {
  const answer = await io.askHidden(`Value of ${name}: `);
  if (answer !== undefined && answer !== '') return answer;
  throw new CliError(`${name} has no value: write ${name}=VALUE, or use --env-file`);
}

function envText(io: Io, file: string): string {
  const text = textOf(io, file);
  const fault = envFileFault(text);
  if (fault !== undefined) throw new CliError(`${file}, ${fault}`);
  return text;
}

function textOf(io: Io, file: string): string {
  const full = path.resolve(io.cwd, file);
  try {
    const bytes = readFileSync(full);
    if (bytes.length <= limits.publishEnvBytesMax) return bytes.toString('utf8');
  } catch (cause) {
    throw new CliError(`${full} cannot be read: ${(cause as Error).message}`, 1, { cause });
  }
  throw new CliError(`${full} is larger than ${limits.publishEnvBytesMax} bytes`);
}
