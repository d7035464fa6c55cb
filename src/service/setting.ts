import path from 'node:path';
import { parseDuration } from '../doors/duration.ts';
import { ConfigurationError, type GivenConfiguration } from './configuration.ts';

/** The values collected from the settings. */
export type Draft = { -readonly [Key in keyof GivenConfiguration]: GivenConfiguration[Key] };

/**
 * Kinds of values. A `list` is comma-separated in flags and variables, and an array in the file. A
 * `duration` is in milliseconds unless it has a unit. `pairs` are `name=value` where a list is, and
 * a table in the file. An `amount` is a text or a whole number. A `path` is relative to the folder
 * of the file, or to the working directory of the caller.
 */
export interface SettingValues {
  readonly text: string;
  readonly path: string;
  readonly list: readonly string[];
  readonly pairs: Readonly<Record<string, string>>;
  readonly amount: string;
  readonly count: number;
  readonly duration: number;
  readonly switch: boolean;
}

export type SettingKind = keyof SettingValues;

/** One option of the operator. */
export interface Setting<Kind extends SettingKind = SettingKind> {
  readonly kind: Kind;
  /** Key in `config.toml`, with its table if it has one: `websocket.ping-interval`. */
  readonly key: string;
  /** Flag of `reducerdb start`, without dashes; the environment variable has the same words. */
  readonly flag: string;
  /** Placeholder for its value in the help; absent for a switch. */
  readonly value?: string;
  readonly help: string;
  /** True: its value is not shown. */
  readonly isSecret?: true;
  /** The default, in words. */
  readonly otherwise: string;
  /** A value as written in the file. */
  readonly example:
    | string
    | number
    | boolean
    | readonly string[]
    | Readonly<Record<string, string>>;
  /** Throws `ConfigurationError` for an invalid value; the text does not name the source. */
  apply(value: SettingValues[Kind], draft: Draft): void;
}

/** Types a setting: its kind determines the argument of `apply`, parsed by `applySetting`. */
export function setting<Kind extends SettingKind>(one: Setting<Kind>): Setting {
  return one as unknown as Setting;
}

/** What is shown instead of a secret. */
export const hiddenValue = '‹hidden›';

/** A value as it was given, for people to see; of `pairs` the names are no secrets. */
export function shownValue({ isSecret }: Pick<Setting, 'isSecret'>, given: unknown): unknown {
  if (isSecret !== true || given === undefined) return given;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return hiddenValue;
  return Object.fromEntries(Object.keys(given).map((name) => [name, hiddenValue]));
}

/** Formats a duration for people: `15 s`, or `250 ms`. */
export function durationText(millis: number): string {
  return millis % 1000 === 0 ? `${millis / 1000} s` : `${millis} ms`;
}

/** Returns the environment variable of a setting. */
export function variableOf({ flag }: Pick<Setting, 'flag'>): string {
  return `REDUCERDB_${flag.replaceAll('-', '_').toUpperCase()}`;
}

/**
 * Parses a value from the file, a variable or a flag, and applies it. `place` prefixes the error
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
  text: 'a string',
  path: 'a path',
  list: 'a list of strings',
  pairs: 'a table of strings, or a list of `name=value`',
  amount: 'a text or a whole number',
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
  list: listIn,
  pairs: pairsIn,
  amount: (given) => (given === 0 ? '0' : (textIn(given) ?? countIn(given)?.toString())),
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

function listIn(given: unknown): readonly string[] | undefined {
  const parts: readonly unknown[] = Array.isArray(given) ? given : [given];
  const texts = parts.flatMap((part) => textIn(part)?.split(',').map(textIn) ?? [undefined]);
  return texts.every((part) => part !== undefined) ? texts : undefined;
}

function pairsIn(given: unknown): Readonly<Record<string, string>> | undefined {
  const isTable = typeof given === 'object' && given !== null && !Array.isArray(given);
  const pairs = isTable
    ? Object.entries(given).map(([name, value]) => [name, textIn(value)])
    : listIn(given)?.map((text) => partsOf(text).map(textIn));
  const arePairs = pairs?.every((pair) => pair.length === 2 && !pair.includes(undefined));
  return arePairs ? Object.fromEntries(pairs ?? []) : undefined;
}

/** A name and a value. What belongs to an issuer, such as a secret, may have a `=` itself. */
function partsOf(pair: string): readonly string[] {
  const at = pair.indexOf('=');
  if (at < 0 || !/^https?:/.test(pair)) return pair.split('=');
  return [pair.slice(0, at), pair.slice(at + 1)];
}

function textIn(given: unknown): string | undefined {
  return typeof given === 'string' && given.trim() !== '' ? given.trim() : undefined;
}

function countIn(given: unknown): number | undefined {
  const isDigits = typeof given === 'string' && /^\d+$/.test(given.trim());
  const count = isDigits ? Number(given) : given;
  const isCount = typeof count === 'number' && Number.isSafeInteger(count) && count > 0;
  return isCount ? count : undefined;
}
