import { present, unreachable } from '../assert.ts';
import type { CallError } from '../database/outcome.ts';
import { callErrorText } from '../doors/call-error-text.ts';
import { callWithJson } from '../doors/json-call.ts';
import { temporaryConnection } from '../host/supervision/temporary-connection.ts';
import { invalidParams } from '../mcp-protocol/rpc-error.ts';
import type { JsonSchema } from '../mcp-protocol/tool.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import { openDatabase } from './open-database.ts';
import { refusedConnectionText } from './refused-connection.ts';
import { structuredJson } from './structured.ts';
import {
  integerSchema,
  objectSchema,
  type ToolAnswer,
  type ToolContext,
  ToolFailure,
} from './tool.ts';

/** The structured result of a committed call. */
export const callOutputSchema: JsonSchema = objectSchema(
  { reducer: { type: 'string' }, committed: { const: true }, offset: integerSchema },
  { value: {} },
);

/** Reads the arguments of a reducer; absent and null mean none. */
export function positionalArguments(args: JsonObject): JsonValue[] {
  const given = args.get('args') ?? [];
  if (Array.isArray(given)) return given;
  throw invalidParams('args must be a JSON array');
}

export interface ReducerCall {
  readonly database: string;
  readonly reducer: string;
  /** A JSON array in parameter order, or an object by parameter name. */
  readonly args: JsonValue;
  /** Whether 64-bit and 128-bit integers in `args` may be quoted. */
  readonly isQuoted?: boolean;
}

/** Runs a reducer for a tool. `show` formats texts and values of the module. */
export async function callReducer(
  { database, ...given }: ReducerCall,
  context: ToolContext,
  show: (data: string) => string,
): Promise<ToolAnswer> {
  const { handle, caller } = openDatabase(database, context);
  const connection = temporaryConnection();
  const request = { ...given, caller, connection, confirmed: false };
  const { outcome, json } = await callWithJson(handle, request);
  const { reducer } = given;
  if (outcome.kind === 'aborted') {
    const { error } = outcome;
    const advice = error.code === 'reducer.overBudget' ? error.message : undefined;
    throw new ToolFailure(callFailureText(error, reducer, { value: json, show }), advice);
  }
  const done = `reducer '${reducer}' committed`;
  return {
    texts: [json === undefined ? done : `${done}: ${show(json)}`],
    structured: structuredJson({
      reducer: JSON.stringify(reducer),
      committed: 'true',
      offset: String(outcome.offset),
      value: json,
    }),
  };
}

export interface ModuleWords {
  /** The error value that the reducer threw, as JSON. */
  readonly value: string | undefined;
  show(data: string): string;
}

/** Explains to the caller why a reducer did not commit. */
export function callFailureText(
  error: CallError,
  reducer: string,
  { value, show }: ModuleWords,
): string {
  const words = callErrorText(error);
  switch (error.code) {
    case 'reducer.unknown':
    case 'reducer.notCallable':
    case 'arguments.invalid':
    case 'schema.changed':
      return words;
    case 'reducer.refusedWithValue':
      return `reducer '${reducer}' failed: ${show(present(value, 'the value of the error'))}`;
    case 'reducer.crashed':
      return `reducer '${reducer}' failed: ${words}`;
    case 'reducer.refused':
    case 'reducer.refusedWithoutValue':
      return `reducer '${reducer}' failed: ${show(words)}`;
    case 'reducer.overBudget':
      return `reducer '${reducer}' exceeded the energy budget`;
    case 'quota.exceeded':
    case 'call.readOnly':
      return show(words);
    case 'connection.refused':
      return refusedConnectionText(words, show);
    default:
      return unreachable(error);
  }
}
