import type { DeclaredMigration, DeclaredStep } from '../../src/schema/declared-step.ts';
import { encodeRawModuleV10 } from '../../src/schema/encode-raw-module.ts';
import type { RawModule } from '../../src/schema/raw-module.ts';
import { schemaPartOf } from '../../src/schema/schema-file.ts';
import { sha256 } from '../../src/values/sha256.ts';

/** A migration as a test wants to write it: from the schema of `before`. */
export interface MigrationSketch {
  readonly id?: string;
  readonly before: RawModule;
  readonly steps: readonly DeclaredStep[];
  readonly down?: readonly DeclaredStep[];
}

export function migration(sketch: MigrationSketch): DeclaredMigration {
  const { id = '0001-first', before, steps, down } = sketch;
  const hash = sha256(new TextEncoder().encode(JSON.stringify([id, steps, down])));
  return { id, hash, before: encodeRawModuleV10(schemaPartOf(before)), steps, down };
}

/** The module with migrations, in their order. */
export function migrated(raw: RawModule, ...sketches: readonly MigrationSketch[]): RawModule {
  return { ...raw, migrations: sketches.map(migration) };
}
