import { present } from '../../assert.ts';
import type { TypedExpression, TypedGrouping } from '../check/typed.ts';
import { type CompiledAggregate, compileAggregate } from '../expressions/compile-aggregate.ts';
import type { CompileContext } from '../expressions/compile-context.ts';
import { compileExpression } from '../expressions/compile-expression.ts';
import type { Evaluator, Frame } from '../expressions/frame.ts';
import { compileMapKey } from '../expressions/hash-key.ts';
import { canonicalOf, hasFloats, type KeyPart, keyPartOf } from '../functions/canonical.ts';
import type { Accumulator, QueryValue } from '../functions/function.ts';
import { scalarOfKind, valueKindOf } from '../functions/value-kind.ts';
import type { ExecutionState } from './execution-state.ts';
import {
  bytesOfValue,
  emptyMapBytes,
  listBytes,
  mapEntryBytes,
  objectBytes,
  setEntryBytes,
  slotBytes,
} from './held-bytes.ts';
import { ended, paused, rowReady, type Step, type Tuples } from './operator.ts';

/** A grouping ready to run, for any number of executions. */
export interface CompiledGrouping {
  readonly keyOf: ((frame: Frame) => KeyPart) | undefined;
  readonly keys: readonly Evaluator[];
  readonly aggregates: readonly GroupedAggregate[];
  readonly firstValue: number;
  /** Memory of a group besides the values it keeps. */
  readonly groupBytes: number;
}

interface GroupedAggregate {
  readonly make: () => Accumulator;
  readonly add: CompiledAggregate['add'];
  /** For aggregates of different values: the value to compare. */
  readonly distinct: Evaluator | undefined;
  /** `COUNT(*)`: the group counts its rows anyway. */
  readonly isCount: boolean;
  /** Groups keep none of its values: neither a long one, nor all different ones. */
  readonly isPlain: boolean;
}

export function compileGrouping(
  { keys, aggregates, firstValue }: TypedGrouping,
  context: CompileContext,
): CompiledGrouping {
  const grouped = aggregates.map((aggregate): GroupedAggregate => {
    const { argument, isDistinct } = aggregate;
    const { makeAccumulator: make, add } = compileAggregate(aggregate, context);
    const isSifted = isDistinct && argument !== undefined;
    const distinct = isSifted ? compileExpression(argument, context) : undefined;
    const isPlain = !isSifted && !holdsLongValue(aggregate, context);
    return { make, add, distinct, isPlain, isCount: argument === undefined };
  });
  const siftedCount = grouped.filter(({ distinct }) => distinct !== undefined).length;
  return {
    keyOf: keys.length === 0 ? undefined : compileMapKey(keys, context),
    keys: keys.map((key) => compileShownKey(key, context)),
    aggregates: grouped,
    firstValue,
    groupBytes:
      emptyGroupBytes +
      keys.length * slotBytes +
      aggregates.length * aggregateBytes +
      siftedCount * emptyMapBytes,
  };
}

/** MIN and MAX keep one of the values, others all of them. */
function holdsLongValue(
  { function: { name, keepsValues }, argument }: TypedGrouping['aggregates'][number],
  { types }: CompileContext,
): boolean {
  if (keepsValues === true) return true;
  if ((name !== 'min' && name !== 'max') || argument === undefined) return false;
  const scalar = scalarOfKind(valueKindOf(argument.type, types));
  return scalar === undefined || scalar === 'string';
}

/** Of equal keys with different encodings, which only floats have, always shows the same one. */
function compileShownKey(key: TypedExpression, context: CompileContext): Evaluator {
  const evaluate = compileExpression(key, context);
  if (!hasFloats(key.type, context.types)) return evaluate;
  const canonical = canonicalOf(key.type, context.types);
  return (frame) => {
    const value = evaluate(frame);
    return value === null ? null : canonical(value);
  };
}

interface Group {
  readonly keys: readonly QueryValue[];
  /** Rows of the group: the answer of `COUNT(*)`. */
  count: number;
  /** Accumulators of the aggregates that have an argument. */
  readonly parts: readonly (Accumulator | undefined)[];
  /** Values already added, for aggregates of different values. */
  readonly seen: readonly (Set<KeyPart> | undefined)[];
}

/** Collects all tuples into groups, then returns one group after another as values of the frame. */
export class Aggregation implements Tuples {
  readonly #state: ExecutionState;
  readonly #input: Tuples;
  readonly #grouping: CompiledGrouping;
  readonly #byKey = new Map<KeyPart, Group>();
  #groups: Group[] = [];
  #isCollected = false;
  #at = 0;
  /** Parts of the group at `#at` that are ready. */
  #settled = 0;
  #taken = 0;

  constructor(state: ExecutionState, input: Tuples, grouping: CompiledGrouping) {
    this.#state = state;
    this.#input = input;
    this.#grouping = grouping;
  }

  open(): void {
    this.#input.open();
    this.#byKey.clear();
    this.#groups = [];
    this.#isCollected = false;
    this.#at = 0;
    this.#settled = 0;
    this.#state.budget.giveBack(this.#taken);
    this.#taken = 0;
    // Without keys there is one group, even without rows.
    if (this.#grouping.keyOf === undefined) this.#groups.push(this.#makeGroup());
  }

  next(): Step {
    if (!this.#isCollected) {
      const step = this.#collect();
      if (step !== ended) return step;
      this.#isCollected = true;
    }
    const group = this.#groups[this.#at];
    if (group === undefined) return ended;
    for (; this.#settled < group.parts.length; this.#settled++) {
      if (group.parts[this.#settled]?.settle?.(this.#state) === false) return paused;
    }
    this.#settled = 0;
    this.#at++;
    this.#show(group);
    return rowReady;
  }

  #collect(): Step {
    const { keyOf } = this.#grouping;
    const state = this.#state;
    const [only] = this.#groups;
    for (;;) {
      const step = this.#input.next();
      if (step !== rowReady) return step;
      if (keyOf === undefined) {
        this.#add(present(only, 'the only group'));
        continue;
      }
      const key = keyOf(state);
      let group = this.#byKey.get(key);
      if (group === undefined) {
        group = this.#makeGroup();
        this.#take(mapEntryBytes + slotBytes + bytesOfValue(key));
        this.#byKey.set(key, group);
        this.#groups.push(group);
      }
      this.#add(group);
    }
  }

  #makeGroup(): Group {
    const state = this.#state;
    const { keys, keyOf, aggregates } = this.#grouping;
    const shown = keyOf === undefined ? [] : keys.map((key) => key(state));
    let bytes = this.#grouping.groupBytes;
    for (const value of shown) bytes += bytesOfValue(value);
    this.#take(bytes);
    return {
      keys: shown,
      count: 0,
      parts: aggregates.map(({ isCount, make }) => (isCount ? undefined : make())),
      seen: aggregates.map(({ distinct }) => (distinct === undefined ? undefined : new Set())),
    };
  }

  #add(group: Group): void {
    group.count++;
    const { aggregates } = this.#grouping;
    const state = this.#state;
    for (let at = 0; at < aggregates.length; at++) {
      const aggregate = aggregates[at] as GroupedAggregate;
      if (aggregate.isCount) continue;
      if (aggregate.isPlain) aggregate.add(state, group.parts[at] as Accumulator);
      else this.#addCounted(group, at, aggregate);
    }
  }

  /** Adds values to a group that keeps them, and counts their memory. */
  #addCounted(group: Group, at: number, { add, distinct }: GroupedAggregate): void {
    const state = this.#state;
    const part = group.parts[at] as Accumulator;
    const before = part.heldLength ?? 0;
    if (distinct === undefined) add(state, part);
    else {
      const value = distinct(state);
      if (value !== null && this.#isNew(group.seen[at] as Set<KeyPart>, value)) part.add(value);
    }
    const grown = (part.heldLength ?? 0) - before;
    if (grown > 0) this.#take(2 * grown);
  }

  #take(bytes: number): void {
    this.#taken += bytes;
    this.#state.budget.take(bytes);
  }

  #isNew(seen: Set<KeyPart>, value: QueryValue): boolean {
    const part = keyPartOf(value);
    if (seen.has(part)) return false;
    seen.add(part);
    this.#take(setEntryBytes + bytesOfValue(part));
    return true;
  }

  #show(group: Group): void {
    const { values } = this.#state;
    let at = this.#grouping.firstValue;
    for (const key of group.keys) values[at++] = key;
    for (const part of group.parts) {
      values[at++] = part === undefined ? BigInt(group.count) : part.finish();
    }
  }
}

/** Memory of a group without keys and aggregates, and of one aggregate. */
const emptyGroupBytes = objectBytes + 3 * listBytes;
const aggregateBytes = 2 * slotBytes + 192;
