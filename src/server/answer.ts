import type { TypeRegistry } from '../declare/type-registry.ts';
import { errorBytesKey } from '../protocol/module-abi.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { type NativeEncoder, nativeEncoderOf } from '../values/native.ts';
import type { AlgebraicType } from '../values/type.ts';
import { typeText } from '../values/typespace.ts';
import type { PlannedProcedure, PlannedReducer } from './describe.ts';
import { CallError, SenderError } from './errors.ts';
import { encodeResponse } from './http-heads.ts';
import { SyncResponse } from './http-messages.ts';

/**
 * Runs the body of a reducer and encodes its declared value or error; other errors pass unchanged.
 */
export type Answer = (run: () => unknown) => Uint8Array | undefined;

/** `undefined` for reducers that declare neither: they do not need it. */
export function answerOf(
  { name, returns, throws }: PlannedReducer,
  registry: TypeRegistry,
): Answer | undefined {
  if (returns === undefined && throws === undefined) return undefined;
  const encodeReturned =
    returns && resultEncoder(returns, registry, `reducer \`${name}\` must return`);
  const encodeThrown = throws && resultEncoder(throws, registry, `reducer \`${name}\` must throw`);
  return (run) => {
    let returned: unknown;
    try {
      returned = run();
    } catch (error) {
      if (encodeThrown === undefined || !(error instanceof CallError)) throw error;
      const bytes = encodeThrown(error.error);
      throw Object.assign(new SenderError(error.message), { [errorBytesKey]: bytes });
    }
    if (encodeReturned !== undefined) return encodeReturned(returned);
    refusePromise(returned);
    return undefined;
  };
}

/** Encodes the value of a procedure, or what its promise resolves with. */
export function procedureAnswerOf(
  { name, returns }: PlannedProcedure,
  registry: TypeRegistry,
): (value: unknown) => Uint8Array | Promise<Uint8Array> {
  const encode = resultEncoder(returns, registry, `procedure \`${name}\` must return`);
  return (value) => (isPromise(value) ? GuestPromise.resolve(value).then(encode) : encode(value));
}

/**
 * The encoded head and body of what a handler returned, or a promise of them. A response of another
 * copy of this library is one, too.
 */
export function handlerAnswerOf(
  name: string,
): (value: unknown) => HandlerAnswer | Promise<HandlerAnswer> {
  const encode = (value: unknown): HandlerAnswer => {
    const body = isResponse(value) ? value.bytes() : undefined;
    if (isResponse(value) && body instanceof Uint8Array) return [encodeResponse(value), body];
    throw new TypeError(`HTTP handler \`${name}\` must return a SyncResponse`);
  };
  return (value) => (isPromise(value) ? GuestPromise.resolve(value).then(encode) : encode(value));
}

export type HandlerAnswer = readonly [head: Uint8Array, body: Uint8Array];

function isResponse(value: unknown): value is SyncResponse {
  if (value instanceof SyncResponse) return true;
  const isObject = typeof value === 'object' && value !== null;
  if (!isObject || !('status' in value && 'headers' in value && 'bytes' in value)) return false;
  return typeof value.bytes === 'function';
}

export function isPromise(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('then' in value)) return false;
  return typeof value.then === 'function';
}

/** Rejects a promise: a reducer ends when it returns, so nothing can await it. */
export function refusePromise(result: unknown): void {
  if (!isPromise(result)) return;
  throw new TypeError(
    'Reducer returned a value other than `undefined`: a promise. Reducers are synchronous; ' +
      'nothing runs after they return.',
  );
}

/** Whatever the module makes of the name. */
const GuestPromise = Promise;

/** `rule` reads `reducer \`trade\` must return`: a value of another type is a bug in the module. */
function resultEncoder(
  type: AlgebraicType,
  registry: TypeRegistry,
  rule: string,
): (value: unknown) => Uint8Array {
  let encode: NativeEncoder | undefined;
  return (value) => {
    encode ??= nativeEncoderOf(type, registry.typespace, 'the value');
    const writer = new BinaryWriter(64);
    try {
      refusePromise(value);
      encode(writer, value);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw new TypeError(`${rule} ${typeName(type, registry)}; ${error.message}`);
    }
    return writer.finish();
  };
}

/** The module's name for the type, or else its structure. */
function typeName(type: AlgebraicType, { definitions, typespace }: TypeRegistry): string {
  const named = definitions.find(({ ref }) => type.kind === 'ref' && type.ref === ref);
  return named === undefined
    ? typeText(type, typespace)
    : [...named.scope, named.sourceName].join('.');
}
