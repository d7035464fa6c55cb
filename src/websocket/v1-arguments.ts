import type { DatabaseDescription } from '../database/description.ts';
import {
  type DeclaredFunction,
  type EncodedFunction,
  encodeArguments,
  encodeInSlices,
  functionOf,
} from '../doors/json-call.ts';
import { inSlices } from '../doors/slices.ts';
import type { LiveCall } from '../host/feeds/live-connection.ts';
import { limits } from '../limits.ts';
import { hasTooManyParts } from '../protocol/v1/client-text.ts';
import { JsonError, parseJson, parseJsonSteps } from '../values/json.ts';

type Encoded = LiveCall['args'];

/** Converts a call's JSON arguments, or returns their fault; long ones are parsed in slices. */
export function argumentsFromText(
  description: DatabaseDescription,
  kind: DeclaredFunction['kind'],
  name: string,
  json: string,
): Encoded | Promise<Encoded> {
  const called = functionOf(description, kind, name);
  if ('fault' in called) return called;
  if (json.length > limits.wholeTextCharactersMax) return fromLong(called, json);
  try {
    return encodeArguments(called, parseJson(json));
  } catch (error) {
    return faultOf(error);
  }
}

async function fromLong(called: EncodedFunction, json: string): Promise<Encoded> {
  const { socketArgumentPartsMax: partsMax } = limits;
  if (await inSlices(hasTooManyParts(json, partsMax))) {
    return { fault: `the arguments have more than ${partsMax} parts` };
  }
  try {
    const value = await inSlices(parseJsonSteps(json));
    return await encodeInSlices(called, value);
  } catch (error) {
    return faultOf(error);
  }
}

function faultOf(error: unknown): Encoded {
  if (!(error instanceof JsonError)) throw error;
  return { fault: error.message };
}
