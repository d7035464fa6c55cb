import { nearestNames } from '../values/nearest-names.ts';
import type { DeclaredStep } from './declared-step.ts';
import type { FullTable } from './flatten.ts';

/** A table of the schema before a migration, on its way through the steps. */
export interface DraftTable {
  readonly origin: FullTable;
  /** As the module spells it now. */
  name: string;
  isRenamed: boolean;
  columns: DraftColumn[];
  /** Names of columns that are gone, by the step that drops them. */
  readonly dropped: Map<string, number>;
  end: DraftEnd | undefined;
  /** The first step that is about its columns. */
  changedBy: number | undefined;
}

export interface DraftColumn {
  /** As the module spells it now. */
  readonly name: string;
  readonly isRenamed: boolean;
  /** Position in the table before; `undefined`: a new column. */
  readonly origin: number | undefined;
  /** The step whose function gives its values. */
  readonly madeBy: number | undefined;
}

/** What a step does with whole rows. */
export type DraftEnd =
  | { readonly kind: 'dropped'; readonly step: number }
  | { readonly kind: 'mapped'; readonly step: number }
  | { readonly kind: 'split'; readonly step: number; readonly into: readonly string[] };

/** The tables after the row steps of a migration, or what is wrong with the steps. */
export interface Drafts {
  readonly tables: readonly DraftTable[];
  /** Each says which step, what is wrong, and what to do. */
  readonly problems: readonly string[];
}

/** Applies steps to tables as far as names go; functions are not run. */
export function applySteps(tables: readonly FullTable[], steps: readonly DeclaredStep[]): Drafts {
  const drafting = new Drafting(tables.map(draftOf), steps);
  for (const [at, step] of steps.entries()) drafting.apply(step, at);
  return { tables: drafting.tables, problems: drafting.problems };
}

/** A step as people find it in the file: `m.addColumn user.age`. */
export function stepWords(step: DeclaredStep): string {
  switch (step.kind) {
    case 'renameTable':
      return `m.renameTable ${step.from}`;
    case 'renameColumn':
      return `m.renameColumn ${step.table}.${step.from}`;
    case 'dropColumn':
    case 'addColumn':
    case 'changeColumn':
      return `m.${step.kind} ${step.table}.${step.column}`;
    case 'run':
      return 'm.run';
    case 'assert':
      return `m.assert "${step.text}"`;
    default:
      return `m.${step.kind} ${step.table}`;
  }
}

function draftOf(origin: FullTable): DraftTable {
  const columns = origin.table.columns.map(({ sourceName }, at): DraftColumn => {
    return { name: sourceName, isRenamed: false, origin: at, madeBy: undefined };
  });
  const { sourceName: name } = origin.table;
  const dropped = new Map<string, number>();
  const rest = { isRenamed: false, dropped, end: undefined, changedBy: undefined };
  return { origin, name, columns, ...rest };
}

class Drafting {
  readonly tables: DraftTable[];
  readonly problems: string[] = [];
  readonly #steps: readonly DeclaredStep[];
  /** Tables that are not dropped. */
  readonly #named: Map<string, DraftTable>;
  #at = 0;
  #wholeAt: number | undefined;

  constructor(tables: DraftTable[], steps: readonly DeclaredStep[]) {
    this.tables = tables;
    this.#named = new Map(tables.map((table) => [table.name, table]));
    this.#steps = steps;
  }

  apply(step: DeclaredStep, at: number): undefined {
    if (this.problems.length >= problemsMax) return;
    this.#at = at;
    if (step.kind === 'run' || step.kind === 'assert') {
      this.#wholeAt ??= at;
      return;
    }
    if (this.#wholeAt !== undefined) {
      const whole = this.#steps[this.#wholeAt];
      const what = whole === undefined ? '' : stepWords(whole);
      this.#report(`comes after ${what}, which sees whole tables: put it before`);
      return;
    }
    switch (step.kind) {
      case 'renameTable':
        return this.#renameTable(step.from, step.to);
      case 'dropTable':
        return this.#dropTable(step.table);
      case 'mapRows':
        return this.#makeRows(step.table, { kind: 'mapped', step: at });
      case 'splitTable':
        return this.#splitTable(step.table, step.into);
      case 'renameColumn':
        return this.#renameColumn(step.table, step.from, step.to);
      case 'dropColumn':
        return this.#dropColumn(step.table, step.column);
      case 'addColumn':
        return this.#addColumn(step.table, step.column);
      case 'changeColumn':
        return this.#changeColumn(step.table, step.column);
      case 'moveColumns':
        return this.#moveColumns(step.table, step.order);
    }
  }

  #renameTable(from: string, to: string): undefined {
    const table = this.#table(from);
    if (table === undefined) return;
    if (this.#alive(to) !== undefined) {
      return this.#report(`cannot call it ${to}: a table of that name exists`);
    }
    this.#named.delete(from);
    this.#named.set(to, table);
    table.name = to;
    table.isRenamed = true;
  }

  #dropTable(name: string): undefined {
    const table = this.#table(name);
    if (table === undefined) return;
    if (table.changedBy !== undefined) {
      return this.#report(`drops a table that ${this.#stepAt(table.changedBy)} changes`);
    }
    table.end = { kind: 'dropped', step: this.#at };
    this.#named.delete(name);
  }

  #makeRows(name: string, end: DraftEnd): undefined {
    const table = this.#table(name);
    if (table === undefined) return;
    if (table.changedBy !== undefined) {
      const other = this.#stepAt(table.changedBy);
      return this.#report(`makes whole rows, so ${other} has no place beside it: leave that out`);
    }
    table.end = end;
  }

  #splitTable(name: string, into: readonly string[]): undefined {
    if (into.length === 0) return this.#report('splits the table into nothing: drop it instead');
    for (const target of into) {
      if (target === name || this.#alive(target) === undefined) continue;
      return this.#report(
        `cannot split into ${target}, which exists: split into new tables, or use m.run`,
      );
    }
    this.#makeRows(name, { kind: 'split', step: this.#at, into });
  }

  #renameColumn(tableName: string, from: string, to: string): undefined {
    const table = this.#changeable(tableName);
    const column = table && this.#column(table, from);
    if (table === undefined || column === undefined) return;
    if (column.origin === undefined) {
      return this.#report(`renames a column that ${this.#stepAt(column.madeBy)} adds: add ${to}`);
    }
    if (table.columns.some(({ name }) => name === to)) {
      return this.#report(`cannot call it ${to}: table ${table.name} has a column of that name`);
    }
    this.#replace(table, column, { ...column, name: to, isRenamed: true });
  }

  #dropColumn(tableName: string, name: string): undefined {
    const table = this.#changeable(tableName);
    const column = table && this.#column(table, name);
    if (table === undefined || column === undefined) return;
    if (column.madeBy !== undefined) {
      return this.#report(`drops a column that ${this.#stepAt(column.madeBy)} makes`);
    }
    table.columns = table.columns.filter((other) => other !== column);
    table.dropped.set(name, this.#at);
  }

  #addColumn(tableName: string, name: string): undefined {
    const table = this.#changeable(tableName);
    if (table === undefined) return;
    if (table.columns.some((column) => column.name === name)) {
      return this.#report('adds a column that exists: m.changeColumn gives it another type');
    }
    table.columns.push({ name, isRenamed: false, origin: undefined, madeBy: this.#at });
  }

  #changeColumn(tableName: string, name: string): undefined {
    const table = this.#changeable(tableName);
    const column = table && this.#column(table, name);
    if (table === undefined || column === undefined) return;
    if (column.madeBy !== undefined) {
      return this.#report(`changes a column that ${this.#stepAt(column.madeBy)} makes already`);
    }
    this.#replace(table, column, { ...column, madeBy: this.#at });
  }

  #moveColumns(tableName: string, order: readonly string[]): undefined {
    const table = this.#changeable(tableName);
    if (table === undefined) return;
    const columns = order.flatMap((name) => this.#column(table, name) ?? []);
    if (columns.length < order.length) return;
    const missing = table.columns.find((column) => !columns.includes(column));
    if (missing !== undefined) return this.#report(`leaves out column ${missing.name}: list all`);
    if (new Set(columns).size < columns.length) return this.#report('lists a column twice');
    table.columns = columns;
  }

  #replace(table: DraftTable, column: DraftColumn, by: DraftColumn): undefined {
    table.columns = table.columns.map((other) => (other === column ? by : other));
  }

  /** A table whose columns the step is about. */
  #changeable(name: string): DraftTable | undefined {
    const table = this.#table(name);
    if (table === undefined) return undefined;
    table.changedBy ??= this.#at;
    return table;
  }

  #table(name: string): DraftTable | undefined {
    const table = this.#alive(name);
    if (table === undefined) {
      this.#report(this.#absence(name));
      return undefined;
    }
    if (table.end === undefined) return table;
    const isRename = this.#steps[this.#at]?.kind === 'renameTable';
    if (table.end.kind === 'mapped' && isRename) return table;
    const other = this.#stepAt(table.end.step);
    this.#report(`has no place beside ${other}, which makes whole rows of ${name}: leave it out`);
    return undefined;
  }

  #alive(name: string): DraftTable | undefined {
    return this.#named.get(name);
  }

  /** Why there is no such table at this point. */
  #absence(name: string): string {
    const dropped = this.tables.find((table) => table.name === name);
    if (dropped?.end !== undefined)
      return `names a table that ${this.#stepAt(dropped.end.step)} drops`;
    const renamed = this.tables.find(({ origin }) => origin.table.sourceName === name);
    if (renamed !== undefined)
      return `names table ${name}, which is called ${renamed.name} by then`;
    const later = this.#steps.findIndex((step) => step.kind === 'renameTable' && step.to === name);
    if (later > this.#at) return `names table ${name} before ${this.#stepAt(later)}: swap them`;
    const names = this.tables.filter(({ end }) => end === undefined).map((table) => table.name);
    return `names a table that the schema before it does not have: ${suggestion(name, names)}`;
  }

  #column(table: DraftTable, name: string): DraftColumn | undefined {
    const column = table.columns.find((other) => other.name === name);
    if (column === undefined) this.#report(this.#columnAbsence(table, name));
    return column;
  }

  #columnAbsence(table: DraftTable, name: string): string {
    const droppedBy = table.dropped.get(name);
    if (droppedBy !== undefined) return `names a column that ${this.#stepAt(droppedBy)} drops`;
    const renamed = table.columns.find(({ origin = -1, isRenamed }) => {
      return isRenamed && table.origin.table.columns[origin]?.sourceName === name;
    });
    if (renamed !== undefined) {
      return `names column ${name}, which is called ${renamed.name} by then`;
    }
    const names = table.columns.map((column) => column.name);
    const where = `which table ${table.name} does not have`;
    return `names column ${name}, ${where}: ${suggestion(name, names)}`;
  }

  #stepAt(at = 0): string {
    const step = this.#steps[at];
    return step === undefined ? '' : `step ${at + 1} (${stepWords(step)})`;
  }

  #report(problem: string): undefined {
    this.problems.push(`${this.#stepAt(this.#at)} ${problem}`);
  }
}

/** Names that were meant, or some of those there are. */
function suggestion(name: string, names: readonly string[]): string {
  const near = nearestNames(name, names);
  if (near.length > 0) return `did you mean ${near.join(' or ')}?`;
  if (names.length === 0) return 'there is none';
  const shown = names.slice(0, shownNamesMax).join(', ');
  return `there is ${shown}${names.length > shownNamesMax ? ', …' : ''}`;
}

const shownNamesMax = 10;

/** A migration with more has what to mend first. */
const problemsMax = 20;
