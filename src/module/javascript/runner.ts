import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { errorCodes, migrationKinds } from '../../protocol/module-abi.ts';
import { emptyCatalog } from '../../schema/build-catalog.ts';
import { Store } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import { HostCalls } from '../host-calls.ts';
import type { CallSecrets } from '../lane.ts';
import { failedAt, readMigrationAnswer } from '../migration-answer.ts';
import type { MigrationCall, MigrationOutcome } from '../migration-call.ts';
import { MigrationRoutes } from '../migration-routes.ts';
import type {
  LinkedProgram,
  ModuleRunner,
  ReducerCall,
  RunnerContext,
  RunOutcome,
  ViewCall,
  ViewOutcome,
} from '../runner.ts';
import { readViewResult } from '../view-result.ts';
import { dataApi } from './data-api.ts';
import type { GuestApi } from './guest-api.ts';
import { GuestRealm, GuestScratch, type ProgramApi } from './guest-realm.ts';
import type { Realm } from './realm.ts';

/**
 * Loads a program into `realm`, which is new and belongs to the runner from here on: evaluates it
 * and has it describe itself. Throws `ProgramError` with a text for its publisher.
 */
export function loadJavaScriptProgram(
  program: LinkedProgram,
  context: RunnerContext,
  realm: Realm,
): ModuleRunner {
  return openSandbox(realm)(program, context);
}

/** Loads a program as `loadJavaScriptProgram` does. It takes one, and no other. */
export type Sandbox = (program: LinkedProgram, context: RunnerContext) => ModuleRunner;

/** The part of `loadJavaScriptProgram` that needs neither a program nor a database. */
export function openSandbox(realm: Realm): Sandbox {
  const runner = realm.enter(() => new JavaScriptRunner(realm));
  return (program, context) => {
    realm.enter(() => runner.load(program, context));
    return runner;
  };
}

class JavaScriptRunner implements ModuleRunner {
  readonly #realm: Realm;
  readonly #calls: HostCalls;
  readonly #program: GuestRealm;
  readonly #guest: GuestApi;
  /** Randomness where there must be none: in views. */
  #fixed: CallSecrets = { seed: new Uint8Array(0), jwtPayload: '' };
  #secrets: CallSecrets;
  /** Made when the first migration is called. */
  #routes: MigrationRoutes | undefined;

  constructor(realm: Realm) {
    const scratch = new GuestScratch();
    const calls = new HostCalls(new Store(emptyCatalog), scratch);
    this.#realm = realm;
    this.#secrets = this.#fixed;
    this.#calls = calls;
    const api = { ...programApi(calls), secretsOf: () => calls.refusal() || this.#secrets };
    this.#program = new GuestRealm(realm, { api, scratch });
    this.#guest = this.#program.guest;
  }

  load(program: LinkedProgram, context: RunnerContext): void {
    this.#calls.serve(context.store);
    this.#fixed = { seed: program.seed, jwtPayload: '' };
    this.#secrets = this.#fixed;
    this.#program.load(program, context);
    this.#calls.end();
  }

  describe(): Uint8Array {
    return this.#program.description;
  }

  callReducer(call: ReducerCall, transaction: Transaction): RunOutcome {
    return this.#realm.enter(() => this.#run(call, transaction));
  }

  callView(call: ViewCall): ViewOutcome {
    return this.#realm.enter(() => this.#evaluateView(call));
  }

  callMigration(call: MigrationCall, transaction: Transaction | undefined): MigrationOutcome {
    return this.#realm.enter(() => this.#migrate(call, transaction));
  }

  batch<Result>(run: () => Result): Result {
    return this.#realm.enter(run);
  }

  dispose(): void {
    // The realm is collected when nothing refers to the runner any more.
  }

  #run(call: ReducerCall, transaction: Transaction): RunOutcome {
    const { reducerId, sender, connectionId, timestampMicros, args } = call;
    assert(!this.#calls.isUnfinished, 'the store is half changed by an earlier call');
    this.#secrets = call;
    this.#program.begin(call.reducerName, call.seed);
    this.#program.placeArguments(args);
    this.#calls.begin(transaction);
    const guest = this.#guest;
    let outcome: RunOutcome;
    try {
      const length = args.length;
      const status = guest.callReducer(reducerId, sender, connectionId, timestampMicros, length);
      outcome = status === 0 ? returned : this.#otherOutcome(status, call.reducerName);
    } finally {
      this.#calls.end();
    }
    this.#finish();
    return outcome;
  }

  #evaluateView({ hookId, viewName, sender }: ViewCall): ViewOutcome {
    assert(!this.#calls.isUnfinished, 'the store is half changed by an earlier call');
    this.#secrets = this.#fixed;
    this.#program.begin(viewName, this.#fixed.seed);
    this.#calls.beginView();
    const guest = this.#guest;
    let outcome: ViewOutcome;
    try {
      const status =
        sender === undefined ? guest.callAnonymousView(hookId) : guest.callView(hookId, sender);
      outcome =
        status === 0
          ? readViewResult(new Uint8Array(guest.takeViewResult()), this.#calls.endView())
          : this.#failure(status);
    } finally {
      this.#calls.end();
    }
    this.#finish();
    return outcome;
  }

  #migrate(call: MigrationCall, transaction: Transaction | undefined): MigrationOutcome {
    assert(!this.#calls.isUnfinished, 'the store is half changed by an earlier call');
    this.#routes ??= new MigrationRoutes(this.#program.description);
    const route = this.#routes.of(call);
    this.#secrets = this.#fixed;
    this.#program.begin(`migration ${route.id}`, this.#fixed.seed);
    const { kind, timestampMicros } = call;
    const rows = kind === 'rows' ? call.rows : noRows;
    const [step, count] = kind === 'rows' ? [0, call.count] : [call.step, 0];
    this.#program.placeArguments(rows);
    this.#calls.beginMigration(call.store, kind === 'run' ? transaction : undefined);
    const guest = this.#guest;
    let outcome: MigrationOutcome;
    try {
      const asked = [migrationKinds[kind], step, count, timestampMicros, rows.length] as const;
      const status = guest.callMigration(...asked, route.text);
      const hasRead = this.#calls.endMigration();
      outcome =
        status === 0
          ? readMigrationAnswer(call, new Uint8Array(guest.takeCallResult()), hasRead)
          : failedAt(guest.migrationPlace(), guest.message(), this.#program.trace());
    } finally {
      this.#calls.end();
    }
    this.#finish();
    return outcome;
  }

  #finish(): void {
    this.#program.finish();
    assert(!this.#calls.isUnfinished, 'a write to the store did not end');
  }

  /** The outcome of a call that did more than return nothing. */
  #otherOutcome(status: 1 | 2 | 3 | 4, reducerName: string): RunOutcome {
    if (status === 1 || status === 2) return this.#failure(status);
    const message = this.#guest.message();
    const buffer = this.#guest.takeCallResult();
    if (buffer.byteLength > limits.callResultBytesMax) {
      const size = `${buffer.byteLength} bytes, more than ${limits.callResultBytesMax}`;
      const text = `reducer ${reducerName} returned a value of ${size}: let clients query a table`;
      return { kind: 'crashed', message: text, trace: [] };
    }
    const value = new Uint8Array(buffer).slice();
    return status === 3 ? { kind: 'returned', value } : { kind: 'refused', message, value };
  }

  #failure(status: 1 | 2): Exclude<RunOutcome, { kind: 'returned' }> {
    const message = this.#guest.message();
    if (status === 1) return { kind: 'refused', message };
    return { kind: 'crashed', message, trace: this.#program.trace() };
  }
}

const noRows = new Uint8Array(0);
const returned: RunOutcome = { kind: 'returned' };

/** A reducer is in its transaction and stays in it, so that only procedures can open others. */
function programApi(calls: HostCalls): Omit<ProgramApi, 'secretsOf'> {
  const refused = (code: number): number => calls.refusal() || -code;
  return {
    ...dataApi(calls),
    begin: () => BigInt(refused(errorCodes.wouldBlockTransaction)),
    end: () => refused(errorCodes.transactionNotAnonymous),
    reducerId: () => refused(errorCodes.wouldBlockTransaction),
    callReducer: () => refused(errorCodes.wouldBlockTransaction),
    fetch: () => refused(errorCodes.wouldBlockTransaction),
    fetchStart: () => refused(errorCodes.wouldBlockTransaction),
    sleep: () => refused(errorCodes.wouldBlockTransaction),
    cancel: () => 0,
    resultBytes: () => 0,
    failure: () => '',
  };
}
