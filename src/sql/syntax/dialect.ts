import { assert, unreachable } from '../../assert.ts';
import { invalid, recursionLimit } from '../failure.ts';
import type {
  Assignment,
  ColumnReference,
  Delete,
  Expression,
  FromRelations,
  Insert,
  Literal,
  Select,
  SelectItem,
  SetVariable,
  ShowVariable,
  Statement,
  Unsupported,
  Update,
} from './ast.ts';

/** A statement with everything that this dialect lacks already refused. */
export type DialectStatement =
  | DialectSelect
  | DialectInsert
  | DialectUpdate
  | Delete
  | DialectSet
  | ShowVariable;

export interface DialectSelect {
  readonly kind: 'select';
  readonly projection: Projection;
  readonly from: FromRelations;
  readonly where: Expression | undefined;
  readonly limit: Literal | undefined;
}

export interface DialectInsert extends Insert {
  readonly rows: readonly (readonly Literal[])[];
}

export interface DialectUpdate extends Update {
  readonly assignments: readonly DialectAssignment[];
}

export interface DialectAssignment extends Assignment {
  readonly value: Literal;
}

export interface DialectSet extends SetVariable {
  readonly value: Literal;
}

export type Projection =
  | { readonly kind: 'everything' }
  | { readonly kind: 'relation'; readonly relation: string }
  | {
      readonly kind: 'columns';
      readonly columns: readonly { readonly column: ColumnReference; readonly name: string }[];
    }
  | { readonly kind: 'count'; readonly name: string };

/**
 * Refuses what parses but is not in the dialect, before any name is looked up. The order is fixed:
 * the statement as a whole, then the SELECT list, FROM, the conditions.
 *
 * Also bounds the depth of every expression, so that later stages may recurse.
 */
export function toDialect(statement: Statement): DialectStatement {
  switch (statement.kind) {
    case 'unsupported':
      throw invalid(statement.message);
    case 'select':
      return selectToDialect(statement);
    case 'insert':
      return { ...statement, rows: statement.rows.map((row) => row.map(requireLiteral)) };
    case 'update': {
      const assignments = statement.assignments.map(({ column, value }) => {
        return { column, value: requireLiteral(value) };
      });
      requireSupported(statement.where);
      return { ...statement, assignments };
    }
    case 'delete':
      requireSupported(statement.where);
      return statement;
    case 'set':
      return { ...statement, value: requireLiteral(statement.value) };
    case 'show':
      return statement;
    default:
      return unreachable(statement);
  }
}

function requireLiteral(value: Literal | Unsupported): Literal {
  if (value.kind === 'unsupported') throw invalid(value.message);
  return value;
}

function selectToDialect(select: Select): DialectSelect {
  const projection = projectionOf(select.items);
  const { from } = select;
  if (from === undefined) throw invalid('A FROM clause is required');
  if (from.kind === 'unsupported') throw invalid(from.message);
  requireSupported(select.where);
  if (from.joins.length > 0) requireQualifiedNames(projection, from, select.where);
  return { kind: 'select', projection, from, where: select.where, limit: select.limit };
}

function projectionOf(items: readonly SelectItem[]): Projection {
  const [only] = items;
  assert(only !== undefined, 'a SELECT list has an item');
  if (items.length === 1) return projectionOfOne(only);
  if (items.some((item) => item.kind !== 'expression')) {
    throw invalid('Mixed wildcard projections are not supported');
  }
  return { kind: 'columns', columns: items.map(columnItem) };
}

function projectionOfOne(item: SelectItem): Projection {
  if (item.kind !== 'expression') return item;
  const { alias, expression } = item;
  if (expression.kind !== 'call' || item.isParenthesised) {
    return { kind: 'columns', columns: [columnItem(item)] };
  }
  if (alias === undefined) throw invalid('Aggregate expressions must have column aliases');
  if (!expression.isCountOfRows) {
    throw invalid(`Unsupported aggregate function: ${expression.text}`);
  }
  return { kind: 'count', name: alias };
}

function columnItem(item: SelectItem): { column: ColumnReference; name: string } {
  assert(item.kind === 'expression', 'wildcards among other items are refused before');
  const { expression } = item;
  if (expression.kind !== 'column' || item.isParenthesised) {
    throw invalid(`Unsupported projection expression: ${item.text}`);
  }
  return { column: expression, name: item.alias ?? expression.name };
}

/** Deepest expression of the typed check, counted as if every AND and OR had two operands. */
const typedDepthMax = 2_500;

function requireSupported(expression: Expression | undefined, depth = 1): void {
  if (expression === undefined) return;
  if (depth > typedDepthMax) throw invalid(recursionLimit('type'));
  switch (expression.kind) {
    case 'unsupported':
      throw invalid(expression.message);
    case 'call':
      throw invalid(`Unsupported expression: ${expression.text}`);
    case 'not':
      requireSupported(expression.operand, depth + 1);
      return;
    case 'comparison':
      requireSupported(expression.left, depth + 1);
      requireSupported(expression.right, depth + 1);
      return;
    case 'and':
    case 'or': {
      const { terms } = expression;
      const deepest = depth + terms.length - 1;
      // The first two terms are equally deep: the chain leans to the left.
      for (const [at, term] of terms.entries()) {
        requireSupported(term, deepest - Math.max(0, at - 1));
      }
      return;
    }
    case 'column':
    case 'sender':
    case 'boolean':
    case 'string':
    case 'number':
    case 'hex':
      return;
    default:
      unreachable(expression);
  }
}

function requireQualifiedNames(
  projection: Projection,
  from: FromRelations,
  where: Expression | undefined,
): void {
  const columns: ColumnReference[] = [];
  if (projection.kind === 'columns') columns.push(...projection.columns.map((item) => item.column));
  for (const { on } of from.joins) if (on !== undefined) columns.push(on.left, on.right);
  if (where !== undefined) columns.push(...columnsOf(where));
  if (columns.some((column) => column.relation === undefined)) {
    throw invalid('Names must be qualified when using joins');
  }
}

function columnsOf(expression: Expression): readonly ColumnReference[] {
  switch (expression.kind) {
    case 'column':
      return [expression];
    case 'not':
      return columnsOf(expression.operand);
    case 'comparison':
      return [...columnsOf(expression.left), ...columnsOf(expression.right)];
    case 'and':
    case 'or':
      return expression.terms.flatMap(columnsOf);
    default:
      return [];
  }
}
