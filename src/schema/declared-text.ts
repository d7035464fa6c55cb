import type { DeclaredStep } from './declared-step.ts';
import type { LegPlan, LegTable } from './migration-leg.ts';
import { inStepOrder, type MigrationStep } from './migration-steps.ts';
import { entryOf, type Paint, type PlanStyle, painterOf, planLines } from './plan-text.ts';
import { wholeTypeWords } from './type-words.ts';

/** What a plan with declared migrations is shown as. */
export interface ShownPlan {
  readonly plans: readonly LegPlan[];
  /** What concerns no table, in execution order. */
  readonly rest: readonly MigrationStep[];
}

/** A plan with declared migrations as text for people. */
export function declaredText({ plans, rest }: ShownPlan, style: PlanStyle): string {
  const paint = painterOf(style);
  const title = { up: 'Migration', down: 'Undoing migration' };
  const entries = plans.flatMap((plan) => [
    `▸ ${paint('blue', title[plan.leg.direction])} ${plan.leg.id}`,
    ...plan.leg.steps.flatMap((step) => stepEntry(step, paint)),
    ...plan.tables.flatMap((table) => rowsEntry(table, paint)),
    ...inStepOrder(plan.automatic).flatMap((step) => entryOf(step, paint)),
    ...plan.leg.steps.flatMap((step) => wholeEntry(step, paint)),
  ]);
  return planLines([...entries, ...rest.flatMap((step) => entryOf(step, paint))], paint);
}

function stepEntry(step: DeclaredStep, paint: Paint): string[] {
  switch (step.kind) {
    case 'renameTable': {
      const names = `${paint('cyan', step.from)} to ${paint('cyan', step.to)}`;
      return [`▸ ${paint('yellow', 'Renamed')} table ${names}`];
    }
    case 'renameColumn': {
      const where = `in table ${paint('cyan', step.table)}`;
      return [`▸ ${paint('yellow', 'Renamed')} column ${step.from} to ${step.to} ${where}`];
    }
    case 'dropTable':
      return [`▸ ${paint('red', 'Removed')} table ${paint('cyan', step.table)} with its rows`];
    default:
      return [];
  }
}

function rowsEntry({ fate, draft, target, continued, into }: LegTable, paint: Paint): string[] {
  if (fate.kind !== 'rewrite') return [];
  const name = paint('cyan', draft.name);
  const what = `▸ ${paint('yellow', 'Rewrites')} rows of ${name}`;
  if (draft.end?.kind === 'split') {
    const names = into.map(({ table }) => paint('cyan', table.sourceName)).join(', ');
    return [`▸ ${paint('yellow', 'Splits')} rows of ${name} into ${names}`];
  }
  if (draft.end !== undefined || target === undefined || continued === undefined) {
    return [`${what}, each by a function`];
  }
  const changes = [
    ...draft.columns.flatMap(({ name: column, origin, madeBy }, at) => {
      if (madeBy === undefined) return [];
      if (origin === undefined) return [`+ ${column}`];
      const before = draft.origin.table.columns[origin];
      const after = continued.full.table.columns[at];
      if (before === undefined || after === undefined) return [];
      const from = paint('magenta', wholeTypeWords(before.type, draft.origin.typespace));
      const to = paint('magenta', wholeTypeWords(after.type, continued.full.typespace));
      return [`~ ${column} (${from} → ${to})`];
    }),
    ...[...draft.dropped.keys()].map((column) => `- ${column}`),
  ];
  const order = draft.columns.map(({ origin }) => origin ?? Number.MAX_SAFE_INTEGER);
  const isMoved = order.some((origin, at) => at > 0 && origin < (order[at - 1] ?? 0));
  if (isMoved) changes.push(`order ${draft.columns.map((column) => column.name).join(', ')}`);
  return [`${what}: ${changes.join(', ')}`];
}

function wholeEntry(step: DeclaredStep, paint: Paint): string[] {
  if (step.kind === 'run') return [`▸ ${paint('yellow', 'Runs')} code over whole tables`];
  return step.kind === 'assert' ? [`▸ ${paint('yellow', 'Checks')} ${step.text}`] : [];
}
