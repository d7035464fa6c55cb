import type {
  Caller,
  CallOutcome,
  CallRequest,
  ProcedureError,
  ProcedureOutcome,
  ProcedureRequest,
} from '../../src/database/outcome.ts';
import type {
  DatabaseDescription,
  DatabaseHandle,
} from '../../src/host/supervision/database-handle.ts';
import type { ModuleDefinition } from '../../src/schema/definition.ts';
import { validateModule } from '../../src/schema/validate.ts';
import { ownerRights } from '../../src/sql/rights.ts';
import { commitOffset } from '../../src/store/commit-offset.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { product } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import {
  moduleOf,
  named as namedType,
  reducer,
  ref,
  text,
  u32,
  u64,
} from '../schema/module-builder.ts';

/** What `look_up` and `hidden_look` take and return. */
export const askedType = product(['word', text], ['count', u32]);
export const answerType = product(['word', text], ['total', u64]);

/** A reducer `add`, a procedure `look_up` and a private one; `also` names more reducers. */
export function lookUpDefinition(also: readonly string[] = []): ModuleDefinition {
  const procedure = (sourceName: string, visibility: 'private' | 'clientCallable') => {
    return { sourceName, params: askedType, returnType: ref(0), visibility };
  };
  return validateModule(
    moduleOf([], {
      caseConversion: 'none',
      typespace: { types: [answerType] },
      types: [namedType('Answer', 0)],
      reducers: [reducer('add', { id: u32 }), ...also.map((name) => reducer(name))],
      procedures: [procedure('look_up', 'clientCallable'), procedure('hidden_look', 'private')],
    }),
  );
}

export const anyone: Caller = {
  identity: callerIdentity(9n),
  rights: ownerRights,
  jwtPayload: '',
};

export const done: CallOutcome = { kind: 'committed', offset: commitOffset(4), micros: 3 };

export function returned(value: Value = ['tea', 2n ** 60n]): ProcedureOutcome {
  const encoded = encodeValue(answerType, value);
  return { kind: 'returned', value: encoded, timestampMicros: 1_000_000n, micros: 42 };
}

export function failed(error: ProcedureError): ProcedureOutcome {
  return { kind: 'failed', error, micros: 42 };
}

/** The handle of a database that answers as the test says, and what it was asked. */
export class ProcedureHandle {
  readonly called: CallRequest[] = [];
  readonly procedures: ProcedureRequest[] = [];
  readonly signals: (AbortSignal | undefined)[] = [];
  /** Of the program that runs; each has a version of its own. */
  definition: ModuleDefinition = lookUpDefinition();
  schemaVersion = 1;
  answer: (request: ProcedureRequest) => ProcedureOutcome = () => returned();
  answerCall: (request: CallRequest) => CallOutcome = () => done;

  readonly handle = this.#makeHandle();

  #makeHandle(): DatabaseHandle {
    const described = () => this.#description;
    const handle = {
      describe: () => Promise.resolve(described()),
      get description() {
        return described();
      },
      call: (request: CallRequest) => {
        this.called.push(request);
        return Promise.resolve(this.answerCall(request));
      },
      procedure: (request: ProcedureRequest, signal?: AbortSignal) => {
        this.procedures.push(request);
        this.signals.push(signal);
        return Promise.resolve(this.answer(request));
      },
      program: () => Promise.resolve({ kind: 'js', bytes: new Uint8Array(0) }),
    };
    return handle as unknown as DatabaseHandle;
  }

  #known: DatabaseDescription | undefined;

  /** The same object as long as nothing changes. */
  get #description(): DatabaseDescription {
    const { definition, schemaVersion } = this;
    const isKnown =
      this.#known?.definition === definition && this.#known.schemaVersion === schemaVersion;
    if (!isKnown) this.#known = { definition, schemaVersion } as unknown as DatabaseDescription;
    return this.#known as DatabaseDescription;
  }
}

/** Every way in which a procedure fails, with a message where it has one. */
export const failures: readonly ProcedureError[] = [
  { code: 'procedure.unknown', procedure: 'look_up' },
  { code: 'arguments.invalid', message: 'invalid arguments for procedure look_up: no' },
  { code: 'procedure.failed', message: 'it threw' },
  { code: 'procedure.overBudget', message: 'it ran too long' },
  { code: 'procedure.stopped', message: 'it stops' },
  { code: 'procedure.busy', message: 'yours are in flight', of: 'caller' },
  { code: 'procedure.busy', message: 'all are in flight', of: 'database' },
  { code: 'call.readOnly', message: 'it only reads' },
  { code: 'connection.refused', message: 'not you' },
  { code: 'schema.changed' },
];
