import { present } from '../../src/assert.ts';
import { buildModule } from '../../src/bundle/build-module.ts';
import type { LaneCall, LaneEnd } from '../../src/module/lane.ts';
import { decodeRawModule } from '../../src/schema/decode-raw-module.ts';
import type { RawModule } from '../../src/schema/raw-module.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import type { Value } from '../../src/values/value.ts';
import { LaneUnderTest } from './lane-under-test.ts';
import { loadDescribed } from './module-under-test.ts';

/** A module built from TypeScript, whose procedures run in a lane beside its reducers. */
export class RunningProcedures {
  readonly lane: LaneUnderTest;
  readonly #raw: RawModule;

  private constructor(lane: LaneUnderTest) {
    this.lane = lane;
    this.#raw = decodeRawModule(lane.runner.describe());
    lane.link.reducerNames = this.#raw.reducers.map(({ sourceName }) => sourceName);
  }

  static async of(location: string): Promise<RunningProcedures> {
    const { program } = await buildModule(location);
    return new RunningProcedures(await LaneUnderTest.of(program, await loadDescribed(program)));
  }

  /** Runs a procedure; `lines` is what was logged by it. */
  run(name: string, args: Value[] = [], call: Partial<LaneCall> = {}) {
    this.lane.logs.length = 0;
    const end: LaneEnd = this.lane.run(this.#callOf(name, args, call));
    return { end, lines: this.lane.logs.map(({ level, message }) => `${level}: ${message}`) };
  }

  /** Runs a procedure until it waits; returns its number. */
  begin(name: string, args: Value[] = [], call: Partial<LaneCall> = {}): number {
    const end = this.lane.start(this.#callOf(name, args, call));
    if (end !== 'waiting') throw new Error(`${name} does not wait: ${JSON.stringify(end)}`);
    return this.lane.lastCall;
  }

  #callOf(name: string, args: Value[], call: Partial<LaneCall>): Partial<LaneCall> {
    const { typespace, procedures } = this.#raw;
    const id = procedures.findIndex(({ sourceName }) => sourceName === name);
    const { params } = present(procedures[id], name);
    return { id, name, args: encodeValue(params, args, typespace), ...call };
  }

  /** The value of a procedure that is expected to return. */
  value(name: string, args: Value[] = [], call: Partial<LaneCall> = {}): Value {
    return this.valueOf(name, this.run(name, args, call).end);
  }

  valueOf(name: string, end: LaneEnd | undefined): Value {
    if (end?.kind !== 'returned') throw new Error(`${name}: ${end?.message}`);
    const found = this.#raw.procedures.find(({ sourceName }) => sourceName === name);
    const type = present(found, name).returnType;
    return decoderOf(type, this.#raw.typespace)(new BinaryReader(end.value));
  }

  /** What a procedure that is expected to fail has thrown. */
  failure(name: string, args: Value[] = []): string {
    const { end } = this.run(name, args);
    if (end.kind !== 'failed') throw new Error(`${name} returned`);
    return end.message;
  }
}
