import { unreachable } from '../assert.ts';

/** Why a statement was refused. The texts are part of the contract with clients. */
export type StatementError = ErrorParts &
  (
    | { readonly code: 'sql.noTable'; readonly table: string; readonly message: string }
    | { readonly code: 'sql.notAuthorized'; readonly message: string }
    | { readonly code: 'sql.invalid'; readonly message: string }
    | { readonly code: 'sql.overBudget'; readonly message: string }
    /** Too much is running; the same statement may succeed later. */
    | { readonly code: 'sql.busy'; readonly message: string }
    /** The database holds as much as it is allowed to. */
    | { readonly code: 'quota.exceeded'; readonly message: string }
    /** A value of the request does not fit the place of its parameter. */
    | { readonly code: 'sql.invalidParameter'; readonly message: string }
    /** `AS OF` names another moment than the present. */
    | { readonly code: 'sql.noHistory'; readonly message: string }
  );

/** What a door can show beside the message, whose text is fixed. */
interface ErrorParts {
  readonly place?: TextPosition;
  /** A sentence of advice: "Did you mean `users`?" */
  readonly hint?: string;
}

/** The parts as callers pass them: an unknown part is `undefined` and left out. */
export type ErrorDetail = { readonly [part in keyof ErrorParts]?: ErrorParts[part] | undefined };

/** A position in a statement: lines and columns count from 1, columns in characters. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** The only error class of this room: anything about the statement, its author or its cost. */
export class SqlFailure extends Error {
  override readonly name = 'SqlFailure';
  readonly error: StatementError;

  constructor(error: StatementError) {
    super(error.message);
    this.error = error;
  }
}

/** A statement that cannot be run as written: syntax, types, names other than tables. */
export function invalid(message: string, detail: ErrorDetail = {}): SqlFailure {
  return new SqlFailure({ code: 'sql.invalid', message, ...partsOf(detail) });
}

function partsOf({ place, hint }: ErrorDetail): ErrorParts {
  return { ...(place !== undefined && { place }), ...(hint !== undefined && { hint }) };
}

/** One text for a table that does not exist and one that may not be read: they look the same. */
export function noSuchTable(table: string, detail: ErrorDetail = {}): SqlFailure {
  const message = `no such table: \`${table}\`. If the table exists, it may be marked private.`;
  return new SqlFailure({ code: 'sql.noTable', table, message, ...partsOf(detail) });
}

/** `identity` in 64 hex digits. */
export function notAuthorized(identity: string): SqlFailure {
  const message = `Caller ${identity} is not authorized to run SQL DML statements`;
  return new SqlFailure({ code: 'sql.notAuthorized', message });
}

/** The refusal of a statement whose effect its caller must see before it is made. */
export function writesByPreviewFailure(): SqlFailure {
  const message =
    'This token can only write by applying a preview: use preview_sql, then apply_preview';
  return new SqlFailure({ code: 'sql.notAuthorized', message });
}

/** `AS OF` is parsed and refused: no past rows are kept. */
export function noHistory(detail: ErrorDetail = {}): SqlFailure {
  const message =
    'AS OF is not supported: this database keeps no history yet. Only current rows can be read';
  return new SqlFailure({ code: 'sql.noHistory', message, ...partsOf(detail) });
}

/** A value of the request that does not fit the place of its parameter. */
export function badParameter(message: string): SqlFailure {
  return new SqlFailure({ code: 'sql.invalidParameter', message });
}

export function overBudget(message: string): SqlFailure {
  return new SqlFailure({ code: 'sql.overBudget', message });
}

/** A result with more than `most` rows or bytes; `advice` is what makes it smaller. */
export function resultTooLarge(most: string, advice: string): SqlFailure {
  return overBudget(`The result has more than ${most}; ${advice}`);
}

/**
 * Two types that should be equal: `actual` was written, `required` is what its place needs.
 */
export function unexpectedType(actual: string, required: string): SqlFailure {
  return invalid(`Unexpected type: (expected) ${actual} != ${required} (inferred)`);
}

/** The limit of recursion that was exceeded: that of the parser or that of the typed check. */
export function recursionLimit(stage: 'parse' | 'type'): string {
  return `Recursion limit exceeded, \`${stageName(stage)}\``;
}

function stageName(stage: 'parse' | 'type'): string {
  switch (stage) {
    case 'parse':
      return 'sql-parser::parse_expr';
    case 'type':
      return 'expr::type_expr';
    default:
      return unreachable(stage);
  }
}
