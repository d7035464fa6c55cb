import { present } from '../assert.ts';
import type { CallOutcome, CallRequest } from '../database/outcome.ts';
import type { PreviewedWork, PreviewOutcome } from '../database/preview-outcome.ts';
import type { Lifecycle, ModuleDefinition, ReducerDefinition } from '../schema/definition.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { encodeValue } from '../values/encode.ts';
import {
  argumentsFromJson,
  argumentsFromQuotedJson,
  encodedToJson,
  JsonError,
  type JsonValue,
} from '../values/json.ts';
import type { DatabaseDescription, DatabaseHandle } from './database-handle.ts';

/** A call whose arguments are still the JSON that the caller sent. */
export interface JsonCall
  extends Pick<CallRequest, 'caller' | 'connection' | 'reducer' | 'confirmed'> {
  /** A JSON array in parameter order, or an object by parameter name. */
  readonly args: JsonValue;
  /** True: integers of 64 and 128 bits in `args` may stand in quotes. */
  readonly isQuoted?: boolean;
}

/** How a call went, and what it gave as JSON. */
export interface JsonAnswer {
  readonly outcome: CallOutcome;
  /**
   * The value that the reducer returned, or refused with; sums and products have their names, so
   * that it can be read without the schema. `undefined`: it gave none.
   */
  readonly json: string | undefined;
}

/** A publish can overtake a call only so often before the caller had better know. */
const attemptsMax = 5;

/**
 * Encodes a call's JSON arguments by the types of the running definition and makes the call; again
 * if a publish changed the definition in between.
 */
export async function callWithJson(handle: DatabaseHandle, call: JsonCall): Promise<JsonAnswer> {
  const { args, isQuoted, ...request } = call;
  for (let attempt = 1; ; attempt += 1) {
    const description = await handle.describe();
    const outcome = await handle.call({
      ...request,
      args: encodeArguments(description, call.reducer, args, isQuoted),
      schemaVersion: description.schemaVersion,
    });
    const isOvertaken = outcome.kind === 'aborted' && outcome.error.code === 'schema.changed';
    if (!isOvertaken || attempt === attemptsMax) {
      return { outcome, json: resultJson(description, call.reducer, outcome) };
    }
  }
}

/** `description` is the one that the call was made for. */
function resultJson(
  { definition }: DatabaseDescription,
  name: string,
  outcome: CallOutcome,
): string | undefined {
  const value = resultOf(outcome);
  if (value === undefined) return undefined;
  return valueJson(definition, name, outcome.kind === 'committed' ? 'returns' : 'throws', value);
}

/** A value that a reducer returned, or refused with. */
function valueJson(
  definition: ModuleDefinition,
  name: string,
  how: 'returns' | 'throws',
  value: Uint8Array,
): string {
  const reducer = present(findReducer(definition, name), 'a reducer that ran');
  const type = present(reducer[how], 'the type of its value');
  return encodedToJson(type, new BinaryReader(value), 'named', definition.typespace);
}

/** What a call would do, with what is needed to have it done. */
export interface JsonPreview {
  readonly outcome: PreviewOutcome;
  /** The request, to be applied as it is. */
  readonly work: PreviewedWork;
  /** As `JsonAnswer.json`. */
  readonly json: string | undefined;
}

/** `callWithJson` for a call that is only tried. */
export async function previewWithJson(
  handle: DatabaseHandle,
  call: JsonCall,
  rowsMax?: number,
): Promise<JsonPreview> {
  for (let attempt = 1; ; attempt += 1) {
    const description = await handle.describe();
    const encoded = {
      ...call,
      args: encodeArguments(description, call.reducer, call.args),
      schemaVersion: description.schemaVersion,
    };
    const work = { kind: 'call', call: encoded } as const;
    const outcome = await handle.preview({ work, ...(rowsMax === undefined ? {} : { rowsMax }) });
    if (!isOvertaken(outcome) || attempt === attemptsMax) {
      return { outcome, work, json: previewJson(description, call.reducer, outcome) };
    }
  }
}

function isOvertaken(outcome: PreviewOutcome): boolean {
  const result = 'preview' in outcome ? outcome.preview.result : undefined;
  return result?.kind === 'callFailed' && result.error.code === 'schema.changed';
}

/** The value that a tried or applied call gave; `description` is the one that it was made for. */
export function previewJson(
  { definition }: DatabaseDescription,
  name: string,
  outcome: PreviewOutcome,
): string | undefined {
  if (!('preview' in outcome)) return undefined;
  const { result } = outcome.preview;
  if (result.kind === 'returned') {
    return result.value && valueJson(definition, name, 'returns', result.value);
  }
  const isThrown = result.kind === 'callFailed' && result.error.code === 'reducer.refusedWithValue';
  return isThrown ? valueJson(definition, name, 'throws', result.error.value) : undefined;
}

/** The encoded value that a call gave, one way or the other. */
export function resultOf(outcome: CallOutcome): Uint8Array | undefined {
  if (outcome.kind === 'committed') return outcome.value;
  const { error } = outcome;
  return error.code === 'reducer.refusedWithValue' ? error.value : undefined;
}

/** The arguments of a call by the parameters of `name`, or why they cannot be encoded. */
export function encodeArguments(
  { definition }: DatabaseDescription,
  name: string,
  args: JsonValue,
  isQuoted = false,
): CallRequest['args'] {
  const reducer = findReducer(definition, name);
  if (reducer === undefined) return { fault: 'no such reducer' };
  try {
    const read = isQuoted ? argumentsFromQuotedJson : argumentsFromJson;
    const values = read(reducer.params, args, name, definition.typespace);
    return encodeValue(reducer.params, values, definition.typespace);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { fault: error.message };
  }
}

export function findReducer(
  definition: ModuleDefinition,
  name: string,
): ReducerDefinition | undefined {
  return definition.reducers.find((reducer) => reducer.name === name);
}

/** The text for a caller who names a lifecycle reducer. */
export function lifecycleText(lifecycle: Lifecycle): string {
  return `can't directly call special ${lifecycleWords[lifecycle]} lifecycle reducer`;
}

const lifecycleWords = { init: 'Init', onConnect: 'OnConnect', onDisconnect: 'OnDisconnect' };
