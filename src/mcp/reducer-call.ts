import { present, unreachable } from '../assert.ts';
import type { CallError, ProcedureError } from '../database/outcome.ts';
import { callErrorText, procedureErrorText } from '../doors/call-error-text.ts';
import { idempotencyKeyOf } from '../doors/idempotency-key.ts';
import { callWithJson, type ProcedureAnswer, type ReducerAnswer } from '../doors/json-call.ts';
import { functionsHint } from '../doors/names-hint.ts';
import { temporaryConnection } from '../host/supervision/temporary-connection.ts';
import { invalidParams } from '../mcp-protocol/rpc-error.ts';
import type { JsonSchema } from '../mcp-protocol/tool.ts';
import { JsonObject, type JsonValue } from '../values/json.ts';
import { crashAdvice, parametersAdvice } from './call-advice.ts';
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

/** The structured result of a procedure that has returned. */
export const procedureOutputSchema: JsonSchema = objectSchema({
  procedure: { type: 'string' },
  value: {},
});

/** That of either. */
export const anyCallOutputSchema: JsonSchema = objectSchema(
  {},
  {
    reducer: { type: 'string' },
    committed: { const: true },
    offset: integerSchema,
    procedure: { type: 'string' },
    value: {},
  },
);

/**
 * Reads the arguments of a function: an array in parameter order, or an object by name. Absent and
 * null mean none.
 */
export function functionArguments(args: JsonObject): JsonValue[] | JsonObject {
  const given = args.get('args') ?? [];
  if (Array.isArray(given) || given instanceof JsonObject) return given;
  throw invalidParams('args must be a JSON array');
}

export interface FunctionCall {
  readonly database: string;
  /** Of a reducer, or of a procedure. */
  readonly name: string;
  /** A JSON array in parameter order, or an object by parameter name. */
  readonly args: JsonValue;
  /** As the caller wrote it. */
  readonly idempotencyKey?: string | undefined;
}

/** Runs a reducer or a procedure for a tool. `show` formats texts and values of the module. */
export async function callFunction(
  { database, idempotencyKey: key, ...given }: FunctionCall,
  context: ToolContext,
  show: (data: string) => string,
): Promise<ToolAnswer> {
  const open = openDatabase(database, context);
  const { handle, caller } = open;
  const connection = temporaryConnection();
  const keyed = key === undefined ? {} : { idempotencyKey: idempotencyKeyOf(key, caller) };
  const confirmed = context.session.confirms === true;
  const request = { ...given, ...keyed, caller, connection, confirmed };
  const shapes = { procedureShape: 'plain', reducerShape: 'plain' } as const;
  const options = { signal: () => context.signal, ...shapes };
  const since = Date.now();
  const answer = await callWithJson(handle, request, options);
  const called = { name: given.name, open, context, since };
  const advice = await adviceFor(answer, called, show);
  return answer.kind === 'reducer'
    ? reducerAnswer(given.name, answer, { show, advice })
    : procedureAnswer(given.name, answer, { show, advice });
}

type Called = Parameters<typeof crashAdvice>[0] & { readonly since: number };

/** Returns what helps the caller after a failure, if anything does. */
async function adviceFor(
  { name, outcome }: ReducerAnswer | ProcedureAnswer,
  called: Called,
  show: (data: string) => string,
): Promise<string | undefined> {
  if (!('error' in outcome)) return undefined;
  const { error } = outcome;
  switch (error.code) {
    case 'reducer.unknown':
    case 'procedure.unknown':
      return functionsHint(called.open.handle, called.open.caller.rights, called.name);
    case 'arguments.invalid':
      return parametersAdvice(called);
    case 'reducer.overBudget':
    case 'procedure.overBudget':
      return error.message;
    case 'reducer.crashed': {
      const reason = await crashAdvice({ ...called, name }, called.since);
      return reason && show(reason);
    }
    default:
      return undefined;
  }
}

/** How a tool presents an answer. */
interface Presentation {
  readonly advice: string | undefined;
  /** Formats texts and values of the module. */
  show(data: string): string;
}

function reducerAnswer(
  reducer: string,
  { outcome, json }: ReducerAnswer,
  { show, advice }: Presentation,
): ToolAnswer {
  if (outcome.kind === 'aborted') {
    const { error } = outcome;
    throw new ToolFailure(callFailureText(error, reducer, { value: json, show }), advice);
  }
  const { offset } = outcome;
  const result =
    json === undefined ? `{"offset":${offset}}` : show(`{"offset":${offset},"value":${json}}`);
  return {
    texts: [`reducer '${reducer}' committed`, result],
    structured: structuredJson({
      reducer: JSON.stringify(reducer),
      committed: 'true',
      offset: String(offset),
      value: json,
    }),
  };
}

function procedureAnswer(
  procedure: string,
  { outcome, json }: ProcedureAnswer,
  { show, advice }: Presentation,
): ToolAnswer {
  if (outcome.kind === 'failed') {
    const { error } = outcome;
    throw new ToolFailure(procedureFailureText(error, procedure, show), advice);
  }
  const value = present(json, 'the value of a procedure');
  return {
    texts: [`procedure '${procedure}' returned: ${show(value)}`],
    structured: structuredJson({ procedure: JSON.stringify(procedure), value }),
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
    case 'idempotency.refused':
    case 'idempotency.tooMany':
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

/** Explains to the caller why a procedure did not return. */
function procedureFailureText(
  error: ProcedureError,
  procedure: string,
  show: (data: string) => string,
): string {
  switch (error.code) {
    case 'procedure.failed':
      return `procedure '${procedure}' failed: ${show(error.message)}`;
    case 'procedure.overBudget':
      return `procedure '${procedure}' exceeded its budget`;
    case 'call.readOnly':
      return show(error.message);
    case 'connection.refused':
      return refusedConnectionText(error.message, show);
    case 'procedure.unknown':
    case 'procedure.stopped':
    case 'procedure.busy':
    case 'arguments.invalid':
    case 'schema.changed':
      return procedureErrorText(error);
    default:
      return unreachable(error);
  }
}
