import { limits } from '../limits.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { CronDefinition, TableDefinition } from './definition.ts';
import type { RawCron, RawReducer } from './raw-module.ts';
import { checkPolicy } from './schedule-policies.ts';
import { canonicalFunctionName, followRefs, type Scope } from './scope.ts';

/**
 * Checks all of a cron but its expression, which takes a calendar. Crons and scheduled tables share
 * one set of names: the name of a schedule is that of its table, or of its cron.
 */
export function validateCrons(
  scope: Scope,
  tables: readonly TableDefinition[],
): readonly CronDefinition[] {
  const { raw, problems } = scope;
  const { crons } = raw;
  const { cronsMax } = limits;
  if (crons.length > cronsMax) {
    problems.report(`the module has ${crons.length} crons, more than ${cronsMax}`);
  }
  const reducers = new Map(raw.reducers.map((reducer) => [reducer.sourceName, reducer]));
  const names = new Set(tables.flatMap(({ name, schedule }) => (schedule ? [name] : [])));
  const definitions = crons.map((cron): CronDefinition => {
    const { functionName: sourceName, expression, timeZone, policy } = cron;
    const name = canonicalFunctionName(scope, sourceName);
    checkTarget(scope, cron, reducers.get(sourceName));
    checkTexts(scope, cron);
    checkPolicy(problems, sourceName, policy);
    if (names.has(name)) problems.report(`name \`${name}\` is used for multiple schedules`);
    names.add(name);
    return { name, sourceName, expression, timeZone, policy };
  });
  return definitions.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function checkTarget(scope: Scope, cron: RawCron, reducer: RawReducer | undefined): void {
  const { raw, problems, typespace } = scope;
  const { functionName } = cron;
  if (reducer === undefined) {
    problems.report(`cron ${functionName} refers to a reducer that does not exist`);
    return;
  }
  const [due, ...others] = reducer.params.elements;
  const takesTime =
    due !== undefined && specialKindOf(followRefs(due.type, typespace)) === 'timestamp';
  if (!takesTime || others.length > 0) {
    problems.report(`cron ${functionName} must have one parameter, of type Timestamp`);
  }
  if (raw.lifecycleReducers.some((lifecycle) => lifecycle.functionName === functionName)) {
    problems.report(`cron ${functionName} is assigned to a lifecycle event, too`);
  }
}

function checkTexts({ problems }: Scope, { functionName, expression, timeZone }: RawCron): void {
  const { cronExpressionCharactersMax, timeZoneCharactersMax } = limits;
  const text = (what: string, max: number) => {
    problems.report(`the ${what} of cron ${functionName} is longer than ${max} characters`);
  };
  if (expression.length > cronExpressionCharactersMax) {
    text('expression', cronExpressionCharactersMax);
  }
  if ((timeZone ?? '').length > timeZoneCharactersMax) text('time zone', timeZoneCharactersMax);
}
