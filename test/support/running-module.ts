import { buildModule } from '../../src/bundle/build-module.ts';
import {
  type ReducerCall,
  type RunOutcome,
  type ViewOutcome,
  viewHookId,
} from '../../src/module/runner.ts';
import { decodeRawModule } from '../../src/schema/decode-raw-module.ts';
import type { RawModule } from '../../src/schema/raw-module.ts';
import { viewRowOf } from '../../src/schema/view-rows.ts';
import type { ChangeSet } from '../../src/store/change-set.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import type { Value } from '../../src/values/value.ts';
import { calledMicros, loadDescribed, type ModuleUnderTest } from './module-under-test.ts';

/** A module built from TypeScript, linked and loaded in its sandbox beside a store. */
export class RunningModule {
  readonly module: ModuleUnderTest;
  readonly raw: RawModule;
  /** What was logged while the module was loaded and described. */
  readonly loadLines: readonly string[];

  private constructor(module: ModuleUnderTest) {
    this.module = module;
    this.raw = decodeRawModule(module.runner.describe());
    this.loadLines = module.logs.map(({ message }) => message);
  }

  /** `location` is a project folder or a single file. */
  static async of(location: string): Promise<RunningModule> {
    const { program } = await buildModule(location);
    return new RunningModule(await loadDescribed(program));
  }

  /** Runs a reducer; commits when it returned. */
  run(reducer: string, args: Value[] = [], call: Partial<ReducerCall> = {}) {
    const { runner, store, logs } = this.module;
    const reducerId = this.raw.reducers.findIndex(({ sourceName }) => sourceName === reducer);
    const params = this.raw.reducers[reducerId]?.params ?? { kind: 'product', elements: [] };
    const bytes = encodeValue(params, args, this.raw.typespace);
    logs.length = 0;
    const transaction = store.begin();
    const outcome: RunOutcome = runner.callReducer(
      { ...anyCall, reducerId, args: bytes, ...call },
      transaction,
    );
    let changes: ChangeSet | undefined;
    if (outcome.kind === 'returned') changes = transaction.commit();
    else transaction.rollback();
    return { outcome, changes, lines: logs.map(({ message }) => message) };
  }

  /** Evaluates a view over the rows as they are. */
  view(name: string, sender?: bigint): { outcome: ViewOutcome; rows: Value[]; lines: string[] } {
    const { runner, logs } = this.module;
    const view = this.raw.views.find(({ sourceName }) => sourceName === name);
    const row = view === undefined ? undefined : viewRowOf(view.returnType);
    if (view === undefined || row === undefined || runner.callView === undefined) {
      throw new Error(`there is no view ${name}`);
    }
    logs.length = 0;
    const outcome = runner.callView({
      hookId: viewHookId(view.index),
      viewName: name,
      sender: sender === undefined ? undefined : callerIdentity(sender),
    });
    const lines = logs.map(({ message }) => message);
    if (outcome.kind !== 'rows') return { outcome, rows: [], lines };
    const reader = new BinaryReader(outcome.rows);
    const decode = decoderOf({ kind: 'ref', ref: row.ref }, this.raw.typespace);
    const rows = Array.from({ length: outcome.count }, () => decode(reader));
    return { outcome, rows, lines };
  }

  /** The log lines of a reducer that is expected to return. */
  linesOf(reducer: string, args: Value[] = [], call: Partial<ReducerCall> = {}): string[] {
    const { outcome, lines } = this.run(reducer, args, call);
    if (outcome.kind !== 'returned') throw new Error(`${reducer}: ${outcome.message}`);
    return lines;
  }
}

const anyCall: ReducerCall = {
  reducerId: 0,
  reducerName: 'reducer_under_test',
  sender: callerIdentity(0x5e4dn),
  connectionId: connectionNumber(0xc0n),
  timestampMicros: calledMicros,
  args: new Uint8Array(0),
  seed: Uint8Array.from({ length: 32 }, (_, index) => index * 7),
  jwtPayload: '',
};
