import { assert } from '../../assert.ts';
import { readCount, skipperOf } from '../../values/layout.ts';
import { resolveType } from '../../values/typespace.ts';
import type { CompileContext } from '../expressions/compile-context.ts';
import { compileExpression } from '../expressions/compile-expression.ts';
import type { Evaluator } from '../expressions/frame.ts';
import type { RowSink } from '../expressions/row-sink.ts';
import type { ElementsPlan } from '../plan/plan.ts';
import type { ExecutionState } from './execution-state.ts';
import { ended, paused, type Rows, rowReady, type Step } from './operator.ts';

interface CompiledElements {
  readonly array: Evaluator;
  /** The end of the element that begins at a place. */
  readonly skip: (bytes: Uint8Array, at: number) => number;
  readonly hasOrdinality: boolean;
}

export function compileElements(
  { array, hasOrdinality }: ElementsPlan,
  context: CompileContext,
): CompiledElements {
  const type = resolveType(array.type, context.types);
  assert(type.kind === 'array', 'only arrays have elements');
  const skip = skipperOf(type.element, context.types);
  return { array: compileExpression(array, context), skip, hasOrdinality };
}

/** A row for each element of an array, which is evaluated at the opening. */
export class ElementRows implements Rows {
  readonly #state: ExecutionState;
  readonly #elements: CompiledElements;
  readonly #ordinality = new Uint8Array(8);
  #bytes: Uint8Array = noElements;
  #count = 0;
  /** The number of the current element, counted from 1, and its place. */
  #number = 0;
  #start = 0;
  #end = 0;

  constructor(state: ExecutionState, elements: CompiledElements) {
    this.#state = state;
    this.#elements = elements;
  }

  open(): void {
    const array = this.#elements.array(this.#state);
    this.#bytes = array instanceof Uint8Array ? array : noElements;
    this.#count = readCount(this.#bytes, 0);
    this.#number = 0;
    this.#end = 4;
  }

  next(): Step {
    const state = this.#state;
    if (--state.ticks <= 0 && state.mustPause()) return paused;
    if (this.#number === this.#count) return ended;
    this.#number++;
    this.#start = this.#end;
    this.#end = this.#elements.skip(this.#bytes, this.#start);
    return rowReady;
  }

  write(into: RowSink): void {
    into.append(this.#bytes, this.#start, this.#end);
    if (!this.#elements.hasOrdinality) return;
    new DataView(this.#ordinality.buffer).setUint32(0, this.#number, true);
    into.append(this.#ordinality, 0, 8);
  }
}

/** The encoding of an array without elements. */
const noElements = new Uint8Array(4);
