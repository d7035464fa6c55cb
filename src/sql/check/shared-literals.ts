import type {
  Assignment,
  Expression,
  Insert,
  Literal,
  Query,
  Statement,
  StoredExpression,
} from '../syntax/ast.ts';
import { isList } from './written.ts';

/** A literal whose value may differ between texts that share a statement. */
export interface SharedLiteral {
  /** The token that it ends with. */
  readonly token: number;
  /** Of the parameter that stands for it; no statement can write such a name. */
  readonly name: string;
  /** What is written before the digits of a number. */
  readonly sign: string;
}

const mark = '#';
const storedMark = '#stored ';

/** True of the name of a parameter that stands for a literal. */
export function isLiteralName(name: string): boolean {
  return name.startsWith(mark);
}

/** Stored strings fit columns of strings and enums only; other literals are read by their text. */
export function isStoredTextName(name: string): boolean {
  return name.startsWith(storedMark);
}

/** A literal of the kinds that are shared. */
type TextLiteral = Extract<Literal, { readonly text: string }>;

export interface Shared {
  readonly statement: Statement;
  readonly literals: readonly SharedLiteral[];
}

/**
 * The statement with parameters in place of literals whose type is that of a column beside them,
 * whatever their text is: those that WHERE compares with a column, and those that are stored. All
 * others stay: the number of rows, positions, and whatever decides a type or a plan.
 */
export function withSharedLiterals(statement: Statement): Shared {
  const literals: SharedLiteral[] = [];
  const share = (literal: TextLiteral, isStored: boolean) => {
    const token = literal.span.to - 1;
    const isStoredText = isStored && literal.kind === 'string';
    const name = `${isStoredText ? storedMark : mark}${token}`;
    const isSigned = literal.kind === 'number' && /^[+-]/.test(literal.text);
    literals.push({ token, name, sign: isSigned ? literal.text.charAt(0) : '' });
    return { kind: 'parameter', name, span: literal.span } as const;
  };
  return { statement: new Sharing(share).statement(statement), literals };
}

type Share = (
  literal: TextLiteral,
  isStored: boolean,
) => Extract<Expression, { readonly kind: 'parameter' }>;

class Sharing {
  readonly #share: Share;

  constructor(share: Share) {
    this.#share = share;
  }

  statement(statement: Statement): Statement {
    switch (statement.kind) {
      case 'query':
        return { ...statement, query: this.#query(statement.query) };
      case 'insert':
        return { ...statement, source: this.#source(statement.source) };
      case 'update': {
        const assignments = statement.assignments.map((one) => this.#assignment(one));
        const where = statement.where && this.#condition(statement.where);
        return { ...statement, assignments, where };
      }
      case 'delete':
        return { ...statement, where: statement.where && this.#condition(statement.where) };
      default:
        return statement;
    }
  }

  #query(query: Query): Query {
    const { body } = query;
    if (body.kind !== 'select' || body.where === undefined) return query;
    return { ...query, body: { ...body, where: this.#condition(body.where) } };
  }

  #source(source: Insert['source']): Insert['source'] {
    if (source.kind === 'query') return source;
    return { ...source, rows: source.rows.map((row) => row.map((value) => this.#stored(value))) };
  }

  #assignment(assignment: Assignment): Assignment {
    return { ...assignment, value: this.#stored(assignment.value) };
  }

  #stored(value: StoredExpression): StoredExpression {
    return value.kind === 'string' || value.kind === 'number' ? this.#share(value, true) : value;
  }

  #condition(condition: Expression): Expression {
    switch (condition.kind) {
      case 'and':
      case 'or':
        return { ...condition, terms: condition.terms.map((term) => this.#condition(term)) };
      case 'not':
        return { ...condition, operand: this.#condition(condition.operand) };
      case 'comparison': {
        const { left, right } = condition;
        if (left.kind === 'column') return { ...condition, right: this.#compared(right) };
        return right.kind === 'column' ? { ...condition, left: this.#compared(left) } : condition;
      }
      case 'between': {
        if (condition.operand.kind !== 'column') return condition;
        const { low, high } = condition;
        return { ...condition, low: this.#compared(low), high: this.#compared(high) };
      }
      case 'in': {
        const { operand, among } = condition;
        if (operand.kind !== 'column' || !isList(among)) return condition;
        return { ...condition, among: among.map((value) => this.#compared(value)) };
      }
      default:
        return condition;
    }
  }

  #compared(value: Expression): Expression {
    return value.kind === 'string' || value.kind === 'number' ? this.#share(value, false) : value;
  }
}
