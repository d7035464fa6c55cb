import { unreachable } from '../../assert.ts';
import { invalid, noHistory, type SqlFailure } from '../failure.ts';
import { findFunction } from '../functions/library.ts';
import type {
  Assignment,
  Conflict,
  Expression,
  From,
  Insert,
  Query,
  QueryBody,
  Relation,
  Select,
  SelectItem,
  Span,
  Statement,
  Unsupported,
} from '../syntax/ast.ts';
import { dialectTexts, isRefusedLiteral } from '../syntax/refusal.ts';
import type { SourceText } from '../syntax/source-text.ts';
import { statementHint, wordHint } from './foreign-hint.ts';
import { requireItems } from './full-dialect-items.ts';
import { isRowInQuery, rowComparison, rowIn } from './row-values.ts';
import { unqualifiedMessage } from './scope.ts';
import {
  columnsIn,
  computedOf,
  hasQuery,
  operandsOf,
  operandsOfWindow,
  queryOf,
  readsRows,
} from './written.ts';

/**
 * Refuses what parses but is not supported, before any name is looked up. The order is fixed:
 * the statement as a whole, then the SELECT list, FROM, the conditions.
 */
export function requireFullDialect(
  statement: Statement,
  source: SourceText,
  parameterNames: ReadonlySet<string>,
): void {
  new FullDialect(source, parameterNames).statement(statement);
}

const joinHint =
  'Write JOIN, LEFT JOIN or CROSS JOIN, with ON a.column = b.column; ' +
  'a RIGHT JOIN is a LEFT JOIN with its tables swapped';
const rowHint = 'A row is compared with another of as many values, as in (a, b) = (1, 2)';
const qualifyHint = 'Qualify the column, as in `relation.column`';

/** Types whose name can stand before a literal, as in `UUID '…'`. */
const literalTypes = ['TIMESTAMP', 'TIMESTAMPTZ', 'INTERVAL', 'UUID'];

class FullDialect {
  readonly #source: SourceText;
  readonly #parameterNames: ReadonlySet<string>;

  constructor(source: SourceText, parameterNames: ReadonlySet<string>) {
    this.#source = source;
    this.#parameterNames = parameterNames;
  }

  statement(statement: Statement): void {
    switch (statement.kind) {
      case 'unsupported':
        throw this.#unsupported(statement);
      case 'query':
        this.#query(statement.query, true);
        return;
      case 'insert':
        this.#insert(statement);
        if (statement.conflict !== undefined) this.#conflict(statement.conflict);
        this.#returning(statement.returning);
        return;
      case 'update':
        this.#assigned(statement.assignments, statement.from, statement.where);
        this.#expression(statement.where);
        this.#returning(statement.returning);
        return;
      case 'delete':
        this.#joined(statement.using, [statement.where]);
        this.#expression(statement.where);
        this.#returning(statement.returning);
        return;
      case 'set':
        this.#variableValue(statement.value);
        return;
      case 'show':
      case 'showList':
        return;
      case 'explain':
        this.statement(statement.statement);
        return;
      default:
        unreachable(statement);
    }
  }

  #query(query: Query, isTop: boolean): void {
    if (query.unsupported !== undefined) {
      throw this.#unsupported(query.unsupported);
    }
    for (const table of query.commonTables) this.#query(table.query, false);
    this.#body(query.body, isTop);
    const joins = query.body.kind === 'select' ? query.body.from?.joins.length : 0;
    const aliases = query.body.kind === 'select' ? aliasesOf(query.body) : new Set<string>();
    for (const { expression } of query.orderBy) {
      this.#expression(expression);
      if (joins !== undefined && joins > 0) this.#requireQualified(expression, aliases);
    }
    this.#rowCount(query.limit, query);
    this.#rowCount(query.offset, query);
    if (query.asOf !== undefined) {
      this.#expression(query.asOf.position);
      throw noHistory({ place: this.#source.place(query.asOf.span) });
    }
  }

  #body(body: QueryBody, isTop: boolean): void {
    switch (body.kind) {
      case 'select':
        this.#select(body, isTop);
        return;
      case 'setOperation':
        this.#body(body.left, isTop);
        this.#body(body.right, isTop);
        return;
      case 'query':
        this.#query(body, isTop);
        return;
      case 'values':
        for (const row of body.rows) for (const value of row) this.#expression(value);
        return;
      case 'unsupported':
        throw this.#unsupported(body);
      default:
        unreachable(body);
    }
  }

  #select(select: Select, isTop: boolean): void {
    const { from, where, groupBy, having, unsupported } = select;
    if (unsupported !== undefined) throw this.#unsupported(unsupported);
    requireItems(select.items, this.#source, isTop);
    for (const item of select.items) {
      if (item.kind === 'expression') this.#expression(item.expression);
    }
    if (from !== undefined) this.#from(from);
    else if (isTop) this.#requireNoColumns(select);
    this.#expression(where);
    for (const key of groupBy) this.#expression(key);
    this.#expression(having);
    const inWindows = select.windows.flatMap(({ window }) => operandsOfWindow(window));
    for (const expression of inWindows) this.#expression(expression);
    if (from !== undefined && from.joins.length > 0) this.#requireQualifiedSelect(select, from);
  }

  /** A column of a query around it would have a meaning; a statement has none around it. */
  #requireNoColumns({ items, where, span }: Select): void {
    const expressions = items.flatMap((item) =>
      item.kind === 'expression' ? [item.expression] : [],
    );
    if (where !== undefined) expressions.push(where);
    if (expressions.flatMap(columnsIn).length === 0) return;
    throw this.#refusal(dialectTexts.noFrom, span);
  }

  #from({ first, joins }: From): void {
    this.#relation(first);
    for (const { kind, relation, on, isParenthesised, span } of joins) {
      if (kind === 'other' || (kind === 'inner' && isParenthesised)) {
        const hint = kind === 'inner' ? 'Write the condition without parentheses' : joinHint;
        throw this.#refusal(dialectTexts.otherJoin, span, hint);
      }
      if (kind === 'left' && on === undefined) {
        throw this.#refusal('A LEFT JOIN needs a condition: LEFT JOIN … ON …', span);
      }
      this.#relation(relation);
      this.#expression(on);
    }
  }

  #relation(relation: Relation): void {
    if (relation.kind === 'unsupported') throw this.#refusal(relation.message, relation.span);
    if (relation.kind === 'derived') this.#query(relation.query, false);
    if (relation.kind === 'unnest') this.#expression(relation.array);
  }

  #insert({ source }: Insert): void {
    if (source.kind === 'query') {
      this.#query(source.query, false);
      return;
    }
    for (const row of source.rows) for (const value of computedOf(row)) this.#expression(value);
  }

  #assigned(
    assignments: readonly Assignment[],
    from: From | undefined,
    where: Expression | undefined,
  ): void {
    const values = computedOf(assignments.map(({ value }) => value));
    for (const value of values) this.#expression(value);
    this.#joined(from, [...values, where]);
  }

  #conflict({ constraint, columns, update, span }: Conflict): void {
    if (update === undefined) return;
    if (columns.length === 0 && constraint === undefined) {
      const message = 'DO UPDATE needs the columns of a key: ON CONFLICT (id) DO UPDATE SET …';
      throw this.#refusal(message, span);
    }
    const values = computedOf(update.assignments.map(({ value }) => value));
    const expressions = update.where === undefined ? values : [...values, update.where];
    for (const expression of expressions) {
      if (hasQuery(expression)) {
        throw this.#refusal('DO UPDATE takes no queries in parentheses', expression.span);
      }
      this.#expression(expression);
    }
  }

  /** The tables beside the one that is written: as in a join, all columns are qualified. */
  #joined(from: From | undefined, expressions: readonly (Expression | undefined)[]): void {
    if (from === undefined) return;
    this.#from(from);
    const none = new Set<string>();
    const conditions = from.joins.map(({ on }) => on);
    for (const expression of [...expressions, ...conditions]) {
      if (expression !== undefined) this.#requireQualified(expression, none);
    }
  }

  #variableValue(value: Expression): void {
    switch (value.kind) {
      case 'boolean':
      case 'string':
      case 'number':
      case 'hex':
        return;
      case 'null':
      case 'sender':
        throw this.#refusal(dialectTexts.literal(this.#source.text(value.span)), value.span);
      case 'unsupported':
        if (isRefusedLiteral(value)) throw this.#refusal(value.message, value.span);
        break;
      default:
    }
    throw this.#badAssignment(value);
  }

  #badAssignment({ span }: Expression): SqlFailure {
    const text = this.#source.text(span);
    return this.#refusal(dialectTexts.assignment(text), span);
  }

  #returning(items: readonly SelectItem[] | undefined): void {
    if (items === undefined) return;
    requireItems(items, this.#source, false);
    for (const item of items) if (item.kind === 'expression') this.#expression(item.expression);
  }

  /** LIMIT and OFFSET must be known before the first row is read. */
  #rowCount(count: Expression | undefined, { span }: Query): void {
    if (count === undefined) return;
    const isSigned = count.kind === 'number' && /^[+-]/.test(count.text);
    const isOther = count.kind === 'string' || count.kind === 'hex' || count.kind === 'boolean';
    if (isSigned || isOther || readsRows(count)) {
      throw this.#refusal(`Unsupported: ${this.#source.text(span)}`, count.span);
    }
    this.#expression(count);
  }

  #expression(expression: Expression | undefined): void {
    if (expression === undefined) return;
    switch (expression.kind) {
      case 'unsupported':
        throw this.#refusal(expression.message, expression.span, expression.hint);
      case 'parameter':
        if (!this.#parameterNames.has(expression.name)) {
          const text = this.#source.text(expression.span);
          const hint = `The request has no value for ${text}`;
          throw this.#refusal(dialectTexts.literal(text), expression.span, hint);
        }
        return;
      case 'row':
        throw this.#unsupportedExpression(expression, rowHint);
      case 'comparison':
      case 'in':
        if (this.#isOfRows(expression)) return;
        break;
      case 'typedLiteral':
        if (!literalTypes.includes(expression.typeName.toUpperCase())) {
          const hint = "Write a timestamp as TIMESTAMP '2025-02-17T10:30:45Z'";
          throw this.#unsupportedExpression(expression, hint);
        }
        return;
      case 'call':
        if (expression.isBare && findFunction(expression.name.toLowerCase()) === undefined) {
          throw this.#unsupportedExpression(expression, wordHint(expression.name));
        }
        break;
      default:
    }
    for (const operand of operandsOf(expression)) this.#expression(operand);
    const query = queryOf(expression);
    if (query !== undefined) this.#query(query, false);
  }

  /** Rows are compared with rows, and found in lists of rows and in queries. */
  #isOfRows(expression: Extract<Expression, { readonly kind: 'comparison' | 'in' }>): boolean {
    const query = isRowInQuery(expression) ? expression.among : undefined;
    const isOf = expression.kind === 'in' ? rowIn(expression) : rowComparison(expression);
    if (isOf === undefined && query === undefined) return false;
    if (query !== undefined) this.#query(query, false);
    for (const row of operandsOf(expression)) {
      for (const value of operandsOf(row)) this.#expression(value);
    }
    return true;
  }

  #requireQualifiedSelect(select: Select, from: From): void {
    const none = new Set<string>();
    for (const item of select.items) {
      if (item.kind === 'expression') this.#requireQualified(item.expression, none);
    }
    for (const { on } of from.joins) if (on !== undefined) this.#requireQualified(on, none);
    if (select.where !== undefined) this.#requireQualified(select.where, none);
    const inWindows = select.windows.flatMap(({ window }) => operandsOfWindow(window));
    for (const expression of inWindows) this.#requireQualified(expression, none);
    const aliases = aliasesOf(select);
    for (const key of select.groupBy) this.#requireQualified(key, aliases);
    if (select.having !== undefined) this.#requireQualified(select.having, aliases);
  }

  #requireQualified(expression: Expression, aliases: ReadonlySet<string>): void {
    for (const { parts, span } of columnsIn(expression)) {
      if (parts.length > 1 || aliases.has(parts[0] ?? '')) continue;
      const text = this.#source.text(span).startsWith('"') ? parts[0] : undefined;
      const more = text === undefined ? '' : `; texts stand in single quotes: '${text}'`;
      throw this.#refusal(unqualifiedMessage, span, qualifyHint + more);
    }
  }

  #unsupportedExpression({ span }: Expression, hint?: string): SqlFailure {
    return this.#refusal(dialectTexts.expression(this.#source.text(span)), span, hint);
  }

  #unsupported({ message, span, hint }: Unsupported): SqlFailure {
    return this.#refusal(message, span, hint ?? statementHint(this.#source.text(span)));
  }

  #refusal(message: string, span: Span, hint?: string): SqlFailure {
    return invalid(message, { place: this.#source.place(span), hint });
  }
}

/** The names by which ORDER BY and GROUP BY can refer to an item. */
function aliasesOf({ items }: Select): ReadonlySet<string> {
  return new Set(
    items.flatMap((item) => {
      if (item.kind !== 'expression') return [];
      if (item.alias !== undefined) return [item.alias];
      return item.expression.kind === 'column' ? (item.expression.parts.at(-1) ?? []) : [];
    }),
  );
}
