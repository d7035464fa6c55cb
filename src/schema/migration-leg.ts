import { compareTypes } from './compare-types.ts';
import { type ContinuedTable, continuedTable } from './continued-table.ts';
import type { DeclaredStep } from './declared-step.ts';
import type { ModuleDefinition } from './definition.ts';
import { applySteps, type DraftTable, stepWords } from './draft-tables.ts';
import { type FullTable, fullTablesOf } from './flatten.ts';
import type { MigrationStep } from './migration-steps.ts';
import type { PlanRefusal } from './plan-columns.ts';
import { planTables } from './plan-tables.ts';
import type { PlannedTable } from './planned-table.ts';
import { rowSpelling } from './row-spelling.ts';

/** One migration of a way from one definition to another, in one direction. */
export interface Leg {
  readonly id: string;
  /** Position in the program's list. */
  readonly at: number;
  readonly direction: 'up' | 'down';
  readonly from: ModuleDefinition;
  readonly to: ModuleDefinition;
  readonly steps: readonly DeclaredStep[];
}

/** What a leg does with tables, or what is wrong with it. */
export interface LegPlan {
  readonly leg: Leg;
  /** Tables of `from`, ascending by name. */
  readonly tables: readonly LegTable[];
  readonly byName: ReadonlyMap<string, LegTable>;
  /** What the automatic plan adds about tables; not in execution order. */
  readonly automatic: readonly MigrationStep[];
  /** Steps that are wrong, and tables that the automatic plan refuses to change. */
  readonly problems: readonly string[];
  readonly refusals: readonly PlanRefusal[];
}

export interface LegTable {
  readonly fate: PlannedTable;
  readonly draft: DraftTable;
  /** The table that continues it, and what it is just before it becomes that. */
  readonly target: FullTable | undefined;
  readonly continued: ContinuedTable | undefined;
  /** Of a split: the tables that it is split into. */
  readonly into: readonly FullTable[];
}

/** Plans one migration: its declared steps, and automatic changes of tables on top. */
export function planLeg(leg: Leg): LegPlan {
  const { from, to, steps } = leg;
  const { tables: drafts, problems } = applySteps(fullTablesOf(from), steps);
  const found = [...problems];
  const targets = new Targets(to);
  const report = (at: number, problem: string) => {
    const step = steps[at];
    found.push(`step ${at + 1}${step === undefined ? '' : ` (${stepWords(step)})`} ${problem}`);
  };
  const tables =
    problems.length > 0 ? [] : drafts.map((draft) => legTable(leg, draft, targets, report));
  const continued = tables.flatMap(({ continued: one }) => (one === undefined ? [] : [one.full]));
  const names = new Set(continued.map(({ table }) => table.name));
  const made = tables.flatMap(({ into }) => into).filter(({ table }) => !names.has(table.name));
  const gone = tables.flatMap(({ fate }) => (fate.kind === 'remove' ? [fate.before] : []));
  const plan = planTables([...continued, ...made], targets.all);
  const removed = gone.map((table): MigrationStep => ({ kind: 'removeTable', table }));
  const isSound = found.length === 0;
  return {
    leg,
    tables,
    byName: new Map(tables.map((table) => [table.fate.before, table])),
    automatic: [...plan.steps, ...removed],
    problems: isSound ? spellingProblems(leg, tables) : found,
    refusals: isSound ? plan.refusals : [],
  };
}

type Report = (step: number, problem: string) => void;

/** The tables that a leg leads to. */
class Targets {
  readonly all: readonly FullTable[];
  readonly #spelled: ReadonlyMap<string, FullTable>;
  readonly #named: ReadonlyMap<string, FullTable>;
  readonly #taken = new Set<string>();

  constructor(definition: ModuleDefinition) {
    this.all = fullTablesOf(definition);
    this.#spelled = new Map(this.all.map((full) => [full.table.sourceName, full]));
    this.#named = new Map(this.all.map((full) => [full.table.name, full]));
  }

  spelled(name: string): FullTable | undefined {
    return this.#spelled.get(name);
  }

  named(name: string): FullTable | undefined {
    return this.#named.get(name);
  }

  /** False if another table has become it. */
  take({ table }: FullTable): boolean {
    if (this.#taken.has(table.name)) return false;
    this.#taken.add(table.name);
    return true;
  }
}

function legTable(leg: Leg, draft: DraftTable, targets: Targets, report: Report): LegTable {
  const { name: before } = draft.origin.table;
  const { end } = draft;
  const none = { draft, target: undefined, continued: undefined, into: [] };
  if (end?.kind === 'dropped') return { ...none, fate: { kind: 'discard', before } };
  const into = end?.kind === 'split' ? splitTargets(end, draft, targets, report) : [];
  const target = targetOf(leg, draft, targets, report);
  if (target === undefined) {
    if (end?.kind === 'split') {
      const names = into.map(({ table }) => table.name);
      return { ...none, into, fate: { kind: 'rewrite', before, after: undefined, into: names } };
    }
    return { ...none, fate: { kind: 'remove', before } };
  }
  const columns = draft.columns.map(({ origin, madeBy, isRenamed, name }, at) => {
    const known = draft.origin.table.columns[origin ?? -1];
    if (known !== undefined && !isRenamed) return known.name;
    const column = target.table.columns.find(({ sourceName }) => sourceName === name);
    if (column === undefined) {
      const step = madeBy ?? renameOf(leg, draft, name) ?? at;
      const where = `table ${target.table.sourceName} of the schema after the migration`;
      report(step, `leads to a column ${name}, which ${where} does not have`);
    }
    return column?.name ?? name;
  });
  const continued = continuedTable(draft, columns, target);
  const after = target.table.name;
  const isKept = target.table.isEvent || (end === undefined && isSameLayout(draft));
  const others = into.map(({ table }) => table.name);
  const fate: PlannedTable = isKept
    ? { kind: 'keep', before, after }
    : { kind: 'rewrite', before, after, into: others.length > 0 ? others : [after] };
  return { draft, target, continued, into, fate };
}

/** Whether rows keep their bytes, whatever the automatic plan appends to them. */
function isSameLayout({ columns, origin }: DraftTable): boolean {
  const isSame = columns.every(({ madeBy, origin: at }, position) => {
    return madeBy === undefined && at === position;
  });
  return isSame && columns.length === origin.table.columns.length;
}

function targetOf(
  { steps }: Leg,
  draft: DraftTable,
  targets: Targets,
  report: Report,
): FullTable | undefined {
  const { end, isRenamed, name } = draft;
  if (end?.kind === 'split' && !end.into.includes(name)) return undefined;
  const target = isRenamed ? targets.spelled(name) : targets.named(draft.origin.table.name);
  const where = 'which the schema after the migration does not have';
  const renamedAt = steps.findLastIndex((step) => step.kind === 'renameTable' && step.to === name);
  if (target === undefined) {
    if (isRenamed) report(renamedAt, `leads to a table ${name}, ${where}`);
    else if (end !== undefined) report(end.step, `makes rows of table ${name}, ${where}: drop it`);
    else if (draft.changedBy !== undefined) {
      report(draft.changedBy, `changes table ${name}, ${where}: drop it`);
    }
    return undefined;
  }
  if (targets.take(target)) return target;
  report(Math.max(renamedAt, 0), `leads to a table ${name}, which another table becomes`);
  return undefined;
}

function splitTargets(
  { step, into }: { readonly step: number; readonly into: readonly string[] },
  draft: DraftTable,
  targets: Targets,
  report: Report,
): FullTable[] {
  return into.flatMap((name) => {
    const target = targets.spelled(name);
    const isOwn = name === draft.name;
    if (target !== undefined && (isOwn || targets.take(target))) return target;
    const why =
      target === undefined
        ? 'which the schema after the migration does not have'
        : 'which another table becomes';
    report(step, `splits into a table ${name}, ${why}`);
    return [];
  });
}

function renameOf({ steps }: Leg, draft: DraftTable, to: string): number | undefined {
  const at = steps.findLastIndex((step) => step.kind === 'renameColumn' && step.to === to);
  return at < 0 ? draft.changedBy : at;
}

/**
 * Values that pass through a rewrite have the spelling of the types before. A type that is the same
 * but for the spelling of its fields needs a step that says so.
 */
function spellingProblems({ from, to }: Leg, tables: readonly LegTable[]): string[] {
  return tables.flatMap(({ fate, draft, target, continued }) => {
    if (fate.kind !== 'rewrite' || target === undefined || draft.end !== undefined) return [];
    const old = rowSpelling(from, draft.origin.table.name);
    const next = rowSpelling(to, target.table.name);
    return draft.columns.flatMap(({ origin, madeBy, name }, at) => {
      const before = old.columns[origin ?? -1];
      if (madeBy !== undefined || before === undefined) return [];
      const canonical = continued?.full.table.columns[at]?.name;
      const position = target.table.columns.findIndex((column) => column.name === canonical);
      const after = next.columns[position];
      if (after === undefined) return [];
      const { conflicts } = compareTypes({
        ...{ old: before.type, next: after.type },
        ...{ oldTypespace: old.typespace, nextTypespace: next.typespace },
      });
      if (conflicts.length === 0 || !isPlannable(draft.origin, target, before, after)) return [];
      const call = `m.changeColumn('${target.table.sourceName}', '${name}', …)`;
      const where = `column ${name} of table ${target.table.sourceName}`;
      return [`${where} spells its parts in another way: ${call}`];
    });
  });
}

/** Whether the automatic plan has nothing against the change, which canonical names decide. */
function isPlannable(
  old: FullTable,
  next: FullTable,
  before: { readonly position: number },
  after: { readonly position: number },
): boolean {
  const type = (full: FullTable, position: number) => full.table.columns[position]?.type;
  const oldType = type(old, before.position);
  const nextType = type(next, after.position);
  if (oldType === undefined || nextType === undefined) return false;
  const typespaces = { oldTypespace: old.typespace, nextTypespace: next.typespace };
  return compareTypes({ old: oldType, next: nextType, ...typespaces }).conflicts.length === 0;
}
