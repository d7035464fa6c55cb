import { present } from '../../assert.ts';
import type { TypedExpression, TypedGrouping } from '../check/typed.ts';
import { canonicalOf, hasFloats } from '../functions/canonical.ts';
import type { Accumulator, QueryValue } from '../functions/function.ts';
import { type CompiledAggregate, compileAggregate } from './compile-aggregate.ts';
import type { CompileContext, Evaluator } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import type { ExecutionState } from './execution-state.ts';
import type { Frame } from './frame.ts';
import { compileMapKey, type KeyPart, keyPartOf } from './hash-key.ts';
import { ended, rowReady, type Step, type Tuples } from './operator.ts';

/** A grouping ready to run, for any number of executions. */
export interface CompiledGrouping {
  readonly keyOf: ((frame: Frame) => KeyPart) | undefined;
  readonly keys: readonly Evaluator[];
  readonly aggregates: readonly GroupedAggregate[];
  readonly firstValue: number;
}

interface GroupedAggregate {
  readonly make: () => Accumulator;
  readonly add: CompiledAggregate['add'];
  /** For aggregates of different values: what is looked at. */
  readonly distinct: Evaluator | undefined;
  /** `COUNT(*)`: the group counts its rows anyway. */
  readonly isCount: boolean;
}

export function compileGrouping(
  { keys, aggregates, firstValue }: TypedGrouping,
  context: CompileContext,
): CompiledGrouping {
  return {
    keyOf: keys.length === 0 ? undefined : compileMapKey(keys, context),
    keys: keys.map((key) => compileShownKey(key, context)),
    aggregates: aggregates.map((aggregate) => {
      const { argument, isDistinct } = aggregate;
      const { makeAccumulator: make, add } = compileAggregate(aggregate, context);
      const isSifted = isDistinct && argument !== undefined;
      const distinct = isSifted ? compileExpression(argument, context) : undefined;
      return { make, add, distinct, isCount: argument === undefined };
    }),
    firstValue,
  };
}

/** Of equal keys that differ, which only floats do, the same one is shown whichever came first. */
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
  /** What was added already, for aggregates of different values. */
  readonly seen: readonly (Set<KeyPart> | undefined)[];
}

/** Collects all tuples into groups, then shows one group after another as values of the frame. */
export class Aggregation implements Tuples {
  readonly #state: ExecutionState;
  readonly #input: Tuples;
  readonly #grouping: CompiledGrouping;
  readonly #byKey = new Map<KeyPart, Group>();
  #groups: Group[] = [];
  #isCollected = false;
  #at = 0;
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
    this.#state.budget.giveBack(this.#taken);
    this.#taken = 0;
    // Without keys there is one group, also of nothing.
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
        this.#byKey.set(key, group);
        this.#groups.push(group);
      }
      this.#add(group);
    }
  }

  #makeGroup(): Group {
    const state = this.#state;
    const { keys, keyOf, aggregates } = this.#grouping;
    const bytes = groupBytes + aggregates.length * aggregateBytes;
    state.budget.take(bytes);
    this.#taken += bytes;
    return {
      keys: keyOf === undefined ? [] : keys.map((key) => key(state)),
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
      const { add, distinct, isCount } = aggregates[at] as GroupedAggregate;
      if (isCount) continue;
      const part = group.parts[at] as Accumulator;
      if (distinct === undefined) {
        add(state, part);
        continue;
      }
      const value = distinct(state);
      if (value !== null && this.#isNew(group.seen[at] as Set<KeyPart>, value)) part.add(value);
    }
  }

  #isNew(seen: Set<KeyPart>, value: QueryValue): boolean {
    const part = keyPartOf(value);
    if (seen.has(part)) return false;
    seen.add(part);
    this.#state.budget.take(seenBytes);
    this.#taken += seenBytes;
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

/** What a group, an aggregate of it and a remembered value cost, roughly. */
const groupBytes = 160;
const aggregateBytes = 48;
const seenBytes = 48;
