import { assert } from '../../assert.ts';
import { transactionEnds, transactionKinds } from '../../protocol/module-abi.ts';
import type { LaneCall, LaneEnd, LaneLink, LaneRunner } from '../lane.ts';
import { LaneCalls } from '../lane-calls.ts';
import type { LinkedProgram } from '../runner.ts';
import { dataApi } from './data-api.ts';
import type { GuestApi } from './guest-api.ts';
import { type GuestContext, GuestRealm, GuestScratch, type ProgramApi } from './guest-realm.ts';
import type { Realm } from './realm.ts';

/**
 * Loads a program into `realm`, which is new and belongs to the runner from here on, to run its
 * procedures. `link` reaches the database. Throws `ProgramError`.
 */
export function loadLaneProgram(
  program: LinkedProgram,
  context: GuestContext,
  realm: Realm,
  link: LaneLink,
): LaneRunner {
  return realm.enter(() => new JavaScriptLane(program, context, realm, link));
}

class JavaScriptLane implements LaneRunner {
  readonly #realm: Realm;
  readonly #calls: LaneCalls;
  readonly #program: GuestRealm;
  readonly #guest: GuestApi;

  constructor(program: LinkedProgram, context: GuestContext, realm: Realm, link: LaneLink) {
    const scratch = new GuestScratch();
    this.#realm = realm;
    this.#calls = new LaneCalls(link, scratch);
    const api = programApi(this.#calls);
    this.#program = new GuestRealm(program, context, realm, { api, scratch });
    this.#guest = this.#program.guest;
    this.#calls.end();
  }

  describe(): Uint8Array {
    return this.#program.description;
  }

  start(call: LaneCall): LaneEnd {
    assert(call.kind === 'procedure', 'lanes run procedures');
    return this.#realm.enter(() => this.#run(call));
  }

  completed(): void {
    throw new Error('no procedure waits for anything');
  }

  abort(): void {
    // What has begun runs to its end.
  }

  takeEnded(): readonly [] {
    return [];
  }

  dispose(): void {
    // The realm is collected when nothing refers to the runner any more.
  }

  #run(call: LaneCall): LaneEnd {
    const { id, name, sender, connectionId, timestampMicros, args } = call;
    const guest = this.#guest;
    this.#program.begin(name, call.seed, call.jwtPayload);
    this.#program.placeArguments(args);
    this.#calls.begin(call.number);
    let end: LaneEnd;
    try {
      const length = args.length;
      const status = guest.callProcedure(id, sender, connectionId, timestampMicros, length);
      end = status === 0 ? this.#returned() : this.#failed();
      if (this.#calls.abandon()) {
        this.#program.logError(`aborting dangling anonymous transaction in procedure ${name}`);
      }
    } finally {
      this.#calls.end();
    }
    this.#program.finish();
    return end;
  }

  #returned(): LaneEnd {
    return { kind: 'returned', value: new Uint8Array(this.#guest.takeCallResult()).slice() };
  }

  #failed(): LaneEnd {
    const message = this.#guest.message();
    return { kind: 'failed', message, trace: this.#program.trace() };
  }
}

function programApi(calls: LaneCalls): ProgramApi {
  return {
    ...dataApi(calls),
    refusal: () => calls.refusal(),
    begin: (kind) => calls.open(kind === transactionKinds.read ? 'read' : 'write'),
    end: (how) => calls.finish(how === transactionEnds.commit ? 'commit' : 'abort'),
    reducerId: (name) => calls.reducerId(name),
    callReducer: (id, length) => calls.reducer(id, length),
    fetch: (headLength, bodyLength) => calls.fetch(headLength, bodyLength),
    resultBytes: () => calls.resultBytes,
    failure: () => calls.failure,
  };
}
