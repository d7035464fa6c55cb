import { DecodeError } from '../values/binary-reader.ts';
import { validatorOf } from '../values/layout.ts';
import type { AlgebraicType } from '../values/type.ts';
import { InvalidTypeError } from '../values/typespace.ts';
import type { Scope } from './scope.ts';

/** Describes why `bytes` are not exactly one value of `type`. */
export function encodingProblem(
  type: AlgebraicType,
  { types, typespace }: Pick<Scope, 'types' | 'typespace'>,
  bytes: Uint8Array,
): string | undefined {
  // The codec of a rejected type could be as endless as the type.
  if (!types.isSound) return undefined;
  try {
    const end = validatorOf(type, typespace)(bytes, 0, bytes.length);
    return end === bytes.length ? undefined : `${bytes.length - end} bytes left over`;
  } catch (error) {
    if (error instanceof DecodeError || error instanceof InvalidTypeError) return error.message;
    throw error;
  }
}
