import type { ModuleNames } from './module-names.ts';
import { CallFailed } from './test-errors.ts';
import { nested } from './test-tables.ts';

/** Calls a function by its canonical name, with arguments in the module's own spelling. */
export type CallByName = (
  name: string,
  args: Readonly<Record<string, unknown>>,
) => Promise<unknown>;

/**
 * `db.reducers` or `db.procedures`: one function each, whatever may be called. `module-types.ts`
 * says what compiles.
 */
export function functionsOf(
  names: ModuleNames,
  kind: 'reducers' | 'procedures',
  call: CallByName,
): object {
  const items = [...names[kind]].map(([path, { name: calledName }]) => {
    const made = (args: Readonly<Record<string, unknown>> = {}) => call(calledName, args);
    const result = async (args?: Readonly<Record<string, unknown>>) => {
      try {
        return { ok: true, value: await made(args) };
      } catch (error) {
        if (error instanceof CallFailed) return { ok: false, error };
        throw error;
      }
    };
    return [path, Object.assign(made, { result, calledName })] as const;
  });
  return nested(items, kind === 'reducers' ? 'reducer' : 'procedure');
}
