import path from 'node:path';
import { parseDuration } from '../host/duration.ts';
import { ConfigurationError, type GivenConfiguration } from './configuration.ts';

/** What is collected from the settings that were given. */
export type Draft = { -readonly [Key in keyof GivenConfiguration]: GivenConfiguration[Key] };

/**
 * Kinds of values. A `list` has commas in flags and variables and is an array in the file; a
 * `duration` is in milliseconds, or has its unit behind it; a `path` is relative to the folder of
 * the file, or of whoever starts the service.
 */
export interface SettingValues {
  readonly text: string;
  readonly path: string;
  readonly list: readonly string[];
  readonly count: number;
  readonly duration: number;
  readonly switch: boolean;
}

export type SettingKind = keyof SettingValues;

/** One thing that an operator can choose. */
export interface Setting<Kind extends SettingKind = SettingKind> {
  readonly kind: Kind;
  /** Key in `config.toml`, after its table if it has one: `websocket.ping-interval`. */
  readonly key: string;
  /** Flag of `reducerdb start`, without the dashes; the variable has its words, too. */
  readonly flag: string;
  /** What stands for its value in the help; nothing for a switch. */
  readonly value?: string;
  readonly help: string;
  /** What holds when it is left out. */
  readonly otherwise: string;
  /** A value as the file may have it. */
  readonly example: string | number | boolean | readonly string[];
  /** Throws `ConfigurationError` for a value that does not fit; its text names no place. */
  apply(value: SettingValues[Kind], draft: Draft): void;
}

/** The kind decides what `apply` is given: `applySetting` reads the value before. */
export function setting<Kind extends SettingKind>(one: Setting<Kind>): Setting {
  return one as unknown as Setting;
}

/** As people write it: `15 s`, or `250 ms`. */
export function durationText(millis: number): string {
  return millis % 1000 === 0 ? `${millis / 1000} s` : `${millis} ms`;
}

/** The environment variable of a setting. */
export function variableOf({ flag }: Pick<Setting, 'flag'>): string {
  return `REDUCERDB_${flag.replaceAll('-', '_').toUpperCase()}`;
}

/**
 * Reads a value as the file, a variable or a flag has it, and applies it. `place` begins the error
 * text. Throws `ConfigurationError`.
 */
export function applySetting<Kind extends SettingKind>(
  one: Setting<Kind>,
  given: unknown,
  { place, folder }: { readonly place: string; readonly folder: string },
  draft: Draft,
): void {
  const value = readers[one.kind](given, folder);
  if (value === undefined) {
    const shown = typeof given === 'string' ? given : JSON.stringify(given);
    throw new ConfigurationError(`${place}: \`${shown}\` is not ${wanted[one.kind]}`);
  }
  try {
    one.apply(value, draft);
  } catch (cause) {
    if (!(cause instanceof ConfigurationError)) throw cause;
    throw new ConfigurationError(`${place}: ${cause.message}`, { cause });
  }
}

const wanted: Readonly<Record<SettingKind, string>> = {
  text: 'a text',
  path: 'a path',
  list: 'a list of texts',
  count: 'a whole number above zero',
  duration: 'a duration, such as `15s`, or a whole number of milliseconds above zero',
  switch: '`true` or `false`',
};

type Readers = {
  readonly [Kind in SettingKind]: (
    given: unknown,
    folder: string,
  ) => SettingValues[Kind] | undefined;
};

const readers: Readers = {
  text: textIn,
  path: (given, folder) => {
    const text = textIn(given);
    return text === undefined ? undefined : path.resolve(folder, text);
  },
  list: (given) => {
    const parts: readonly unknown[] = Array.isArray(given) ? given : [given];
    const texts = parts.flatMap((part) => textIn(part)?.split(',').map(textIn) ?? [undefined]);
    return texts.every((part) => part !== undefined) ? texts : undefined;
  },
  count: countIn,
  duration: (given) => {
    const isWritten = typeof given === 'string' && /[a-z]/.test(given);
    const millis = isWritten ? parseDuration(given) : countIn(given);
    return millis === 0 ? undefined : millis;
  },
  switch: (given) => {
    if (given === true || given === 'true') return true;
    return given === false || given === 'false' ? false : undefined;
  },
};

function textIn(given: unknown): string | undefined {
  return typeof given === 'string' && given.trim() !== '' ? given.trim() : undefined;
}

function countIn(given: unknown): number | undefined {
  const isDigits = typeof given === 'string' && /^\d+$/.test(given.trim());
  const count = isDigits ? Number(given) : given;
  const isCount = typeof count === 'number' && Number.isSafeInteger(count) && count > 0;
  return isCount ? count : undefined;
}
