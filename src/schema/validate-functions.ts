import { unitType } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { typeText } from '../values/typespace.ts';
import type { Lifecycle, ProcedureDefinition, ReducerDefinition } from './definition.ts';
import { Namespace } from './problems.ts';
import { canonicalFunctionName, type Scope } from './scope.ts';
import { checkDefaultsHaveFunctions, withParamDefaults } from './validate-param-defaults.ts';

/** Names of lifecycle events in texts. */
export const lifecycleTexts: Readonly<Record<Lifecycle, string>> = {
  init: 'Init',
  onConnect: 'OnConnect',
  onDisconnect: 'OnDisconnect',
};

export interface ValidFunctions {
  readonly reducers: readonly ReducerDefinition[];
  readonly procedures: readonly ProcedureDefinition[];
  /** Names taken by reducers and procedures; views add theirs. */
  readonly names: Namespace;
}

/** Checks reducers, procedures and the lifecycle events; both kinds keep their order. */
export function validateFunctions(scope: Scope): ValidFunctions {
  const names = new Namespace(scope.problems, (name) => {
    return `Name ${name} is used for multiple reducers, procedures and/or views`;
  });
  const events = validateLifecycle(scope);
  const { schedules, crons } = scope.raw;
  const scheduled = [...schedules, ...crons].map(({ functionName }) => functionName);
  const hidden = new Set([...events.keys(), ...scheduled]);
  // Version 9 has no private functions.
  const isHidden = (sourceName: string) => scope.raw.version === 10 && hidden.has(sourceName);
  const reducers = scope.raw.reducers.map((raw) => ({
    name: nameFunction(scope, raw.sourceName, names),
    sourceName: raw.sourceName,
    params: raw.params,
    returns: isUnit(raw.okReturnType) ? undefined : raw.okReturnType,
    throws: raw.errReturnType.kind === 'string' ? undefined : raw.errReturnType,
    lifecycle: events.get(raw.sourceName),
    visibility: isHidden(raw.sourceName) ? ('private' as const) : raw.visibility,
  }));
  for (const reducer of reducers) {
    scope.types.checkParameters(reducer.params, `reducer \`${reducer.name}\``);
    checkResult(scope, reducer);
  }
  const procedures = scope.raw.procedures.map((raw) => {
    const name = nameFunction(scope, raw.sourceName, names);
    scope.types.checkParameters(raw.params, `procedure \`${name}\``);
    scope.types.checkUse(raw.returnType, `procedure \`${name}\` return value`);
    const visibility = isHidden(raw.sourceName) ? ('private' as const) : raw.visibility;
    return { ...raw, name, visibility };
  });
  checkDefaultsHaveFunctions(scope);
  return {
    reducers: withParamDefaults(scope, reducers),
    procedures: withParamDefaults(scope, procedures),
    names,
  };
}

/** Checks the spelling of a function's name and reserves it. Views use it too. */
export function nameFunction(scope: Scope, sourceName: string, names: Namespace): string {
  const name = canonicalFunctionName(scope, sourceName);
  scope.problems.checkIdentifiers(sourceName, name);
  names.claim(name);
  return name;
}

/** Events by the source name of their reducer. */
function validateLifecycle({ raw, problems }: Scope): Map<string, Lifecycle> {
  const reducers = new Set(raw.reducers.map((reducer) => reducer.sourceName));
  const assigned = new Set<Lifecycle>();
  const events = new Map<string, Lifecycle>();
  for (const { event, functionName } of raw.lifecycleReducers) {
    const text = lifecycleTexts[event];
    if (assigned.has(event)) {
      problems.report(`Multiple reducers defined for lifecycle event ${text}`);
    }
    if (!reducers.has(functionName)) problems.report(`lifecycle event ${text} without reducer`);
    if (events.has(functionName)) {
      problems.report(`reducer \`${functionName}\` is assigned to several lifecycle events`);
    }
    assigned.add(event);
    events.set(functionName, event);
  }
  return events;
}

/** No caller receives the result of a lifecycle reducer. */
function checkResult({ types, problems }: Scope, reducer: ReducerDefinition): void {
  const { name, returns = unitType, throws = text, lifecycle } = reducer;
  types.checkUse(returns, `reducer \`${name}\` return value`);
  types.checkUse(throws, `reducer \`${name}\` error`);
  if (lifecycle === undefined || (returns === unitType && throws === text)) return;
  const found = `Result<${typeText(returns)}, ${typeText(throws)}>`;
  problems.report(`reducer ${name} has invalid return type: found ${found}`);
}

function isUnit(type: AlgebraicType): boolean {
  return type.kind === 'product' && type.elements.length === 0;
}

const text: AlgebraicType = { kind: 'string' };
