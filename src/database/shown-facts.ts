import { flatDefinition } from '../schema/flat-definition.ts';
import { firstUserId } from '../schema/system-tables.ts';
import { isVisible, type Rights } from '../sql/rights.ts';
import type { SystemFacts } from './system-rows.ts';

/**
 * The facts in the system tables that a caller with these rights may learn. A private table, or one
 * that their token does not list, does not exist for them: no part of it, no row filter that names
 * it, and no number reveals it. Where filters hide rows, a sequence does not reveal their count.
 * The program is shown by its hash to callers who must not read it.
 */
export function shownFacts(facts: SystemFacts, rights: Rights): SystemFacts {
  if (seesEverything(rights)) return facts;
  const { schema, program } = facts;
  const tables = schema.tables.filter((table) => isVisible(table, rights));
  const isWhole = rights.readsPrivateTables && rights.tables === undefined;
  const sequences = new Set(
    tables
      .filter(({ id }) => rights.bypassesFilters || !schema.filters.has(id))
      .flatMap((table) => table.sequences.map(({ id }) => id)),
  );
  return {
    ...facts,
    program: rights.readsProgram ? program : { ...program, bytes: noBytes },
    schema: {
      ...schema,
      tables,
      filters: isWhole && rights.bypassesFilters ? schema.filters : new Map(),
    },
    nextId: isWhole ? facts.nextId : 1 + Math.max(firstUserId - 1, ...tables.flatMap(idsOf)),
    sequenceMarks: () => facts.sequenceMarks().filter(({ id }) => sequences.has(id)),
    callable: callableNames(facts, rights),
  };
}

/** Callers with the same key are shown the same rows of that table. */
export function audienceOf(table: string, rights: Rights): string {
  if (table === 'st_module') return rights.readsProgram ? 'program' : 'hash';
  return seesEverything(rights) ? 'all' : rights.key;
}

function seesEverything(rights: Rights): boolean {
  const { readsProgram, readsPrivateTables, bypassesFilters, callsPrivateReducers } = rights;
  const isLimited = rights.tables !== undefined || rights.reducers !== undefined;
  return (
    !isLimited && readsProgram && readsPrivateTables && bypassesFilters && callsPrivateReducers
  );
}

/** Names of the functions that a scheduled table can show. */
function callableNames({ definition }: SystemFacts, rights: Rights): ReadonlySet<string> {
  const { reducers, procedures } = flatDefinition(definition);
  const callable = [...reducers, ...procedures].filter(({ name, visibility }) => {
    if (rights.reducers?.has(name) === false) return false;
    return visibility !== 'private' || rights.callsPrivateReducers;
  });
  return new Set(callable.map(({ name }) => name));
}

type Described = SystemFacts['schema']['tables'][number];

function idsOf({ id, indexes, constraints, sequences, derivedIndexes }: Described): number[] {
  const parts = [...indexes, ...constraints, ...sequences, ...derivedIndexes];
  return [id, ...parts.map((part) => part.id)];
}

const noBytes = new Uint8Array(0);
