import type { CallOutcome, CallRequest } from '../database/outcome.ts';
import type { Lifecycle, ModuleDefinition, ReducerDefinition } from '../schema/definition.ts';
import { encodeValue } from '../values/encode.ts';
import { argumentsFromJson, JsonError, type JsonValue } from '../values/json.ts';
import type { DatabaseDescription, DatabaseHandle } from './database-handle.ts';

/** A call whose arguments are still the JSON that the caller sent. */
export interface JsonCall
  extends Pick<CallRequest, 'caller' | 'connection' | 'reducer' | 'confirmed'> {
  /** A JSON array in parameter order, or an object by parameter name. */
  readonly args: JsonValue;
}

/** A publish can overtake a call only so often before the caller had better know. */
const attemptsMax = 5;

/**
 * Encodes a call's JSON arguments by the types of the running definition and makes the call; again
 * if a publish changed the definition in between.
 */
export async function callWithJson(handle: DatabaseHandle, call: JsonCall): Promise<CallOutcome> {
  for (let attempt = 1; ; attempt += 1) {
    const description = await handle.describe();
    const outcome = await handle.call({
      ...call,
      args: encodeArguments(description, call.reducer, call.args),
      schemaVersion: description.schemaVersion,
    });
    const isOvertaken = outcome.kind === 'aborted' && outcome.error.code === 'schema.changed';
    if (!isOvertaken || attempt === attemptsMax) return outcome;
  }
}

/** The arguments of a call by the parameters of `name`, or why they cannot be encoded. */
export function encodeArguments(
  { definition }: DatabaseDescription,
  name: string,
  args: JsonValue,
): CallRequest['args'] {
  const reducer = findReducer(definition, name);
  if (reducer === undefined) return { fault: 'no such reducer' };
  try {
    const values = argumentsFromJson(reducer.params, args, name, definition.typespace);
    return encodeValue(reducer.params, values, definition.typespace);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { fault: error.message };
  }
}

function findReducer(definition: ModuleDefinition, name: string): ReducerDefinition | undefined {
  return definition.reducers.find((reducer) => reducer.name === name);
}

/** The text for a caller who names a lifecycle reducer. */
export function lifecycleText(lifecycle: Lifecycle): string {
  return `can't directly call special ${lifecycleWords[lifecycle]} lifecycle reducer`;
}

const lifecycleWords = { init: 'Init', onConnect: 'OnConnect', onDisconnect: 'OnDisconnect' };
