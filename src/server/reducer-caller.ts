import { errorCodes, reducerEnds } from '../protocol/module-abi.ts';
import {
  type NativeDecoder,
  type NativeEncoder,
  nativeDecoderOf,
  nativeEncoderOf,
} from '../values/native.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import type { Bridge } from './bridge.ts';
import type { PlannedReducer } from './describe.ts';
import { CallError, SenderError } from './errors.ts';
import { registrationOf } from './registration.ts';

/** A reducer as procedures call it; its position in the list is its number for the host. */
export interface CallableReducer {
  readonly planned: PlannedReducer;
  readonly typespace: Typespace;
}

/** `ctx.call`: takes a reducer that the module exports, or a name. */
export type CallReducer = (call: number, reducer: unknown, args: unknown) => unknown;

export function reducerCaller(bridge: Bridge, reducers: readonly CallableReducer[]): CallReducer {
  const codecs: Codec[] = [];
  return (call, reducer, args) => {
    const id = idOf(bridge, reducers, reducer);
    const { planned, typespace } = reducers[id] as CallableReducer;
    codecs[id] ??= codecOf(planned, typespace);
    const codec = codecs[id] as Codec;
    const length = bridge.encode(codec.encodeArgs, args ?? {});
    const end = bridge.sys.call_reducer(id, length, call);
    if (end < 0) throw bridge.failure(end);
    const value = (decode: NativeDecoder | undefined) =>
      decode?.(bridge.read(bridge.sys.result_bytes()));
    switch (end) {
      case reducerEnds.returned:
        return undefined;
      case reducerEnds.returnedValue:
        return value(codec.decodeReturned);
      case reducerEnds.refused:
        throw new SenderError(bridge.sys.failure());
      case reducerEnds.refusedValue: {
        const message = bridge.sys.failure();
        throw new CallError(value(codec.decodeThrown), message);
      }
      default:
        throw new Error(`reducer \`${planned.name}\` failed: ${bridge.sys.failure()}`);
    }
  };
}

interface Codec {
  readonly encodeArgs: NativeEncoder;
  readonly decodeReturned: NativeDecoder | undefined;
  readonly decodeThrown: NativeDecoder | undefined;
}

function codecOf({ name, params, returns, throws }: PlannedReducer, typespace: Typespace): Codec {
  const decoder = (type: AlgebraicType | undefined) => type && nativeDecoderOf(type, typespace);
  return {
    encodeArgs: nativeEncoderOf(params, typespace, name),
    decodeReturned: decoder(returns),
    decodeThrown: decoder(throws),
  };
}

function idOf(bridge: Bridge, reducers: readonly CallableReducer[], reducer: unknown): number {
  if (typeof reducer === 'string') {
    const id = bridge.sys.reducer_id(reducer);
    if (id >= 0) return id;
    if (id !== -errorCodes.hostCallFailure) throw bridge.failure(id);
    throw new TypeError(`There is no reducer with the name '${reducer}'`);
  }
  const registration = registrationOf(reducer)?.registration;
  if (registration?.kind === 'reducer') {
    const id = reducers.findIndex(({ planned }) => planned.handler === registration.handler);
    if (id >= 0) return id;
  }
  throw new TypeError('`ctx.call` takes a reducer that the module exports, or its name');
}
