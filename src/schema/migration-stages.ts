import type { PlannedStage, WholeStep } from './declared-plan.ts';
import type { DeclaredStep } from './declared-step.ts';
import type { LegPlan } from './migration-leg.ts';
import type { PlannedTable } from './planned-table.ts';

/**
 * Puts migrations that look at one row at a time together, so that each row is taken through them
 * once. One with whole steps is a stage of its own; one whose functions read other tables begins
 * one, because they read the tables as they were before it.
 */
export function stagesOf(legs: readonly LegPlan[]): PlannedStage[] {
  const groups: LegPlan[][] = [];
  for (const plan of legs) {
    const open = groups.at(-1);
    const isOpen = open !== undefined && !isWhole(open.at(-1)) && !isWhole(plan);
    if (isOpen && !reads(plan)) open.push(plan);
    else groups.push([plan]);
  }
  return groups.map((group, at) => stageOf(group, at === groups.length - 1));
}

function isWhole(plan: LegPlan | undefined): boolean {
  return plan !== undefined && wholeSteps(plan.leg.steps).length > 0;
}

function reads({ leg }: LegPlan): boolean {
  return leg.steps.some((step) => 'reads' in step && step.reads);
}

function wholeSteps(steps: readonly DeclaredStep[]): WholeStep[] {
  return steps.flatMap((step, at): WholeStep[] => {
    if (step.kind === 'run') return [{ kind: 'run', step: at, text: '', sql: undefined }];
    if (step.kind !== 'assert') return [];
    return [{ kind: 'assert', step: at, text: step.text, sql: step.sql }];
  });
}

function stageOf(legs: readonly LegPlan[], isLast: boolean): PlannedStage {
  const positions = legs.map(({ leg }) => leg.at);
  const last = legs[legs.length - 1] as LegPlan;
  return {
    direction: last.leg.direction,
    first: Math.min(...positions),
    last: Math.max(...positions),
    ids: legs.map(({ leg }) => leg.id),
    after: last.leg.to,
    tables: (legs[0]?.tables ?? []).map(({ fate }) => composed(fate, legs)),
    automatic: legs.flatMap((plan) => {
      return plan === last ? plan.automatic : plan.automatic.filter(isToldOnly);
    }),
    whole: wholeSteps(last.leg.steps),
    legs,
    isLast,
  };
}

/** Defaults that an earlier migration of a stretch appends are filled in by the program. */
function isToldOnly({ kind }: LegPlan['automatic'][number]): boolean {
  return kind !== 'addColumns';
}

/** What becomes of a table of the first leg in all of them. */
function composed(first: PlannedTable, legs: readonly LegPlan[]): PlannedTable {
  let fate = withDefaults(first, legs[0], legs.length === 1);
  for (const [at, leg] of legs.entries()) {
    if (at > 0) fate = continuedBy(fate, leg, at === legs.length - 1);
  }
  return fate;
}

function continuedBy(fate: PlannedTable, leg: LegPlan, isLast: boolean): PlannedTable {
  const next = (name: string): PlannedTable | undefined => {
    const found = leg.byName.get(name)?.fate;
    return found && withDefaults(found, leg, isLast);
  };
  switch (fate.kind) {
    case 'keep': {
      const then = next(fate.after);
      return then === undefined ? fate : { ...then, before: fate.before };
    }
    case 'rewrite': {
      const into = fate.into.flatMap((name) => intoOf(next(name)));
      const then = fate.after === undefined ? undefined : next(fate.after);
      return { ...fate, after: then === undefined ? undefined : afterOf(then), into };
    }
    default:
      return fate;
  }
}

/** A table that is kept but for defaults is only kept where no other migration follows. */
function withDefaults(fate: PlannedTable, leg: LegPlan | undefined, isLast: boolean): PlannedTable {
  if (fate.kind !== 'keep' || isLast) return fate;
  const { continued, target } = leg?.byName.get(fate.before) ?? {};
  if (continued === undefined || target === undefined || target.table.isEvent) return fate;
  const isFilled = continued.full.table.columns.length < target.table.columns.length;
  return isFilled ? { ...fate, kind: 'rewrite', into: [fate.after] } : fate;
}

function intoOf(fate: PlannedTable | undefined): readonly string[] {
  if (fate?.kind === 'keep') return [fate.after];
  return fate?.kind === 'rewrite' ? fate.into : [];
}

function afterOf(fate: PlannedTable): string | undefined {
  return fate.kind === 'keep' || fate.kind === 'rewrite' ? fate.after : undefined;
}
