import { assert, present } from '../assert.ts';
import type { TableSpec } from '../schema/catalog.ts';
import { boundOf, isGiven } from '../sql/check/conjuncts.ts';
import type { TypedColumn, TypedExpression, TypedRead } from '../sql/check/typed.ts';
import { needsOf, visitExpression } from '../sql/check/typed-expression.ts';
import type { Test } from '../sql/expressions/frame.ts';
import { hasFloats } from '../sql/functions/canonical.ts';
import type { RowShape } from '../store/row-shape.ts';
import { compilerOf, conjunctsOfBlock, pairOf, wholeSlotOf } from './fragment-parts.ts';
import { compileProbe, type IndexProbe } from './join-probe.ts';
import { computedIds, type LiveSchema } from './live-schema.ts';
import type { SourceKey } from './source-changes.ts';

/**
 * A join in which the rows of one relation belong to callers, as with `member.who = :sender`. All
 * callers of a query share it: a changed row of the other relation finds the rows that it is joined
 * with, whosever they are, and those name the callers whom it concerns.
 */
export interface CallerJoin {
  /** The relation whose changed rows find callers, which is also its slot. */
  readonly side: 0 | 1;
  readonly source: SourceKey;
  /** The table with the rows of callers. */
  readonly owned: TableSpec;
  readonly ownedShape: RowShape;
  /** Its column with the caller. */
  readonly column: number;
  /** What a caller has there. */
  readonly value: TypedExpression;
  /** Finds the rows of callers that a changed row, which is in the frame, is joined with. */
  readonly probe: IndexProbe;
  /** What must hold for all callers alike: for a changed row, a row of a caller, and both. */
  readonly changedTest: Test | undefined;
  readonly ownedTest: Test | undefined;
  readonly joinTest: Test | undefined;
  /**
   * Whether the changed rows that are found are the change itself, once for each row of the caller
   * that they were found by. Otherwise each caller's join is evaluated with them.
   */
  readonly isExact: boolean;
  readonly isEvent: boolean;
}

/** The index without which a query has no such join. */
export interface MissingIndex {
  /** The relation whose changed rows it would find callers for. */
  readonly side: 0 | 1;
  readonly owned: TableSpec;
  /** Its column that joins. */
  readonly joined: number;
}

export function callerJoinOf(
  read: TypedRead,
  schema: LiveSchema,
): { readonly join: CallerJoin | undefined; readonly lack: MissingIndex | undefined } {
  const { body } = read.query;
  assert(body.kind === 'block', 'a fragment is one block');
  const tables = body.relations.map(({ source }) => {
    assert(source.kind === 'table', 'a fragment is about plain tables');
    return source.table;
  });
  const conjuncts = conjunctsOfBlock(body);
  const pair = conjuncts.map(pairOf).find((columns) => columns !== undefined);
  const none = { join: undefined, lack: undefined };
  if (pair === undefined || tables.length !== 2 || pair.some(isInexact)) return none;
  const sides = ([0, 1] as const).filter((side) => callerBound(conjuncts, side) !== undefined);
  const [ownedSide] = sides;
  if (ownedSide === undefined || sides.length > 1) return none;
  const side = ownedSide === 0 ? 1 : 0;
  const changed = present(tables[side], 'a table of each side');
  const owned = present(tables[ownedSide], 'a table of each side');
  const isStored = !schema.sql.views.has(owned.id) && !computedIds.has(owned.id) && !owned.isEvent;
  if (!isStored || schema.isOfCaller(changed.id)) return none;
  const { column, value } = present(callerBound(conjuncts, ownedSide), 'a column of the caller');
  // What fixes the joined column fixes the other one: changed rows are found by it.
  const isJoined = pair.some((one) => one.slot === ownedSide && one.column === column);
  if (isJoined || hasFloats(value.type, schema.types)) return none;
  const compiler = compilerOf(tables, schema);
  const own = present(
    pair.find(({ slot }) => slot === ownedSide),
    'a column of each side',
  );
  const other = present(
    pair.find(({ slot }) => slot === side),
    'a column of each side',
  );
  const shared = conjuncts.filter((conjunct) => !hasParameter(conjunct));
  const fixed = constantsOf(shared, ownedSide);
  const { access } = compileProbe({ table: owned, own, other, fixed, compiler });
  if (access?.kind !== 'joined')
    return { join: undefined, lack: { side, owned, joined: own.column } };
  const about = (...slots: readonly number[]): Test | undefined =>
    compiler.conditions(shared.filter((conjunct) => isAbout(conjunct, slots)));
  const isExact =
    wholeSlotOf({ ...read.query, body }, tables) === side &&
    conjuncts.every((conjunct) => {
      if (!hasParameter(conjunct) || isAbout(conjunct, [])) return true;
      return callerBoundOf(conjunct, ownedSide)?.column === column;
    });
  const join: CallerJoin = {
    side,
    source: changed.id,
    owned,
    ownedShape: schema.layoutOf(owned).shape,
    column,
    value,
    probe: access.index,
    changedTest: about(side),
    ownedTest: about(ownedSide),
    joinTest: about(0, 1),
    isExact,
    isEvent: isExact && changed.isEvent,
  };
  return { join, lack: undefined };
}

interface CallerBound {
  readonly column: number;
  readonly value: TypedExpression;
}

function callerBound(conjuncts: readonly TypedExpression[], slot: number): CallerBound | undefined {
  return conjuncts.map((conjunct) => callerBoundOf(conjunct, slot)).find((bound) => bound);
}

/** Reads a condition as `column = :sender`. */
function callerBoundOf(conjunct: TypedExpression, slot: number): CallerBound | undefined {
  if (!isAbout(conjunct, [slot])) return undefined;
  const bound = boundOf(conjunct, slot);
  if (bound?.operator !== '=' || !bound.isExact) return undefined;
  return isGiven(bound.value) && hasParameter(bound.value) ? bound : undefined;
}

/** The columns of a relation that have the same value for all callers. */
function constantsOf(
  conjuncts: readonly TypedExpression[],
  slot: number,
): ReadonlyMap<number, TypedExpression> {
  const fixed = new Map<number, TypedExpression>();
  for (const conjunct of conjuncts) {
    if (!isAbout(conjunct, [slot])) continue;
    const bound = boundOf(conjunct, slot);
    if (bound?.operator === '=' && isGiven(bound.value)) fixed.set(bound.column, bound.value);
  }
  return fixed;
}

function isAbout(conjunct: TypedExpression, slots: readonly number[]): boolean {
  const needs = needsOf(conjunct).slots;
  return needs.size === slots.length && slots.every((slot) => needs.has(slot));
}

/** The only parameter of a watched query is its caller. */
function hasParameter(expression: TypedExpression): boolean {
  let isFound = false;
  visitExpression(expression, ({ kind }) => {
    isFound ||= kind === 'parameter';
  });
  return isFound;
}

function isInexact({ type }: TypedColumn): boolean {
  return hasFloats(type);
}
