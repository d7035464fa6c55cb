import type { Random } from '../../../src/testing/random.ts';
import type { Kind, Range } from './kinds.ts';
import { type Expression, expression, type Query } from './tree.ts';

export interface ScopeColumn {
  readonly name: string;
  readonly kind: Kind;
  readonly isNullable: boolean;
  /** Our engine keeps it as an Option, and reads it as `name.some`. */
  readonly isOption: boolean;
  readonly range: Range | undefined;
  readonly isAscii: boolean;
  readonly isStable: boolean;
  readonly isDyadic: boolean;
}

/** Something in FROM. */
export interface ScopeRelation {
  readonly alias: string;
  readonly columns: readonly ScopeColumn[];
  /** About how many rows it has. */
  readonly rows: number;
}

/** What an expression may name at its place. */
export interface Scope {
  readonly random: Random;
  /** Whole columns, or what a grouped query has instead of them. */
  readonly atoms: readonly Expression[];
  /** Columns of queries around this one. */
  readonly outerAtoms: readonly Expression[];
  /** What subqueries may read from. */
  readonly sources: readonly ScopeRelation[];
  /** How often the expression is evaluated, about: subqueries are chosen to fit. */
  readonly rows: number;
  /** Whether an expression may raise an error for some row. */
  readonly mayRaise: boolean;
  /** Levels of subqueries that may still come. */
  readonly depth: number;
  /** Gives names that no other part of the statement has. */
  readonly names: Names;
  readonly subqueries: SubqueryMaker;
}

/** Queries inside of expressions; `undefined` where none fits. */
export interface SubqueryMaker {
  /** A query of one column and at most one row. */
  scalar(scope: Scope, kind: Kind): ScalarQuery | undefined;
  /** A query of one column of the kind. */
  column(scope: Scope, kind: Kind): Query | undefined;
  /** A query of columns of these kinds. */
  columns(scope: Scope, kinds: readonly Kind[]): Query | undefined;
  /** A query of any shape. */
  any(scope: Scope): Query | undefined;
}

export interface ScalarQuery {
  readonly query: Query;
  /** Its only column. */
  readonly item: Expression;
}

export class Names {
  #last = 0;

  next(prefix: string): string {
    this.#last += 1;
    return `${prefix}${this.#last}`;
  }
}

/** The columns of the relations, qualified where a join demands it. */
export function atomsOf(relations: readonly ScopeRelation[], isQualified: boolean): Expression[] {
  return relations.flatMap(({ alias, columns }) =>
    columns.map((column) => columnAtom(column, isQualified ? `${alias}.` : '')),
  );
}

export function columnAtom(column: ScopeColumn, prefix: string): Expression {
  const name = `${prefix}${column.name}`;
  const { kind, isNullable, isOption, range, isAscii, isStable, isDyadic } = column;
  // Of what an Option holds, both spellings.
  const isWritten = isOption && /[02468]$/.test(column.name);
  const parts = isWritten ? [{ ours: `${name}.some`, postgres: name }] : [name];
  const given = { isNullable, range, isAscii, isStable, isDyadic, isLoose: false, isColumn: true };
  const atom = expression(kind, parts, given);
  return isOption ? { ...atom, whole: name } : atom;
}

/** All that can be named, with the columns of queries around it one time in four. */
export function nameable(scope: Scope): readonly Expression[] {
  const { random, atoms, outerAtoms } = scope;
  return outerAtoms.length > 0 && random.chance(0.25) ? [...atoms, ...outerAtoms] : atoms;
}
