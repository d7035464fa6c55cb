import type { RunOutcome } from '../module/runner.ts';
import type { ReducerDefinition } from '../schema/definition.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { validatorOf } from '../values/layout.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';

export interface ProgramReducer extends ReducerDefinition {
  /** Position in the definition's reducers. */
  readonly id: number;
  /** Throws `DecodeError` when `args` does not begin with an encoded parameter list. */
  readonly checkArguments: (args: Uint8Array) => void;
  /** Checks returned and thrown values; `undefined` if the reducer declares no type for them. */
  readonly checkReturned: ResultCheck | undefined;
  readonly checkThrown: ResultCheck | undefined;
}

/** Reports what is wrong with an encoded value. */
export type ResultCheck = (value: Uint8Array) => string | undefined;

/** The check for values of `type`; `undefined` if a reducer declares no type. */
export function resultCheckOf(
  type: AlgebraicType | undefined,
  typespace: Typespace,
): ResultCheck | undefined {
  if (type === undefined) return undefined;
  const endOf = validatorOf(type, typespace);
  return (value) => {
    try {
      const end = endOf(value, 0, value.length);
      return end === value.length ? undefined : `${value.length - end} bytes are left over`;
    } catch (error) {
      if (error instanceof DecodeError) return error.message;
      throw error;
    }
  };
}

/**
 * How a reducer ended, once its result is known to match the declared types: programs encode
 * results themselves, and clients decode them blindly. Called before the transaction commits.
 */
export function checkedOutcome(reducer: ProgramReducer, outcome: RunOutcome): RunOutcome {
  const fault = faultOf(reducer, outcome);
  if (fault === undefined) return outcome;
  return { kind: 'crashed', message: `reducer ${reducer.name} ${fault}`, trace: [] };
}

function faultOf(reducer: ProgramReducer, outcome: RunOutcome): string | undefined {
  if (outcome.kind === 'crashed') return undefined;
  const { value } = outcome;
  const isReturn = outcome.kind === 'returned';
  const check = isReturn ? reducer.checkReturned : reducer.checkThrown;
  if (value === undefined) {
    // A plain message is always allowed as an error.
    return isReturn && check !== undefined ? 'returned nothing, and declares a value' : undefined;
  }
  const verb = isReturn ? 'returned' : 'threw';
  if (check === undefined) return `${verb} a value, and declares none`;
  const fault = check(value);
  return fault === undefined ? undefined : `${verb} a value of another type: ${fault}`;
}
