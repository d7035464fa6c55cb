import type { ParamDefaults, ProductType } from './definition.ts';
import { encodingProblem } from './encoding-problem.ts';
import type { Scope } from './scope.ts';

interface Callable {
  readonly name: string;
  readonly sourceName: string;
  readonly params: ProductType;
}

/** The functions of one kind, with what their parameters get that calls leave out. */
export function withParamDefaults<Function extends Callable>(
  scope: Scope,
  functions: readonly Function[],
): readonly (Function & { readonly paramDefaults?: ParamDefaults })[] {
  const { paramDefaults } = scope.raw;
  if (paramDefaults.length === 0) return functions;
  return functions.map((callable) => {
    const own = paramDefaults.filter(({ functionName }) => functionName === callable.sourceName);
    if (own.length === 0) return callable;
    const values = callable.params.elements.map((): Uint8Array | undefined => undefined);
    for (const { param, value } of own) {
      const problem = problemOf(scope, callable, param, value) ?? twice(values, param);
      if (problem === undefined) values[param] = value;
      else
        scope.problems.report(
          `default of parameter \`${param}\` of \`${callable.name}\`: ${problem}`,
        );
    }
    return { ...callable, paramDefaults: values };
  });
}

/** Reports defaults of functions that do not exist. */
export function checkDefaultsHaveFunctions({ raw, problems }: Scope): void {
  if (raw.paramDefaults.length === 0) return;
  const functions = [...raw.reducers, ...raw.procedures];
  const known = new Set(functions.map(({ sourceName }) => sourceName));
  for (const { functionName } of raw.paramDefaults) {
    if (known.has(functionName)) continue;
    problems.report(`parameter default of \`${functionName}\`: there is no such function`);
  }
}

function problemOf(
  scope: Scope,
  { params }: Callable,
  param: number,
  value: Uint8Array,
): string | undefined {
  const element = params.elements[param];
  if (element === undefined) return 'there is no such parameter';
  return encodingProblem(element.type, scope, value);
}

function twice(values: ParamDefaults, param: number): string | undefined {
  return values[param] === undefined ? undefined : 'it has two';
}
