import { usableFunctions } from '../doors/names-hint.ts';
import { crashReason } from '../host/databases/crash-reason.ts';
import { columnsLeftOut } from '../schema/left-out.ts';
import { shownParams, TypeWords } from '../schema/type-words.ts';
import type { OpenDatabase } from './open-database.ts';
import { openLog } from './resources/log-lines.ts';
import type { ToolContext } from './tool.ts';

/** A function that was called, and by whom. */
interface Called {
  readonly name: string;
  readonly open: OpenDatabase;
  readonly context: ToolContext;
}

/** Shows the parameters of a function whose arguments do not fit. */
export async function parametersAdvice({ name, open }: Called): Promise<string | undefined> {
  const { handle, caller } = open;
  const usable = await usableFunctions(handle, caller.rights);
  const { reducers, procedures, typespace } = usable;
  const found = [...reducers, ...procedures].find(
    (one) => one.name === name || one.sourceName === name,
  );
  if (found === undefined) return undefined;
  // Without names, so that each type is written out.
  const words = new TypeWords({ typespace, types: [], leftOut: columnsLeftOut(usable) });
  const params = shownParams(found).map(({ name: param, type }, at) => {
    return `${param ?? at}: ${words.of(type)}`;
  });
  return `${name}(${params.join(', ')})`;
}

/** Says why a reducer crashed, and where in its source, to those who may read the log. */
export async function crashAdvice(
  { name, open: { database }, context: { session } }: Called,
  since: number,
): Promise<string | undefined> {
  // The caller has not asked for the log: that is no attempt to be noted as refused.
  if (!session.host.access.allows(session.caller, database, 'viewLogs')) return undefined;
  return crashReason((request) => openLog(session, database, request), { name, since });
}
