import { present } from '../assert.ts';
import {
  type CallError,
  type CallOutcome,
  type CallRequest,
  refusal,
} from '../database/outcome.ts';
import type { Preview, PreviewedWork, PreviewOutcome } from '../database/preview-outcome.ts';
import type { DatabaseDescription, DatabaseHandle } from '../host/supervision/database-handle.ts';
import { limits } from '../limits.ts';
import type { ModuleDefinition, ReducerDefinition } from '../schema/definition.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { encodeValue } from '../values/encode.ts';
import {
  argumentsFromJson,
  argumentsFromQuotedJson,
  encodeArgumentsSteps,
  encodedToJson,
  encodedToJsonSteps,
  encodedToShortJson,
  isHeavy,
  JsonError,
  JsonTooLongError,
  type JsonValue,
} from '../values/json.ts';
import type { AlgebraicType } from '../values/type.ts';
import { noSuchReducerText } from './call-error-text.ts';
import { inSlices } from './slices.ts';

/** A call whose arguments are still the JSON that the caller sent. */
export interface JsonCall
  extends Pick<CallRequest, 'caller' | 'connection' | 'reducer' | 'confirmed'> {
  /** A JSON array in parameter order, or an object by parameter name. */
  readonly args: JsonValue;
  /** True: integers of 64 and 128 bits in `args` can be quoted. */
  readonly isQuoted?: boolean;
}

/** The outcome of a call, and its value as JSON. */
export interface JsonAnswer {
  readonly outcome: CallOutcome;
  /**
   * The value that the reducer returned, or refused with; sums and products carry their names, so
   * that it can be read without the schema. `undefined`: there was none.
   */
  readonly json: string | undefined;
}

/** How often a publish can overtake a call before the caller gets an error. */
const attemptsMax = 5;

/** Makes the call, with its arguments encoded by the types of the running definition. */
export async function callWithJson(handle: DatabaseHandle, call: JsonCall): Promise<JsonAnswer> {
  const { description, outcome } = await withEncoded(handle, call, async (request) => {
    const outcome = await handle.call(request);
    return { outcome, error: outcome.kind === 'aborted' ? outcome.error : undefined };
  });
  try {
    return { outcome, json: await resultJson(description, call.reducer, outcome) };
  } catch (error) {
    if (!(error instanceof JsonTooLongError)) throw error;
    const happened =
      outcome.kind === 'committed' ? 'was committed' : 'was refused, changing nothing';
    throw refusal('value.tooLong', `The call ${happened}, but ${error.message}.`);
  }
}

/** The expected outcome of a call, and what is needed to apply it. */
export interface JsonPreview {
  readonly outcome: PreviewOutcome;
  /** The request, to be applied as it is. */
  readonly work: Extract<PreviewedWork, { kind: 'call' }>;
  /** The definition that the call was encoded for. */
  readonly description: DatabaseDescription;
}

/** `callWithJson` for a call that is only previewed; `previewJson` gives its value. */
export async function previewWithJson(
  handle: DatabaseHandle,
  call: JsonCall,
  rowsMax?: number,
): Promise<JsonPreview> {
  const { description, request, outcome } = await withEncoded(handle, call, async (request) => {
    const work = { kind: 'call', call: request } as const;
    const outcome = await handle.preview({ work, ...(rowsMax === undefined ? {} : { rowsMax }) });
    const result = 'preview' in outcome ? outcome.preview.result : undefined;
    return { outcome, error: result?.kind === 'callFailed' ? result.error : undefined };
  });
  return { outcome, work: { kind: 'call', call: request }, description };
}

/** The value of a previewed or an applied call; `description` is the one that it was made for. */
export function previewJson(
  { definition }: DatabaseDescription,
  name: string,
  { result }: Preview,
): string | undefined {
  if (result.kind === 'returned') {
    return result.value && valueJson(definition, name, 'returns', result.value);
  }
  const isThrown = result.kind === 'callFailed' && result.error.code === 'reducer.refusedWithValue';
  return isThrown ? valueJson(definition, name, 'throws', result.error.value) : undefined;
}

/** Runs a call with encoded arguments; again if a publish changed the definition in between. */
async function withEncoded<Outcome>(
  handle: DatabaseHandle,
  call: JsonCall,
  run: (request: CallRequest) => Promise<{ outcome: Outcome; error: CallError | undefined }>,
) {
  const { args, isQuoted, ...asked } = call;
  for (let attempt = 1; ; attempt += 1) {
    const description = await handle.describe();
    const request = {
      ...asked,
      args: isHeavy(args)
        ? await encodeInSlices(description, call.reducer, args, isQuoted)
        : encodeArguments(description, call.reducer, args, isQuoted),
      schemaVersion: description.schemaVersion,
    };
    const { outcome, error } = await run(request);
    if (error?.code !== 'schema.changed' || attempt === attemptsMax) {
      return { description, request, outcome };
    }
  }
}

/** `description` is the one that the call was made for. */
function resultJson(
  description: DatabaseDescription,
  name: string,
  outcome: CallOutcome,
): string | undefined | Promise<string> {
  const definition = flatDefinition(description.definition);
  const value = resultOf(outcome);
  if (value === undefined) return undefined;
  const how = outcome.kind === 'committed' ? 'returns' : 'throws';
  const type = typeOf(definition, name, how);
  const { typespace } = definition;
  const { wholeTextCharactersMax } = limits;
  const short =
    value.length <= wholeTextCharactersMax
      ? encodedToShortJson(
          type,
          new BinaryReader(value),
          'named',
          wholeTextCharactersMax,
          typespace,
        )
      : undefined;
  return short ?? inSlices(encodedToJsonSteps(type, new BinaryReader(value), 'named', typespace));
}

/** A value that a reducer returned, or refused with. */
function valueJson(
  nested: ModuleDefinition,
  name: string,
  how: 'returns' | 'throws',
  value: Uint8Array,
): string {
  const definition = flatDefinition(nested);
  const type = typeOf(definition, name, how);
  return encodedToJson(type, new BinaryReader(value), 'named', definition.typespace);
}

function typeOf(
  definition: ModuleDefinition,
  name: string,
  how: 'returns' | 'throws',
): AlgebraicType {
  const reducer = present(findReducer(definition, name), 'a reducer that ran');
  return present(reducer[how], 'the type of its value');
}

/** The encoded value that a call returned, or was refused with. */
export function resultOf(outcome: CallOutcome): Uint8Array | undefined {
  if (outcome.kind === 'committed') return outcome.value;
  const { error } = outcome;
  return error.code === 'reducer.refusedWithValue' ? error.value : undefined;
}

/** The arguments of a call by the parameters of `name`, or why they cannot be encoded. */
export function encodeArguments(
  description: DatabaseDescription,
  name: string,
  args: JsonValue,
  isQuoted = false,
): CallRequest['args'] {
  const definition = flatDefinition(description.definition);
  const reducer = findReducer(definition, name);
  if (reducer === undefined) return { fault: noSuchReducerText };
  try {
    const read = isQuoted ? argumentsFromQuotedJson : argumentsFromJson;
    const values = read(reducer.params, args, name, definition.typespace);
    return encodeValue(reducer.params, values, definition.typespace);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { fault: error.message };
  }
}

/** `encodeArguments` for arguments that can take a long time. */
export async function encodeInSlices(
  description: DatabaseDescription,
  functionName: string,
  args: JsonValue,
  isQuoted = false,
): Promise<CallRequest['args']> {
  const definition = flatDefinition(description.definition);
  const reducer = findReducer(definition, functionName);
  if (reducer === undefined) return { fault: noSuchReducerText };
  const { typespace } = definition;
  const encoding = { params: reducer.params, functionName, typespace, isQuoted };
  try {
    return await inSlices(encodeArgumentsSteps(args, encoding));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { fault: error.message };
  }
}

/** `definition` is flat (`flatDefinition`): its typespace is that of all its reducers. */
export function findReducer(
  definition: ModuleDefinition,
  name: string,
): ReducerDefinition | undefined {
  return definition.reducers.find((reducer) => reducer.name === name);
}
