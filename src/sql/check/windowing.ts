import { present } from '../../assert.ts';
import type { Environment, WindowCall, WindowCalls } from './context.ts';
import type {
  OrderKey,
  OutputColumn,
  TypedBlock,
  TypedExpression,
  TypedWindowCall,
} from './typed.ts';
import { isRequestValue, mapExpression, operandsOf, queryOf } from './typed-expression.ts';

/** A block in which nodes of `calls` stand for window functions. */
export interface Windowed {
  readonly block: TypedBlock;
  readonly order: readonly OrderKey[];
  readonly calls: WindowCalls['calls'];
}

/** Every expression of the calls, in a fixed order. */
export function partsOfCalls(calls: WindowCalls['calls']): readonly TypedExpression[] {
  return [...calls.values()].flatMap(({ arguments: list, partition, order }) => {
    return [...list, ...partition, ...order.map(({ expression }) => expression)];
  });
}

/** The calls with other expressions in place of `partsOfCalls`. */
export function withParts(
  calls: WindowCalls['calls'],
  parts: readonly TypedExpression[],
): WindowCalls['calls'] {
  let at = 0;
  const next = (): TypedExpression => present(parts[at++], 'a part of a call');
  return new Map(
    [...calls].map(([node, call]): [TypedExpression, WindowCall] => {
      const list = call.arguments.map(next);
      const partition = call.partition.map(next);
      const order = call.order.map((key) => ({ ...key, expression: next() }));
      return [node, { ...call, arguments: list, partition, order }];
    }),
  );
}

/**
 * Splits a block in three: what comes before the window functions, with a column for each
 * expression that is needed behind them; the functions over those columns; and the list, DISTINCT
 * and ORDER BY over both.
 */
export function windowedBlock(
  { block, order, calls }: Windowed,
  { statement }: Environment,
): Pick<Windowed, 'block' | 'order'> {
  const slot = statement.newSlot();
  const columns = new InnerColumns(slot, calls, statement.structures);
  const typedCalls = [...calls.values()].map((call): TypedWindowCall => {
    return {
      function: call.function,
      arguments: call.arguments.map((part) => columns.positionOf(part)),
      partition: call.partition.map((part) => columns.positionOf(part)),
      order: call.order.map(({ expression, ...how }) => ({
        ...how,
        column: columns.positionOf(expression),
      })),
      frame: call.frame,
      ...call.result,
    };
  });
  // The columns of the calls come last, so all others must be known before.
  for (const item of block.items) columns.collect(item);
  for (const { key } of order) if (key.kind === 'expression') columns.collect(key.expression);
  const inner: TypedBlock = { ...block, items: columns.items, isDistinct: false };
  const input = queryOf(inner, columns.items.map(outputColumn));
  const windowed = queryOf({ kind: 'window', input, calls: typedCalls }, [
    ...input.columns,
    ...typedCalls.map(outputColumn),
  ]);
  const source = {
    kind: 'query',
    query: windowed,
    isBarrier: false,
    commonTable: undefined,
  } as const;
  return {
    block: {
      kind: 'block',
      relations: [{ slot, name: 'windows', source, security: undefined, isNullable: false }],
      joins: [],
      where: undefined,
      grouping: undefined,
      having: undefined,
      items: block.items.map((item) => columns.rewritten(item)),
      isDistinct: block.isDistinct,
    },
    order: order.map((one): OrderKey => {
      const { key } = one;
      if (key.kind === 'output') return one;
      return { ...one, key: { ...key, expression: columns.rewritten(key.expression) } };
    }),
  };
}

function outputColumn({ type, isNullable }: OutputColumn | TypedExpression | TypedWindowCall) {
  return { name: '', type, isNullable };
}

/** The expressions that are computed before the window functions, each once. */
class InnerColumns {
  readonly items: TypedExpression[] = [];
  readonly #slot: number;
  readonly #structures: Environment['statement']['structures'];
  readonly #positions = new Map<number, number>();
  readonly #callAt: ReadonlyMap<TypedExpression, number>;

  constructor(
    slot: number,
    calls: WindowCalls['calls'],
    structures: Environment['statement']['structures'],
  ) {
    this.#slot = slot;
    this.#structures = structures;
    this.#callAt = new Map([...calls.keys()].map((node, at) => [node, at]));
  }

  positionOf(expression: TypedExpression): number {
    const number = this.#structures.numberOf(expression);
    const known = this.#positions.get(number);
    if (known !== undefined) return known;
    const position = this.items.push(expression) - 1;
    this.#positions.set(number, position);
    return position;
  }

  collect(expression: TypedExpression): void {
    this.rewritten(expression);
  }

  /** The expression over the columns; what the request alone decides stays as it is. */
  rewritten(expression: TypedExpression): TypedExpression {
    return mapExpression(expression, (e) => {
      const call = this.#callAt.get(e);
      if (call !== undefined) return this.#column(e, this.items.length + call);
      if (this.#hasCall(e)) return undefined;
      return isRequestValue(e) ? e : this.#column(e, this.positionOf(e));
    });
  }

  #hasCall(e: TypedExpression): boolean {
    return this.#callAt.has(e) || operandsOf(e).some((operand) => this.#hasCall(operand));
  }

  #column({ type, isNullable }: TypedExpression, column: number): TypedExpression {
    return { kind: 'column', slot: this.#slot, column, name: `${column}`, type, isNullable };
  }
}
