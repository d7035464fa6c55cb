import type { Catalog } from '../schema/catalog.ts';
import { catalogOfStage } from '../schema/catalog-of-stage.ts';
import type { DeclaredPlan } from '../schema/declared-plan.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { scopesOf } from '../schema/flatten.ts';
import type { TableId } from '../schema/ids.ts';
import { wholeTypeWords } from '../schema/type-words.ts';
import type { SqlSchema } from '../sql/schema.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';

/** The parts of a program that no longer mean to its clients what they meant before an update. */
export interface BrokenParts {
  /** Tables and views that went, were renamed or rewritten, or have other columns. */
  readonly tables: ReadonlySet<TableId>;
  /** Those that show a caller other rows than before because of row-level security alone. */
  readonly filtered: ReadonlySet<TableId>;
  /** Reducers and procedures, by canonical name, that went or that have another signature. */
  readonly functions: ReadonlySet<string>;
}

export const nothingBroken: BrokenParts = {
  tables: new Set(),
  filtered: new Set(),
  functions: new Set(),
};

/** One version of a program, as its clients see it. */
export interface SeenProgram {
  readonly definition: ModuleDefinition;
  readonly sql: SqlSchema;
}

/** Compares two versions. `rewritten`: tables whose rows are not those from before. */
export function brokenParts(
  before: SeenProgram,
  after: SeenProgram,
  rewritten: ReadonlySet<TableId>,
): BrokenParts {
  const tables = new Set(rewritten);
  const filtered = new Set<TableId>();
  const later = new Map(after.sql.tables.map((table) => [table.id, table]));
  for (const table of before.sql.tables) {
    if (table.kind === 'system') continue;
    const next = later.get(table.id);
    const stays = next !== undefined && next.name === table.name && next.isEvent === table.isEvent;
    if (!stays || !areSame(namesOf(table), namesOf(next))) tables.add(table.id);
    const filters = [before, after].map(({ sql }) => sql.filters.get(table.id) ?? []);
    if (!areSame(filters[0] ?? [], filters[1] ?? [])) filtered.add(table.id);
  }
  const functions = new Set<string>();
  const signatures = signaturesOf(after.definition);
  for (const [name, signature] of signaturesOf(before.definition)) {
    if (signatures.get(name) !== signature) functions.add(name);
  }
  return { tables, filtered, functions };
}

/** The tables of a catalog whose rows a declared plan drops or makes again. */
export function rewrittenTables({ stages }: DeclaredPlan, catalog: Catalog): Set<TableId> {
  const rewritten = new Set<TableId>();
  const planned = stages.map(({ tables }) => new Map(tables.map((table) => [table.before, table])));
  for (const { id, name, kind } of catalog.tables) {
    if (kind !== 'user') continue;
    let current = name;
    for (const tables of planned) {
      const table = tables.get(current);
      if (table?.kind !== 'keep') {
        rewritten.add(id);
        break;
      }
      current = table.after;
    }
  }
  return rewritten;
}

/** The catalog that a declared plan leads to. */
export function catalogAfter({ stages }: DeclaredPlan, catalog: Catalog): Catalog {
  return stages.reduce((before, stage) => catalogOfStage(stage, before), catalog);
}

function namesOf({ columns }: { readonly columns: readonly { readonly name: string }[] }) {
  return columns.map(({ name }) => name);
}

function areSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at]);
}

/** What is sent to each function and comes back from it, in words. */
function signaturesOf(definition: ModuleDefinition): Map<string, string> {
  const signatures = new Map<string, string>();
  for (const { prefix, module } of scopesOf(definition)) {
    const words = (type: AlgebraicType | undefined) => wordsOf(type, module.typespace);
    for (const { name, params, returns, throws } of module.reducers) {
      const parts = [params, returns, throws].map(words);
      signatures.set(prefix + name, ['reducer', ...parts].join('\n'));
    }
    for (const { name, params, returnType } of module.procedures) {
      const parts = [params, returnType].map(words);
      signatures.set(prefix + name, ['procedure', ...parts].join('\n'));
    }
  }
  return signatures;
}

function wordsOf(type: AlgebraicType | undefined, typespace: Typespace): string {
  return type === undefined ? '-' : wholeTypeWords(type, typespace);
}
