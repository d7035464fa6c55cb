import { AssertionError } from '../../assert.ts';
import type { Typespace } from '../../values/type.ts';
import type { OutputColumn, TypedExpression } from '../check/typed.ts';
import type { KeyPart } from '../functions/canonical.ts';
import { compileConditions } from './compile-condition.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import { compileKey } from './compile-key.ts';
import { compileOutput } from './compile-output.ts';
import type { Evaluator, Frame, KeyWriter, SlotLayout, Test } from './frame.ts';
import { compileMapKey } from './hash-key.ts';
import { ByteSink } from './row-sink.ts';

/** Computes one row of output, encoded, in bytes of its own. Throws `SqlFailure`. */
export type RowMaker = (frame: Frame) => Uint8Array;

/**
 * Compiles expressions for rows that are held outside of a plan: the caller puts them into the
 * slots of a frame. The expressions have no subqueries.
 *
 * Compiled functions keep `layoutOf` alive, so it should hold no more than it needs.
 */
export class RowCompiler {
  readonly #context: CompileContext;

  constructor(types: Typespace, layoutOf: (slot: number) => SlotLayout) {
    this.#context = { layoutOf, types, subquery: noSubquery };
  }

  get types(): Typespace {
    return this.#context.types;
  }

  /** Whether all of `terms` are true, tested in their order; `undefined` if there are none. */
  conditions(terms: readonly TypedExpression[]): Test | undefined {
    return compileConditions(terms, this.#context);
  }

  value(expression: TypedExpression): Evaluator {
    return compileExpression(expression, this.#context);
  }

  /** A row of `columns`, which have the values of `items`. */
  row(items: readonly TypedExpression[], columns: readonly OutputColumn[]): RowMaker {
    const write = compileOutput(items, columns, this.#context);
    return (frame) => {
      sink.reset();
      try {
        write(frame, sink);
        return sink.bytes.slice(0, sink.length);
      } finally {
        if (sink.bytes.length > sinkBytesKept) sink = new ByteSink();
      }
    };
  }

  /** The key of an index, or of a join: null equals nothing. */
  indexKey(expressions: readonly TypedExpression[]): KeyWriter {
    return compileKey(expressions, this.#context);
  }

  /** The key of a `Map`: null is equal to null. */
  mapKey(expressions: readonly TypedExpression[]): (frame: Frame) => KeyPart {
    return compileMapKey(expressions, this.#context);
  }
}

/** Holds the row that is being computed. Shared: computing a row never computes another. */
let sink = new ByteSink();
const sinkBytesKept = 64 * 1_024;

function noSubquery(): never {
  throw new AssertionError('expressions over rows outside of a plan have no subqueries');
}
