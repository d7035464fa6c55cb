import { assert } from '../../src/assert.ts';
import type {
  OutputColumn,
  StatementParts,
  TypedBlock,
  TypedExpression,
  TypedQuery,
  TypedStatement,
} from '../../src/sql/check/typed.ts';
import { operandsOf } from '../../src/sql/check/typed-expression.ts';
import { arithmeticTypes, negatedType } from '../../src/sql/functions/arithmetic.ts';
import { conversionOf, optionInnerType } from '../../src/sql/functions/convert.ts';
import type { AlgebraicType } from '../../src/values/type.ts';
import { typesEqual, typeText } from '../../src/values/typespace.ts';

/** Asserts what later stages rely on: every type fits its place, every number has its meaning. */
export function assertSound(statement: TypedStatement): void {
  if (statement.kind === 'explain') {
    assertSound(statement.statement);
    return;
  }
  const judge = new Judge(statement);
  switch (statement.kind) {
    case 'read':
      judge.query(statement.query, new Map());
      return;
    case 'insert': {
      const { source, table, returning } = statement;
      const types = table.columns.map((column) => column.type);
      if (source.kind === 'values') {
        for (const row of source.rows) judge.stored(row, types, new Map());
      } else {
        judge.query(source.query, new Map());
        const filled = source.columns.map((from) => {
          return typeof from === 'number' ? source.query.columns[from] : from;
        });
        filled.forEach((column, at) => {
          judge.same(column?.type, types[at], 'an inserted column');
          assert(column?.isNullable === false, 'a stored value is not null');
        });
      }
      const { update } = statement.conflict ?? {};
      if (update !== undefined) {
        const layout = new Map([
          [update.slot, layoutOf(types)],
          [update.excludedSlot, layoutOf(types)],
        ]);
        if (update.where !== undefined) judge.condition(update.where, layout);
        const values = update.assignments.map(({ value }) => value);
        const targets = update.assignments.map(({ column }) => types[column] as AlgebraicType);
        judge.stored(values, targets, layout);
      }
      if (returning !== undefined) {
        const layout = new Map([[returning.slot, layoutOf(types)]]);
        judge.items(returning.items, returning.columns, layout);
      }
      return;
    }
    default: {
      const { relation, table, where, returning } = statement;
      const types = table.columns.map((column) => column.type);
      const layout: Layouts = new Map([[relation.slot, layoutOf(types)]]);
      if (where !== undefined) judge.condition(where, layout);
      if (statement.kind === 'update') {
        const { assignments } = statement;
        const values = assignments.map(({ value }) => value);
        const targets = assignments.map(({ column }) => types[column] as AlgebraicType);
        judge.stored(values, targets, layout);
      }
      if (returning !== undefined) judge.items(returning.items, returning.columns, layout);
    }
  }
}

type Layout = readonly { readonly type: AlgebraicType; readonly isNullable: boolean }[];
type Layouts = ReadonlyMap<number, Layout>;

function layoutOf(types: readonly AlgebraicType[]): Layout {
  return types.map((type) => ({ type, isNullable: false }));
}

class Judge {
  readonly #parts: StatementParts;

  constructor(parts: StatementParts) {
    this.#parts = parts;
  }

  query(query: TypedQuery, outer: Layouts): void {
    const { body, order, limit, offset, columns } = query;
    let layouts = outer;
    if (body.kind === 'block') {
      layouts = this.#block(body, columns, outer);
    } else if (body.kind === 'recursive') {
      for (const part of [body.base, body.step]) {
        this.query(part, outer);
        for (const [at, { type }] of part.columns.entries()) {
          this.same(type, columns[at]?.type, 'a part of a recursion');
        }
      }
    } else if (body.kind === 'elements') {
      this.expression(body.array, outer);
      const { type } = body.array;
      assert(type.kind === 'array', 'only arrays have elements');
      this.same(type.element, columns[0]?.type, 'an element');
    } else if (body.kind === 'working') {
      assert(body.slot < this.#parts.slotCount, 'a slot of the statement');
    } else if (body.kind === 'window') {
      this.query(body.input, outer);
      const { length } = body.input.columns;
      assert(length + body.calls.length === columns.length, 'a column for each call');
      body.calls.forEach(({ type, arguments: list, partition, order }, at) => {
        this.same(type, columns[length + at]?.type, 'a window function');
        const used = [...list, ...partition, ...order.map(({ column }) => column)];
        assert(
          used.every((column) => column < length),
          'calls read columns of the input',
        );
      });
    } else {
      this.query(body.left, outer);
      this.query(body.right, outer);
      for (const side of [body.left, body.right]) {
        columns.forEach((column, at) => {
          this.same(side.columns[at]?.type, column.type, 'a side of a set operation');
          assert(column.isNullable || side.columns[at]?.isNullable === false, 'a nullable side');
        });
      }
    }
    for (const { key } of order) {
      if (key.kind === 'expression') this.expression(key.expression, layouts);
      else assert(columns[key.column] !== undefined, 'an output column to order by');
    }
    for (const count of [limit, offset]) {
      if (count !== undefined) {
        this.expression(count, outer);
        this.same(count.type, { kind: 'u64' }, 'a count of rows');
      }
    }
  }

  items(items: readonly TypedExpression[], columns: readonly OutputColumn[], layouts: Layouts) {
    assert(items.length === columns.length, 'an item for each column');
    items.forEach((item, at) => {
      this.expression(item, layouts);
      this.same(item.type, columns[at]?.type, 'an item');
      assert(item.isNullable === columns[at]?.isNullable, 'an item and its column');
    });
  }

  stored(values: readonly TypedExpression[], types: readonly AlgebraicType[], layouts: Layouts) {
    values.forEach((value, at) => {
      this.expression(value, layouts);
      this.same(value.type, types[at], 'a stored value');
      assert(!value.isNullable, 'a stored value is not null');
    });
  }

  condition(expression: TypedExpression, layouts: Layouts): void {
    this.expression(expression, layouts);
    this.same(expression.type, { kind: 'bool' }, 'a condition');
  }

  expression(e: TypedExpression, layouts: Layouts): void {
    for (const operand of operandsOf(e)) this.expression(operand, layouts);
    switch (e.kind) {
      case 'column': {
        const column = layouts.get(e.slot)?.[e.column];
        assert(column !== undefined, `slot ${e.slot} column ${e.column} is in scope`);
        this.same(e.type, column.type, 'a column');
        assert(e.isNullable || !column.isNullable, 'a nullable column');
        return;
      }
      case 'parameter':
        this.same(e.type, this.#parts.parameters[e.parameter]?.type, 'a parameter');
        return;
      case 'value':
        assert(e.value < this.#parts.valueCount, 'a value that grouping computes');
        return;
      case 'comparison':
      case 'isDistinct':
        this.same(e.left.type, e.right.type, e.kind);
        return;
      case 'and':
      case 'or':
        for (const term of e.terms) this.same(term.type, { kind: 'bool' }, e.kind);
        return;
      case 'inList':
        for (const value of e.values) this.same(value.type, e.operand.type, e.kind);
        return;
      case 'arithmetic': {
        const types = arithmeticTypes(e.operator, e.left.type, e.right.type);
        this.same(types?.left, e.left.type, 'a left operand');
        this.same(types?.right, e.right.type, 'a right operand');
        this.same(types?.result, e.type, 'a result');
        return;
      }
      case 'negate':
        this.same(negatedType(e.operand.type), e.type, 'a negation');
        return;
      case 'case':
        for (const { when, then } of e.branches) {
          this.same(when.type, { kind: 'bool' }, 'WHEN');
          this.same(then.type, e.type, 'THEN');
        }
        if (e.otherwise !== undefined) this.same(e.otherwise.type, e.type, 'ELSE');
        return;
      case 'convert':
        this.#conversion(e.operand.type, e.type);
        return;
      case 'call':
        e.arguments.forEach((argument, at) => {
          this.same(argument.type, e.function.parameters[at], `an argument of ${e.function.name}`);
        });
        return;
      case 'subquery':
        this.query(e.query, layouts);
        if (e.operand !== undefined) this.same(e.operand.type, e.query.columns[0]?.type, 'IN');
        return;
      default:
    }
  }

  same(actual: AlgebraicType | undefined, required: AlgebraicType | undefined, what: string) {
    assert(actual !== undefined && required !== undefined, `${what} has a type`);
    if (typesEqual(actual, required)) return;
    assert(false, `${what}: ${typeText(actual)} is not ${typeText(required)}`);
  }

  #block(block: TypedBlock, columns: readonly OutputColumn[], outer: Layouts): Layouts {
    const layouts = new Map(outer);
    for (const { slot, source, security, isNullable } of block.relations) {
      assert(slot < this.#parts.slotCount, 'a slot of the statement');
      if (source.kind === 'query') {
        // A common table is the same query wherever it is read.
        if (source.commonTable === undefined) this.query(source.query, outer);
        else this.query(source.query, new Map());
      }
      const own: Layout =
        source.kind === 'table' ? layoutOfTable(source.table) : source.query.columns;
      // A filter sees rows before a left join adds those without.
      if (security !== undefined) this.condition(security, new Map([[slot, own]]));
      layouts.set(
        slot,
        own.map((column) => ({ ...column, isNullable: column.isNullable || isNullable })),
      );
    }
    for (const { condition } of block.joins) if (condition) this.condition(condition, layouts);
    if (block.where !== undefined) this.condition(block.where, layouts);
    const { grouping } = block;
    for (const key of grouping?.keys ?? []) this.expression(key, layouts);
    for (const aggregate of grouping?.aggregates ?? []) {
      if (aggregate.argument !== undefined) this.expression(aggregate.argument, layouts);
    }
    // Behind the groups there are no rows of this block any more.
    const behind = grouping === undefined ? layouts : outer;
    if (block.having !== undefined) this.condition(block.having, behind);
    this.items(block.items, columns, behind);
    return behind;
  }

  #conversion(from: AlgebraicType, to: AlgebraicType): void {
    const inner = optionInnerType(to);
    const isWrapped = inner !== undefined && typesEqual(from, inner);
    const isPossible = isWrapped || conversionOf(from, to) !== undefined;
    assert(isPossible, `${typeText(from)} converts to ${typeText(to)}`);
  }
}

function layoutOfTable(table: { readonly columns: readonly { readonly type: AlgebraicType }[] }) {
  return layoutOf(table.columns.map(({ type }) => type));
}
