import type { ModuleDefinition, ProcedureDefinition } from '../../schema/definition.ts';
import { validatorOf } from '../../values/layout.ts';
import { type ResultCheck, resultCheckOf } from '../call-result.ts';

export interface ProgramProcedure extends ProcedureDefinition {
  /** Position in the definition's procedures. */
  readonly id: number;
  /** Throws `DecodeError` when `args` does not begin with an encoded parameter list. */
  readonly checkArguments: (args: Uint8Array) => void;
  readonly checkReturned: ResultCheck | undefined;
}

/** The procedures of a flat definition, by canonical name. */
export function proceduresOf({
  procedures,
  typespace,
}: ModuleDefinition): ReadonlyMap<string, ProgramProcedure> {
  return new Map(
    procedures.map((procedure, id) => {
      const endOf = validatorOf(procedure.params, typespace);
      const checkArguments = (args: Uint8Array): void => {
        endOf(args, 0, args.length);
      };
      const checkReturned = resultCheckOf(procedure.returnType, typespace);
      return [procedure.name, { ...procedure, id, checkArguments, checkReturned }];
    }),
  );
}
