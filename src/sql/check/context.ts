import { limits } from '../../limits.ts';
import type { ViewId } from '../../schema/ids.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { AlgebraicType, Typespace } from '../../values/type.ts';
import { typesEqual } from '../../values/typespace.ts';
import { type ErrorDetail, invalid, type SqlFailure, unexpectedType } from '../failure.ts';
import { optionInnerType } from '../functions/convert.ts';
import type { ValueType } from '../functions/value-type.ts';
import type { WindowFrame, WindowFunction } from '../functions/windows.ts';
import type { Rights } from '../rights.ts';
import type { SqlSchema } from '../schema.ts';
import type { Expression, NamedWindow, Span } from '../syntax/ast.ts';
import type { SourceText } from '../syntax/source-text.ts';
import type { Scope } from './scope.ts';
import { isLiteralName } from './shared-literals.ts';
import { shownType } from './shown-type.ts';
import { depthOfQuery, sizeOfExpression, sizeOfQuery } from './size.ts';
import { Structures } from './structures.ts';
import type {
  ParameterSpec,
  StatementParts,
  TypedAggregate,
  TypedExpression,
  TypedParameter,
  TypedQuery,
} from './typed.ts';

/** The schema and the caller that a statement is checked for. */
export interface CheckScope {
  readonly schema: SqlSchema;
  readonly rights: Rights;
  /** The caller that a refusal names; a typed statement knows none, `:sender` is its parameter. */
  readonly identity: CallerIdentity;
  /** Names of the parameters that the request has values for, without `$` or `:`. */
  readonly parameterNames: ReadonlySet<string>;
}

/** State of one statement's check: one object for all its queries and filters. */
export class StatementContext {
  readonly schema: SqlSchema;
  readonly rights: Rights;
  readonly typespace: Typespace;
  /**
   * Items of SELECT lists with an open type, and how they were written: an operation that combines
   * the query with another may still give them a type.
   */
  readonly openItems = new Map<TypedExpression, OpenItem>();
  /** Slots of tables: only their columns are strict about comparing numbers. */
  readonly tableSlots = new Set<number>();
  /** Finds expressions that are written twice. */
  readonly structures = new Structures();
  readonly #parameters: ParameterSpec[] = [];
  readonly #unresolved: UnresolvedParameter[] = [];
  readonly #views = new Set<ViewId>();
  #slotCount = 0;
  #valueCount = 0;
  #commonTableCount = 0;
  #repeatedCount = 0;

  constructor(schema: SqlSchema, rights: Rights) {
    this.schema = schema;
    this.rights = rights;
    this.typespace = { types: schema.types };
  }

  newSlot(): number {
    if (this.#slotCount >= limits.sqlRelationsMax) {
      throw invalid(
        `The statement has more than ${limits.sqlRelationsMax} relations, including ` +
          'those of its subqueries and row filters',
      );
    }
    return this.#slotCount++;
  }

  newCommonTable(): number {
    return this.#commonTableCount++;
  }

  /** Reserves `count` consecutive values and returns the first. */
  newValues(count: number): number {
    const first = this.#valueCount;
    this.#valueCount += count;
    return first;
  }

  noteView(id: ViewId): void {
    this.#views.add(id);
  }

  /** `name` is `undefined` for the caller's identity. */
  parameter(name: string | undefined, type: AlgebraicType, refusesNull = false): TypedParameter {
    // Null is a value of an Option: its none.
    const isOption = optionInnerType(type, this.typespace) !== undefined;
    const isNeverNull = refusesNull || (name !== undefined && isLiteralName(name));
    const isNullable = name !== undefined && !isNeverNull && !isOption;
    return { kind: 'parameter', parameter: this.#spec(name, type, isNeverNull), type, isNullable };
  }

  /** A parameter whose place says nothing about its type; another of its places may. */
  unresolvedParameter(name: string, error: SqlFailure): TypedParameter {
    // Negative numbers of their own keep two of them apart until then.
    const parameter = -1 - this.#unresolved.length;
    const node = { kind: 'parameter', parameter, type: unknownType, isNullable: true } as const;
    this.#unresolved.push({ node, name, error });
    return node;
  }

  /**
   * Bounds repeated expressions: `expression` occurs `times` times more than written. Without this,
   * nested BETWEENs would double at each level.
   */
  noteRepetition(expression: TypedExpression, times: number): void {
    this.#repeatedCount += sizeOfExpression(expression) * times;
    if (this.#repeatedCount <= limits.sqlExpressionsMax) return;
    throw invalid('The statement is too large: BETWEEN or CASE repeats large expressions');
  }

  /** Common tables that name each other would double at each level, for all later stages. */
  requireBounded(query: TypedQuery): void {
    if (depthOfQuery(query) > limits.sqlTypedDepthMax) {
      throw invalid('The statement is too deep: its chain of common tables is too long');
    }
    if (sizeOfQuery(query) <= limits.sqlExpressionsMax) return;
    throw invalid('The statement is too large: its common tables are used too often');
  }

  finish(): StatementParts {
    for (const { node, name, error } of this.#unresolved) {
      const at = this.#parameters.findIndex((spec) => spec.name === name);
      const spec = this.#parameters[at];
      if (spec === undefined) throw error;
      Object.assign(node, { parameter: at, type: spec.type, isNullable: !spec.refusesNull });
    }
    return {
      slotCount: this.#slotCount,
      valueCount: this.#valueCount,
      parameters: this.#parameters,
      views: [...this.#views],
    };
  }

  #spec(name: string | undefined, type: AlgebraicType, refusesNull: boolean): number {
    const known = this.#parameters.findIndex(
      (spec) =>
        spec.name === name &&
        spec.refusesNull === refusesNull &&
        typesEqual(spec.type, type, this.typespace),
    );
    if (known !== -1) return known;
    return this.#parameters.push({ name, type, refusesNull }) - 1;
  }
}

const unknownType: AlgebraicType = { kind: 'string' };

interface UnresolvedParameter {
  readonly node: TypedParameter;
  readonly name: string;
  readonly error: SqlFailure;
}

export interface OpenItem {
  readonly expression: Expression;
  readonly environment: Environment;
}

/** The place of an expression: what its names can mean there. */
export interface Environment {
  readonly statement: StatementContext;
  /** The text that spans refer to. */
  readonly source: SourceText;
  /** False inside a filter: the caller did not write that text and must not see into it. */
  readonly showsPlaces: boolean;
  readonly scope: Scope;
  readonly commonTables: CommonTableList | undefined;
  /** Where aggregates are collected, or why none are allowed. */
  readonly aggregates: Aggregates | string;
  /** Where window functions are collected; absent where none are allowed. */
  readonly windows?: WindowCalls | undefined;
  /** The meaning of unqualified names that are not columns: items of the SELECT list. */
  readonly aliases: ReadonlyMap<string, TypedExpression> | undefined;
  /** False in the subscription dialect, which has no fields of columns. */
  readonly takesFields: boolean;
  /** Tables whose filters are being expanded here, outermost first. */
  readonly expanding: readonly number[];
}

/** A linked list, innermost first. */
export interface CommonTableList {
  readonly name: string;
  readonly table: () => CommonTableUse;
  readonly outer: CommonTableList | undefined;
}

export interface CommonTableUse {
  readonly query: TypedQuery;
  /** Names of its columns, if WITH gives them. */
  readonly columns: readonly string[];
  readonly commonTable: number | undefined;
}

/** The aggregates of one query block, keyed by the node that stands for each in expressions. */
export type Aggregates = Map<TypedExpression, TypedAggregate>;

/** The window functions of one query block, keyed by the node that stands for each. */
export interface WindowCalls {
  readonly calls: Map<TypedExpression, WindowCall>;
  /** Of the WINDOW clause. */
  readonly named: readonly NamedWindow[];
}

export interface WindowCall {
  readonly function: WindowFunction;
  readonly arguments: readonly TypedExpression[];
  readonly partition: readonly TypedExpression[];
  readonly order: readonly {
    readonly expression: TypedExpression;
    readonly isDescending: boolean;
    readonly isNullsFirst: boolean;
  }[];
  readonly frame: WindowFrame;
  readonly result: ValueType;
}

/** A refusal with its place in the statement. */
export function refuse(message: string, span: Span, written: Written, hint?: string): SqlFailure {
  return invalid(message, detailOf(span, written, hint));
}

export type Written = Pick<Environment, 'source' | 'showsPlaces'>;

export function detailOf(span: Span, written: Written, hint?: string): ErrorDetail {
  if (!written.showsPlaces) return {};
  return { place: written.source.place(span), hint };
}

export function mismatch(
  actual: AlgebraicType,
  required: AlgebraicType,
  span: Span,
  environment: Environment,
  hint?: string,
): SqlFailure {
  const { typespace } = environment.statement;
  const { message } = unexpectedType(shownType(actual, typespace), shownType(required, typespace));
  return refuse(message, span, environment, hint);
}

export function equalTypes(a: AlgebraicType, b: AlgebraicType, { statement }: Environment) {
  return typesEqual(a, b, statement.typespace);
}

export const boolType: AlgebraicType = { kind: 'bool' };
export const stringType: AlgebraicType = { kind: 'string' };
export const u64Type: AlgebraicType = { kind: 'u64' };
export const boolValue: ValueType = { type: boolType, isNullable: false };
