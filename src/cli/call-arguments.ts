import { JsonError, parseJson } from '../values/json.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';
import { CliError } from './io.ts';
import type { FunctionSignature } from './signatures.ts';

/**
 * The JSON array of a call's arguments. Each word is JSON; where the parameter's type allows only
 * one reading, a string may be given without quotes and an identity as hex digits.
 */
export function callArguments(
  signature: FunctionSignature | undefined,
  words: readonly string[],
): string {
  const parts = words.map((word, at) => {
    const param = signature?.params[at];
    const type = param && signature && resolveType(param.type, signature.typespace);
    return argument(word, type, param?.name ?? `number ${at + 1}`);
  });
  return `[${parts.join(',')}]`;
}

function argument(word: string, type: AlgebraicType | undefined, name: string): string {
  if (type !== undefined && specialKindOf(type) === 'identity') {
    const digits = /^(?:0x)?([0-9a-f]{64})$/i.exec(word)?.[1];
    if (digits !== undefined) return `["0x${digits}"]`;
  }
  if (type?.kind === 'string') return isJsonString(word) ? word : JSON.stringify(word);
  try {
    parseJson(word);
    return word;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    if (type === undefined) return JSON.stringify(word);
    throw new CliError(`argument ${name}: \`${word}\` is not JSON (${error.message})`);
  }
}

function isJsonString(word: string): boolean {
  try {
    return typeof parseJson(word) === 'string';
  } catch {
    return false;
  }
}
