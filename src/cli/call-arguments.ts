import { wholeTypeWords } from '../schema/type-words.ts';
import { JsonError, JsonObject, type JsonValue, parseJson } from '../values/json.ts';
import { LooseNames } from '../values/loose-names.ts';
import { type SpecialKind, specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';
import { CliError } from './io.ts';
import type { FunctionSignature } from './signatures.ts';

/**
 * The JSON of a call's arguments: a list, or an object by name if that is the only word. Each word
 * is JSON; where the parameter's type allows only one reading, a text can go without its quotes:
 * strings, names of variants, ids, times, bytes. Where it fits no type, the service says so.
 */
export function callArguments(
  signature: FunctionSignature | undefined,
  words: readonly string[],
): string {
  const [only = ''] = words;
  if (words.length === 1 && signature !== undefined && isByName(signature, only)) return only;
  const parts = words.map((word, at) => {
    const param = signature?.params[at];
    const type = param && signature && typeOf(param.type, signature.typespace, word);
    try {
      return argument(word, type);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      const name = param?.name ?? `number ${at + 1}`;
      const expected =
        type && signature && `; expected ${wholeTypeWords(type, signature.typespace)}`;
      throw new CliError(
        `argument ${name}: \`${word}\` is not JSON (${error.message})${expected ?? ''}`,
      );
    }
  });
  return `[${parts.join(',')}]`;
}

/** Whether a word is all arguments by name, which the first argument alone could not be. */
function isByName({ params, typespace }: FunctionSignature, word: string): boolean {
  if (!/^\s*\{/.test(word)) return false;
  const [first] = params;
  const kind = first && typeOf(first.type, typespace, word).kind;
  if (params.length === 1 && (kind === 'product' || kind === 'sum')) return false;
  let json: JsonValue;
  try {
    json = parseJson(word);
  } catch {
    return false;
  }
  const names = new LooseNames(params);
  return json instanceof JsonObject && json.entries.some(([key]) => names.find(key) >= 0);
}

/** The type that a word is written for: that of what an option holds, if the word is bare. */
function typeOf(given: AlgebraicType, typespace: Typespace, word: string): AlgebraicType {
  const type = resolveType(given, typespace);
  if (specialKindOf(type) !== 'option' || type.kind !== 'sum') return type;
  const isBare = word !== 'null' && !/^\s*\{\s*"(?:some|none)"/.test(word);
  const some = isBare ? type.variants[0] : undefined;
  return some === undefined ? type : resolveType(some.type, typespace);
}

function argument(word: string, type: AlgebraicType | undefined): string {
  if (type?.kind === 'string') return isJsonString(word) ? word : JSON.stringify(word);
  const special = type && specialKindOf(type);
  // Digits alone are JSON, too.
  const isDigits = special !== undefined && digitKinds.has(special);
  if (isDigits && !/^\s*["[{]/.test(word)) return JSON.stringify(word);
  try {
    parseJson(word);
    return word;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    if (/^\s*["[{]/.test(word)) throw error;
    return JSON.stringify(word);
  }
}

const digitKinds: ReadonlySet<SpecialKind> = new Set([
  'identity',
  'connectionId',
  'uuid',
  'bytes',
] as const);

function isJsonString(word: string): boolean {
  try {
    return typeof parseJson(word) === 'string';
  } catch {
    return false;
  }
}
