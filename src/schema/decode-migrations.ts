import type { BinaryReader } from '../values/binary-reader.ts';
import { type DeclaredMigration, type DeclaredStep, stepKinds } from './declared-step.ts';
import { readList, readOption, readString, readTag } from './decode-raw-parts.ts';

/** An item of the block that holds the migrations of a module. Throws `DecodeError`. */
export function readMigration(r: BinaryReader): DeclaredMigration {
  return {
    id: r.string(),
    hash: r.bytes(),
    before: r.bytes(),
    steps: readList(r, readStep),
    down: readOption(r, (reader) => readList(reader, readStep)),
  };
}

function readStep(r: BinaryReader): DeclaredStep {
  const kind = readTag(r, stepKinds, 'MigrationStep');
  switch (kind) {
    case 'renameTable':
      return { kind, from: r.string(), to: r.string() };
    case 'renameColumn':
      return { kind, table: r.string(), from: r.string(), to: r.string() };
    case 'dropTable':
      return { kind, table: r.string() };
    case 'dropColumn':
    case 'addColumn':
    case 'changeColumn':
      return { kind, table: r.string(), column: r.string() };
    case 'moveColumns':
      return { kind, table: r.string(), order: readList(r, readString) };
    case 'mapRows':
      return { kind, table: r.string(), reads: r.bool() };
    case 'splitTable':
      return { kind, table: r.string(), into: readList(r, readString), reads: r.bool() };
    case 'run':
      return { kind };
    case 'assert':
      return { kind, text: r.string(), sql: readOption(r, readString) };
  }
}
