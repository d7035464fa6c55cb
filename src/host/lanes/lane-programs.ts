import { present } from '../../assert.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import type { LinkedProgram, ModuleRunner } from '../../module/runner.ts';
import { decodeRawModule } from '../../schema/decode-raw-module.ts';
import type { RawModule } from '../../schema/raw-module.ts';
import type { LaneProgram } from './lane-messages.ts';

/**
 * What lanes load, for each program of a database that has procedures or HTTP handlers. It is kept
 * as long as the program is: linking it again would take longer than loading it.
 */
export class LanePrograms {
  readonly #kept = new WeakMap<ProgramSource, LaneProgram>();

  keep(
    source: ProgramSource,
    {
      hash,
      linked,
      runner,
      publishedMicros,
    }: {
      readonly hash: string;
      readonly linked: LinkedProgram;
      readonly runner: ModuleRunner;
      readonly publishedMicros: bigint;
    },
  ): void {
    const described = runner.describe();
    if (!needsLanes(described)) return;
    this.#kept.set(source, { hash, linked, described, publishedMicros });
  }

  of(source: ProgramSource): LaneProgram {
    return present(this.#kept.get(source), 'the program of a lane');
  }
}

function declaresOne({ procedures, httpHandlers, submodules }: RawModule): boolean {
  const declared = procedures.length + httpHandlers.length;
  return declared > 0 || submodules.some(({ module }) => declaresOne(module));
}

function needsLanes(described: Uint8Array): boolean {
  try {
    return declaresOne(decodeRawModule(described));
  } catch {
    // Its examination says what is wrong with it.
    return false;
  }
}
