import { columnOf } from '../declare/builder.ts';
import type { Columns } from '../declare/infer.ts';
import type { RawParamDefault } from '../schema/raw-module.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { isIntegerKind, isWideInteger } from '../values/integer-range.ts';
import { nativeEncoderOf } from '../values/native.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, ProductType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';

interface DeclaredFunction {
  readonly functionName: string;
  /** Types by name, or the columns of a row. */
  readonly declared: Columns;
  readonly params: ProductType;
  readonly typespace: Typespace;
}

/**
 * What a call gets for the parameters that it leaves out: the default, or zero for a column that
 * counts up. An option is none, whatever its default. Throws for a default that is not a value of
 * its type.
 */
export function paramDefaultsOf(callable: DeclaredFunction): RawParamDefault[] {
  const { functionName, declared, params, typespace } = callable;
  return Object.entries(declared).flatMap(([name, builder], param) => {
    const type = params.elements[param]?.type;
    if (type === undefined || isOption(type, typespace)) return [];
    const { autoInc, default: given } = columnOf(builder).traits;
    if (!autoInc && given === undefined) return [];
    const value = autoInc ? zeroOf(type) : given?.value;
    const writer = new BinaryWriter(64);
    nativeEncoderOf(type, typespace, `${functionName}.${name} default`)(writer, value);
    return [{ functionName, param, value: writer.finish() }];
  });
}

/** Zero of an integer, which requests the next number of a sequence. */
export function zeroOf({ kind }: AlgebraicType): number | bigint {
  return isIntegerKind(kind) && isWideInteger(kind) ? 0n : 0;
}

function isOption(type: AlgebraicType, typespace: Typespace): boolean {
  return specialKindOf(resolveType(type, typespace)) === 'option';
}
