import type { PlanTrial } from '../host/publishing/plan-control.ts';
import type { PlanOutcome } from '../host/supervision/database-handle.ts';
import { trialJson } from './trial-json.ts';

/** A plan, with what its trial has found; `undefined`: there is no plan to be tried. */
export interface TriedPlan {
  readonly database: string;
  readonly plan: PlanOutcome;
  readonly trial: PlanTrial | undefined;
}

/** Whether a publish of this moment would do what the plan says. */
export function succeeds({ plan, trial }: TriedPlan): boolean {
  return plan.kind === 'automatic' && trial?.report.failure === undefined;
}

/** The document of `publish --plan --json`, member by member as JSON. */
export function planMembersJson(tried: TriedPlan): Readonly<Record<string, string>> {
  const { database, plan, trial } = tried;
  const found =
    plan.kind === 'automatic'
      ? { ...plan, kind: 'update', reason: null }
      : { kind: 'refused', reason: plan.reason, text: '', breaksClients: false, token: null };
  return {
    database: JSON.stringify(database),
    plan: JSON.stringify(found.kind),
    reason: JSON.stringify(found.reason),
    text: JSON.stringify(found.text),
    break_clients: JSON.stringify(found.breaksClients),
    token: JSON.stringify(found.token),
    warnings: JSON.stringify(plan.kind === 'automatic' ? plan.warnings : []),
    trial: trial === undefined ? 'null' : trialJson(trial),
    succeeds: JSON.stringify(succeeds(tried)),
  };
}
