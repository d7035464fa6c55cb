import { present } from '../../assert.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import type { TypedWindowCall } from '../check/typed.ts';
import type { CompileContext } from '../expressions/compile-context.ts';
import { compileExpression } from '../expressions/compile-expression.ts';
import type { Evaluator } from '../expressions/frame.ts';
import { ByteSink, type RowSink } from '../expressions/row-sink.ts';
import type { QueryValue } from '../functions/function.ts';
import { Merge } from '../functions/merge.ts';
import { noneBytes, someTag } from '../functions/option-bytes.ts';
import {
  orderOf,
  type ValueComparator,
  type ValueWriter,
  valueWriterOf,
} from '../functions/value-codec.ts';
import type { WindowPlan } from '../plan/plan.ts';
import type { ExecutionState } from './execution-state.ts';
import type { FrameRun } from './frame-run.ts';
import { bytesOfValue, refBytes, slotBytes } from './held-bytes.ts';
import { ended, paused, type Rows, rowReady, type Step } from './operator.ts';
import { RowStore } from './row-store.ts';
import { Partitions } from './window-partitions.ts';
import { runWindow } from './window-run.ts';

/** Window functions ready to run, for any number of executions. */
export interface CompiledWindows {
  readonly slot: number;
  /** The input columns that they read, by their position. */
  readonly columns: ReadonlyMap<number, Evaluator>;
  /** Calls that share a partition and an order are computed over one sorted list. */
  readonly sorts: readonly WindowSort[];
  readonly writers: readonly ValueWriter[];
  readonly calls: readonly TypedWindowCall[];
}

interface WindowSort {
  readonly partition: readonly WindowKey[];
  readonly order: readonly WindowKey[];
  /** Positions of its calls. */
  readonly calls: readonly number[];
}

export interface WindowKey {
  readonly column: number;
  readonly compare: ValueComparator;
  readonly isDescending: boolean;
}

export function compileWindows(
  { slot, calls, inputColumns }: WindowPlan,
  context: CompileContext,
): CompiledWindows {
  const { types } = context;
  const columns = new Map<number, Evaluator>();
  const need = (column: number): number => {
    if (columns.has(column)) return column;
    const { name, type, isNullable } = present(inputColumns[column], 'a column of the input');
    const expression = { kind: 'column', slot, column, name, type, isNullable } as const;
    columns.set(column, compileExpression(expression, context));
    return column;
  };
  const keyOf = (column: number, isDescending: boolean, isNullsFirst: boolean): WindowKey => {
    const { type } = present(inputColumns[column], 'a column of the input');
    const compare = orderOf(type, types, { isDescending, isNullsFirst });
    return { column: need(column), compare, isDescending };
  };
  const bySort = new Map<string, number[]>();
  for (const [at, { partition, order, arguments: list }] of calls.entries()) {
    for (const column of list) need(column);
    const text = JSON.stringify([partition, order]);
    const known = bySort.get(text);
    if (known === undefined) bySort.set(text, [at]);
    else known.push(at);
  }
  const sorts = [...bySort.values()].map((members): WindowSort => {
    const { partition, order } = present(calls[members[0] as number], 'a call of the sort');
    return {
      partition: partition.map((column) => keyOf(column, false, false)),
      order: order.map((key) => keyOf(key.column, key.isDescending, key.isNullsFirst)),
      calls: members,
    };
  });
  const writers = calls.map(({ type }) => valueWriterOf(type, types));
  return { slot, columns, sorts, writers, calls };
}

/**
 * Collects all rows of its input, computes the window functions, and returns the rows in the order
 * of their arrival, each with the results behind it. Rows that are equal by the order of a window
 * are in the order of their bytes: then no result depends on how the input was read.
 */
export class WindowRows implements Rows {
  readonly #state: ExecutionState;
  readonly #input: Rows;
  readonly #windows: CompiledWindows;
  readonly #rows: RowStore;
  readonly #sink = new ByteSink();
  readonly #writer = new BinaryWriter(32);
  /** By column, then by row. */
  #values = new Map<number, QueryValue[]>();
  /** By call, then by row. */
  #results: QueryValue[][] = [];
  #work: Iterator<typeof paused, void> | undefined;
  #isCollected = false;
  #at = -1;
  #taken = 0;

  constructor(state: ExecutionState, input: Rows, windows: CompiledWindows) {
    this.#state = state;
    this.#input = input;
    this.#windows = windows;
    this.#rows = new RowStore(state.budget);
  }

  open(): void {
    this.#input.open();
    this.#rows.clear();
    this.#values = new Map([...this.#windows.columns.keys()].map((column) => [column, []]));
    this.#results = this.#windows.calls.map(() => []);
    this.#work = undefined;
    this.#isCollected = false;
    this.#at = -1;
    this.#state.budget.giveBack(this.#taken);
    this.#taken = 0;
  }

  next(): Step {
    if (!this.#isCollected) {
      const step = this.#collect();
      if (step === paused) return paused;
      this.#isCollected = true;
      this.#work = this.#compute();
    }
    if (this.#work !== undefined) {
      if (this.#work.next().done !== true) return paused;
      this.#work = undefined;
    }
    this.#at++;
    return this.#at < this.#rows.count ? rowReady : ended;
  }

  write(into: RowSink): void {
    this.#rows.write(this.#at, into);
    for (const [call, write] of this.#windows.writers.entries()) {
      const value = this.#results[call]?.[this.#at] ?? null;
      const isNullable = this.#windows.calls[call]?.isNullable === true;
      if (value === null) {
        into.append(noneBytes, 0, 1);
        continue;
      }
      const writer = this.#writer;
      writer.reset();
      if (isNullable) writer.u8(someTag);
      write(writer, value);
      into.append(writer.source, 0, writer.length);
    }
  }

  #collect(): Step {
    const { slot, columns } = this.#windows;
    const state = this.#state;
    const sink = this.#sink;
    for (;;) {
      const step = this.#input.next();
      if (step !== rowReady) return step;
      sink.reset();
      this.#input.write(sink);
      this.#rows.add(sink.bytes, 0, sink.length);
      state.pages[slot] = sink.bytes;
      state.rows[slot] = 0;
      let bytes = 2 * refBytes;
      for (const [column, evaluate] of columns) {
        const value = evaluate(state);
        bytes += slotBytes + bytesOfValue(value);
        present(this.#values.get(column), 'a column that is kept').push(value);
      }
      this.#take(bytes);
    }
  }

  *#compute(): Generator<typeof paused, void> {
    const state = this.#state;
    for (const sort of this.#windows.sorts) {
      const merge = new Merge(this.#rows.count, (a, b) => this.#compareRows(sort, a, b));
      while (!merge.run(state)) yield paused;
      const partitions = new Partitions(merge.result, {
        isPartitionStart: (a, b) => this.#compareBy(sort.partition, a, b) !== 0,
        isGroupStart: (a, b) => this.#compareBy(sort.order, a, b) !== 0,
      });
      for (const call of sort.calls) {
        yield* runWindow(this.#runOf(call, sort, partitions));
      }
    }
  }

  #runOf(call: number, sort: WindowSort, partitions: Partitions): FrameRun {
    const { function: made, arguments: list, frame } = present(this.#windows.calls[call], 'a call');
    const columns = list.map((column) => present(this.#values.get(column), 'a kept column'));
    const [key] = sort.order;
    const keys = key && present(this.#values.get(key.column), 'a column that is kept');
    const results = present(this.#results[call], 'the results of a call');
    return {
      state: this.#state,
      partitions,
      function: made,
      frame,
      key: key && { ...key, valueOf: (row) => keys?.[row] ?? null },
      argument: (at, row) => columns[at]?.[row] ?? null,
      argumentCount: columns.length,
      take: (bytes) => this.#take(bytes),
      keep: (row, value) => {
        results[row] = value;
        this.#take(slotBytes + bytesOfValue(value));
      },
    };
  }

  #compareRows(sort: WindowSort, a: number, b: number): number {
    return (
      this.#compareBy(sort.partition, a, b) ||
      this.#compareBy(sort.order, a, b) ||
      this.#compareBytes(a, b) ||
      a - b
    );
  }

  #compareBy(keys: readonly WindowKey[], a: number, b: number): number {
    for (const { column, compare } of keys) {
      const values = present(this.#values.get(column), 'a column that is kept');
      const order = compare(values[a] as QueryValue, values[b] as QueryValue);
      if (order !== 0) return order;
    }
    return 0;
  }

  #compareBytes(a: number, b: number): number {
    const rows = this.#rows;
    const left = rows.bytesOf(a);
    const right = rows.bytesOf(b);
    const from = rows.startOf(a);
    const other = rows.startOf(b);
    const length = rows.endOf(a) - from;
    const otherLength = rows.endOf(b) - other;
    for (let at = 0; at < length && at < otherLength; at++) {
      const difference = (left[from + at] as number) - (right[other + at] as number);
      if (difference !== 0) return difference;
    }
    return length - otherLength;
  }

  #take(bytes: number): void {
    this.#taken += bytes;
    this.#state.budget.take(bytes);
  }
}
