import { present } from '../assert.ts';
import {
  type CallError,
  type CallOutcome,
  type CallRequest,
  type ProcedureOutcome,
  type ProcedureRequest,
  refusal,
} from '../database/outcome.ts';
import type {
  Preview,
  PreviewedWork,
  PreviewOutcome,
  PreviewRequest,
} from '../database/preview-outcome.ts';
import type { DatabaseDescription, DatabaseHandle } from '../host/supervision/database-handle.ts';
import { limits } from '../limits.ts';
import type {
  ModuleDefinition,
  ProcedureDefinition,
  ReducerDefinition,
} from '../schema/definition.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { encodeValue } from '../values/encode.ts';
import {
  argumentsFromJson,
  argumentsFromLooseJson,
  encodeArgumentsSteps,
  encodedToJson,
  encodedToJsonSteps,
  encodedToShortJson,
  isHeavy,
  JsonError,
  type JsonShape,
  JsonTooLongError,
  type JsonValue,
  UnfitJsonError,
} from '../values/json.ts';
import { argumentsFaultText, type ReadTypes } from '../values/json-explain.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { noSuchProcedureText, noSuchReducerText } from './call-error-text.ts';
import { procedureKeyRefusal } from './idempotency-key.ts';
import { argumentTypespace } from './left-out.ts';
import { inSlices } from './slices.ts';

/** A call whose arguments are still the JSON that the caller sent. */
export interface JsonCall
  extends Pick<CallRequest, 'caller' | 'connection' | 'confirmed' | 'idempotencyKey'> {
  /** Full name of a reducer, or of a procedure: the canonical one, or that of the module. */
  readonly name: string;
  /** A JSON array in parameter order, or an object by parameter name; people or agents wrote it. */
  readonly args: JsonValue;
}

/** The outcome of a call, and its value as JSON. */
export type JsonAnswer = ReducerAnswer | ProcedureAnswer;

export interface ReducerAnswer {
  readonly kind: 'reducer';
  /** Canonical. */
  readonly name: string;
  readonly outcome: CallOutcome;
  /** The value that the reducer returned, or refused with. `undefined`: there was none. */
  readonly json: string | undefined;
}

export interface ProcedureAnswer {
  readonly kind: 'procedure';
  /** Canonical. */
  readonly name: string;
  readonly outcome: ProcedureOutcome;
  /** The value that it returned; `undefined`: it failed. */
  readonly json: string | undefined;
}

export interface CallOptions {
  /** Gives what is aborted when the caller is gone. A reducer runs anyway: it is not asked for. */
  readonly signal: () => AbortSignal;
  /** How the value of a procedure is written. */
  readonly procedureShape: JsonShape;
  /** How the value of a reducer is written, which it returned or refused with; by default named. */
  readonly reducerShape?: JsonShape;
}

/** How often a publish can overtake a call before the caller gets an error. */
const attemptsMax = 5;

/**
 * Makes the call, with its arguments encoded by the types of the running definition. That also
 * decides what the name means: a reducer, or else a procedure. What names neither is asked for as a
 * reducer, so that the module's log notes it.
 */
export async function callWithJson(
  handle: DatabaseHandle,
  call: JsonCall,
  options: CallOptions,
): Promise<JsonAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const description = await handle.describe();
    const isLast = attempt === attemptsMax;
    const definition = flatDefinition(description.definition);
    const named = { ...call, name: canonicalName(definition, call.name) };
    const declared = findFunction(definition, named.name);
    const answer =
      declared?.kind === 'procedure'
        ? await callProcedure(handle, description, named, declared, options)
        : await callReducer(handle, description, named, options);
    if (isLast || errorOf(answer)?.code !== 'schema.changed') return answer;
  }
}

function errorOf({ outcome }: JsonAnswer) {
  return 'error' in outcome ? outcome.error : undefined;
}

async function callReducer(
  handle: DatabaseHandle,
  description: DatabaseDescription,
  call: JsonCall,
  { reducerShape = 'named' }: CallOptions,
): Promise<ReducerAnswer> {
  const { name } = call;
  const outcome = await handle.call(await reducerRequest(description, call));
  const kind = 'reducer';
  const value = resultOf(outcome);
  if (value === undefined) return { kind, name, outcome, json: undefined };
  const isDone = outcome.kind === 'committed';
  const definition = flatDefinition(description.definition);
  const type = typeOf(definition, name, isDone ? 'returns' : 'throws');
  const { typespace } = definition;
  const happened = isDone ? 'was committed' : 'was refused, changing nothing';
  return {
    kind,
    name,
    outcome,
    json: await shortJson({ type, typespace, value }, reducerShape, happened),
  };
}

async function callProcedure(
  handle: DatabaseHandle,
  description: DatabaseDescription,
  call: JsonCall,
  declared: DeclaredFunction,
  { signal, procedureShape }: CallOptions,
): Promise<ProcedureAnswer> {
  const { name, caller, connection, confirmed } = call;
  if (call.idempotencyKey !== undefined) throw procedureKeyRefusal();
  const request: ProcedureRequest = {
    caller,
    connection,
    procedure: name,
    args: await argumentsOf(description, declared, call),
    schemaVersion: description.schemaVersion,
    confirmed,
  };
  const outcome = await handle.procedure(request, signal());
  const kind = 'procedure';
  if (outcome.kind === 'failed') return { kind, name, outcome, json: undefined };
  const definition = flatDefinition(description.definition);
  const { returnType: type } = present(findProcedure(definition, name), 'what ran');
  const { typespace } = definition;
  const { value } = outcome;
  const happened = 'has run, and what it committed stays';
  return {
    kind,
    name,
    outcome,
    json: await shortJson({ type, typespace, value }, procedureShape, happened),
  };
}

interface TypedValue {
  readonly type: AlgebraicType;
  readonly typespace: Typespace;
  readonly value: Uint8Array;
}

/** The value as JSON, made in slices if it is long. `happened`: what became of the call. */
async function shortJson(typed: TypedValue, shape: JsonShape, happened: string): Promise<string> {
  try {
    return await jsonOf(typed, shape);
  } catch (error) {
    if (!(error instanceof JsonTooLongError)) throw error;
    throw refusal('value.tooLong', `The call ${happened}, but ${error.message}.`);
  }
}

function jsonOf(
  { type, typespace, value }: TypedValue,
  shape: JsonShape,
): string | Promise<string> {
  const { wholeTextCharactersMax } = limits;
  const short =
    value.length <= wholeTextCharactersMax
      ? encodedToShortJson(type, new BinaryReader(value), shape, wholeTextCharactersMax, typespace)
      : undefined;
  return short ?? inSlices(encodedToJsonSteps(type, new BinaryReader(value), shape, typespace));
}

/** The expected outcome of a call, and what is needed to apply it. */
export interface JsonPreview {
  readonly outcome: PreviewOutcome;
  /** The request, to be applied as it is. */
  readonly work: Extract<PreviewedWork, { kind: 'call' }>;
  /** The definition that the call was encoded for. */
  readonly description: DatabaseDescription;
}

/** Previews the call of a reducer; `previewJson` gives its value. */
export async function previewWithJson(
  handle: DatabaseHandle,
  call: JsonCall,
  look: Pick<PreviewRequest, 'rowsMax' | 'shownTo'> = {},
): Promise<JsonPreview> {
  for (let attempt = 1; ; attempt += 1) {
    const description = await handle.describe();
    const work = { kind: 'call', call: await reducerRequest(description, call) } as const;
    const outcome = await handle.preview({ work, ...look });
    const result = 'preview' in outcome ? outcome.preview.result : undefined;
    const error: CallError | undefined = result?.kind === 'callFailed' ? result.error : undefined;
    if (attempt === attemptsMax || error?.code !== 'schema.changed') {
      return { outcome, work, description };
    }
  }
}

async function reducerRequest(
  description: DatabaseDescription,
  call: JsonCall,
): Promise<CallRequest> {
  const { caller, connection, confirmed, idempotencyKey } = call;
  const definition = flatDefinition(description.definition);
  const name = canonicalName(definition, call.name);
  const declared = findReducer(definition, name);
  const given = declared && { kind: 'reducer' as const, params: declared.params };
  const args = await argumentsOf(description, given, { ...call, name });
  const { schemaVersion } = description;
  const request = { caller, connection, reducer: name, args, schemaVersion, confirmed };
  return idempotencyKey === undefined ? request : { ...request, idempotencyKey };
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

/** A value that a reducer returned, or refused with, in the plain form. */
function valueJson(
  nested: ModuleDefinition,
  name: string,
  how: 'returns' | 'throws',
  value: Uint8Array,
): string {
  const definition = flatDefinition(nested);
  const type = typeOf(definition, name, how);
  return encodedToJson(type, new BinaryReader(value), 'plain', definition.typespace);
}

function typeOf(
  definition: ModuleDefinition,
  name: string,
  how: 'returns' | 'throws',
): AlgebraicType {
  const canonical = canonicalName(definition, name);
  const reducer = present(findReducer(definition, canonical), 'a reducer that ran');
  return present(reducer[how], 'the type of its value');
}

/** The encoded value that a call returned, or was refused with. */
export function resultOf(outcome: CallOutcome): Uint8Array | undefined {
  if (outcome.kind === 'committed') return outcome.value;
  const { error } = outcome;
  return error.code === 'reducer.refusedWithValue' ? error.value : undefined;
}

/** What a call needs to know of the function that it names. */
export interface DeclaredFunction {
  readonly kind: 'reducer' | 'procedure';
  readonly params: ReducerDefinition['params'];
}

type EncodedArguments = CallRequest['args'];

function argumentsOf(
  description: DatabaseDescription,
  declared: DeclaredFunction | undefined,
  { name, args }: JsonCall,
): EncodedArguments | Promise<EncodedArguments> {
  if (declared === undefined) return { fault: noSuchReducerText };
  const definition = flatDefinition(description.definition);
  const { params } = declared;
  const encode = isHeavy(args) ? encodeInSlices : encodeArguments;
  const nameOf = (ref: number) => definition.types.find((type) => type.ref === ref)?.name;
  const typespace = argumentTypespace(definition);
  return encode({ name, params, typespace, nameOf }, args);
}

/** A function whose arguments are encoded. */
export interface EncodedFunction {
  readonly name: string;
  readonly params: DeclaredFunction['params'];
  readonly typespace: Typespace;
  /**
   * The names of types, for a caller whose arguments people or agents write. `undefined`: a client
   * library wrote them, and its forms and error texts hold.
   */
  readonly nameOf?: ReadTypes['nameOf'];
}

/** That function of a database, or the fault of a call which names none. */
export function functionOf(
  { definition: nested }: DatabaseDescription,
  kind: DeclaredFunction['kind'],
  name: string,
): EncodedFunction | { readonly fault: string } {
  const definition = flatDefinition(nested);
  const declared =
    kind === 'reducer' ? findReducer(definition, name) : findProcedure(definition, name);
  const fault = kind === 'reducer' ? noSuchReducerText : noSuchProcedureText;
  if (declared === undefined) return { fault };
  return { name, params: declared.params, typespace: definition.typespace };
}

/** The arguments of a call by its parameters, or why they cannot be encoded. */
export function encodeArguments(called: EncodedFunction, args: JsonValue): EncodedArguments {
  const { name, params, typespace, nameOf } = called;
  try {
    const read = nameOf === undefined ? argumentsFromJson : argumentsFromLooseJson;
    return encodeValue(params, read(params, args, name, typespace), typespace);
  } catch (error) {
    return faultOf(error, called, args);
  }
}

/** `encodeArguments` for arguments that can take a long time. */
export async function encodeInSlices(
  called: EncodedFunction,
  args: JsonValue,
): Promise<EncodedArguments> {
  const { name: functionName, params, typespace, nameOf } = called;
  const encoding = { params, functionName, typespace, isLoose: nameOf !== undefined };
  try {
    return await inSlices(encodeArgumentsSteps(args, encoding));
  } catch (error) {
    return faultOf(error, called, args);
  }
}

function faultOf(
  error: unknown,
  { params, typespace, nameOf }: EncodedFunction,
  args: JsonValue,
): EncodedArguments {
  if (!(error instanceof JsonError)) throw error;
  if (nameOf === undefined || !(error instanceof UnfitJsonError)) return { fault: error.message };
  return { fault: argumentsFaultText(error, params, args, { typespace, nameOf }) };
}

/**
 * The canonical name of the reducer or the procedure that has this name, or that has it in the
 * module; else `name`. `definition` is flat.
 */
function canonicalName(definition: ModuleDefinition, name: string): string {
  if (findFunction(definition, name) !== undefined) return name;
  const isMeant = ({ sourceName }: { readonly sourceName: string }) => sourceName === name;
  const meant = definition.reducers.find(isMeant) ?? definition.procedures.find(isMeant);
  return meant?.name ?? name;
}

/** `definition` is flat (`flatDefinition`): its typespace is that of all its reducers. */
export function findReducer(
  definition: ModuleDefinition,
  name: string,
): ReducerDefinition | undefined {
  return definition.reducers.find((reducer) => reducer.name === name);
}

/** `definition` is flat. */
export function findProcedure(
  definition: ModuleDefinition,
  name: string,
): ProcedureDefinition | undefined {
  return definition.procedures.find((procedure) => procedure.name === name);
}

/** What clients call by this name: a reducer, or else a procedure. `definition` is flat. */
export function findFunction(
  definition: ModuleDefinition,
  name: string,
): DeclaredFunction | undefined {
  const reducer = findReducer(definition, name);
  if (reducer !== undefined) return { kind: 'reducer', params: reducer.params };
  const procedure = findProcedure(definition, name);
  return procedure && { kind: 'procedure', params: procedure.params };
}
