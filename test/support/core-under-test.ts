import type { DatabaseCore } from '../../src/database/core.ts';
import { createCore } from '../../src/database/open-database.ts';
import type { CallOutcome, SqlOutcome } from '../../src/database/outcome.ts';
import { examineProgram } from '../../src/database/program.ts';
import { migrationToken } from '../../src/database/program-hash.ts';
import type { ProgramSource } from '../../src/database/program-source.ts';
import { noProgress, type Progress } from '../../src/database/progress.ts';
import { slicesOfLimits } from '../../src/database/read-run.ts';
import { runCall } from '../../src/database/run-call.ts';
import { runQuery } from '../../src/database/run-query.ts';
import { allowUpdate, applyUpdate } from '../../src/database/update-program.ts';
import { CallerTables } from '../../src/database/views/caller-tables.ts';
import { linkHere } from '../../src/host/linking/local-linker.ts';
import { programHash } from '../../src/host/linking/program-hash.ts';
import { programLoader } from '../../src/host/seats/program-loader.ts';
import type { ModuleLogLine } from '../../src/module/log-line.ts';
import { MemoryDisk } from '../../src/node/memory-disk.ts';
import type { ViewId } from '../../src/schema/ids.ts';
import { ownerRights, strangerRights } from '../../src/sql/rights.ts';
import { noRow } from '../../src/store/row-ref.ts';
import type { Table } from '../../src/store/table.ts';
import { Random } from '../../src/testing/random.ts';
import { TestClock } from '../../src/testing/test-clock.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { asOwner, callerIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';
import type { Value } from '../../src/values/value.ts';
import { valueText } from './value-text.ts';

const identity = databaseIdentity(0xdbn);
export const ownerIdentity = 1n;

/** A database without the actor around it: a test takes each step by itself, in this thread. */
export class CoreUnderTest {
  readonly core: DatabaseCore;
  readonly lines: ModuleLogLine[];
  readonly clock: TestClock;
  /** What the watcher of a thread was told about views. */
  readonly told: string[];
  #lastConnection = 0n;

  private constructor(core: DatabaseCore, parts: Pick<CoreUnderTest, 'lines' | 'clock' | 'told'>) {
    this.core = core;
    this.lines = parts.lines;
    this.clock = parts.clock;
    this.told = parts.told;
  }

  static async of(program: ProgramSource, slices = slicesOfLimits): Promise<CoreUnderTest> {
    const lines: ModuleLogLine[] = [];
    const told: string[] = [];
    const clock = new TestClock();
    const random = new Random(7);
    const fill = (bytes: Uint8Array): void => {
      for (let at = 0; at < bytes.length; at++) bytes[at] = random.below(256);
    };
    const progress: Progress = {
      ...noProgress,
      viewing: () => told.push('viewing'),
      viewed: () => told.push('viewed'),
    };
    const options = {
      identity,
      ownerIdentity: asOwner(callerIdentity(ownerIdentity)),
      disk: new MemoryDisk(),
      clock,
      entropy: { fill },
      statementMillisMax: 1_000,
      report: (line: ModuleLogLine) => lines.push(line),
      warn: (message: string) => {
        throw new Error(message);
      },
      loader: programLoader(linkHere, noProgress),
      hash: programHash,
      progress,
      owner: { handOver() {}, durable() {}, stopped() {} },
      nextTurn: () => Promise.resolve(),
      slices,
    };
    const core = await createCore(options, program, clock.nowMicros());
    return new CoreUnderTest(core, { lines, clock, told });
  }

  call(reducer: string, args: readonly Value[] = [], sender = ownerIdentity): CallOutcome {
    const { program } = this.core;
    const params = program.reducers.get(reducer)?.params ?? { kind: 'product', elements: [] };
    const call = {
      ...this.#asked(sender),
      reducer,
      args: encodeValue(params, args, program.definition.typespace),
      schemaVersion: program.schemaVersion,
    };
    return runCall(this.core, call, this.clock.nowMicros());
  }

  /** Runs a reducer that is expected to commit. */
  run(reducer: string, ...args: Value[]): void {
    const outcome = this.call(reducer, args);
    if (outcome.kind !== 'committed') throw new Error(JSON.stringify(outcome.error));
  }

  sql(text: string, sender = ownerIdentity): SqlOutcome {
    const query = { ...this.#asked(sender), sql: text };
    const outcome = runQuery(this.core, query, this.clock.nowMicros());
    if (outcome.kind === 'paused') throw new Error('the clock stands still, so nothing pauses');
    return outcome;
  }

  /** The rows of a view for a caller, sorted by their text. Throws as a statement would. */
  rows(view: string, caller = ownerIdentity): Value[] {
    return rowsIn(this.table(view, caller));
  }

  /** The table of a view for a caller, who asks for it now. */
  table(view: string, caller = ownerIdentity): Table {
    const id = this.viewId(view);
    const tables = new CallerTables(
      this.core,
      { identity: callerIdentity(caller), rights: ownerRights },
      this.clock.nowMicros(),
    );
    tables.prepareViews([id]);
    return tables.table(id);
  }

  viewId(view: string): ViewId {
    const found = this.core.store.catalog.views.find(({ name }) => name === view);
    if (found === undefined) throw new Error(`there is no view ${view}`);
    return found.id;
  }

  /** Publishes another program, breaking clients where it must. */
  async update(source: ProgramSource): Promise<void> {
    const { store, report, program } = this.core;
    const context = { store, databaseIdentity: identity, log: report, publishedMicros: 1n };
    const loader = programLoader(linkHere, noProgress);
    const around = { loader, hash: programHash, progress: noProgress };
    const loaded = await examineProgram(source, context, around);
    const allowed = allowUpdate(this.core, {
      loaded,
      permission: {
        policy: 'breakClients',
        token: migrationToken(programHash, identity, program.hash, loaded.hash),
      },
      timestampMicros: this.clock.nowMicros(),
      hash: programHash,
      stopReads: () => undefined,
      calling: () => undefined,
    });
    if (allowed !== undefined) applyUpdate(this.core, allowed);
  }

  /** What the module has logged since this was last asked. */
  takeLines(): string[] {
    return this.lines.splice(0).map(({ message }) => message);
  }

  #asked(sender: bigint) {
    this.#lastConnection += 1n;
    return {
      caller: {
        identity: callerIdentity(sender),
        rights: sender === ownerIdentity ? ownerRights : strangerRights,
        jwtPayload: '',
      },
      connection: { kind: 'temporary' as const, id: connectionNumber(this.#lastConnection) },
      confirmed: false,
    };
  }
}

/** The rows of a table, sorted by their text. */
export function rowsIn(table: Table): Value[] {
  const decode = decoderOf(table.rowType, { types: table.types.types });
  const rows: Value[] = [];
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    rows.push(decode(new BinaryReader(table.pageOf(ref), table.offsetOf(ref))));
  }
  return rows.sort((one, other) => (valueText(one) < valueText(other) ? -1 : 1));
}
