import { BinaryWriter } from '../values/binary-writer.ts';
import { type DeclaredMigration, type DeclaredStep, stepKinds } from './declared-step.ts';
import { encodeRawModuleV10 } from './encode-raw-module.ts';
import type { RawModule } from './raw-module.ts';

/** The description of a module with its migrations, if it has any. */
export function encodeWithMigrations(raw: RawModule): Uint8Array {
  const { migrations } = raw;
  return encodeRawModuleV10(raw, migrations.length > 0 ? migrationsBlock(migrations) : undefined);
}

/**
 * The payload of the block that holds the migrations of a module. A file of its own, because only
 * programs with migrations carry it.
 */
export function migrationsBlock(migrations: readonly DeclaredMigration[]): Uint8Array {
  const writer = new BinaryWriter();
  writer.u32(migrations.length);
  for (const { id, hash, before, steps, down } of migrations) {
    writer.string(id);
    writer.bytes(hash);
    writer.bytes(before);
    writeSteps(writer, steps);
    writer.u8(down === undefined ? 1 : 0);
    if (down !== undefined) writeSteps(writer, down);
  }
  return writer.finish();
}

function writeSteps(writer: BinaryWriter, steps: readonly DeclaredStep[]): void {
  writer.u32(steps.length);
  for (const step of steps) {
    writer.u8(stepKinds.indexOf(step.kind));
    writePayload(writer, step);
  }
}

function writePayload(writer: BinaryWriter, step: DeclaredStep): void {
  switch (step.kind) {
    case 'renameTable':
      writeStrings(writer, step.from, step.to);
      break;
    case 'renameColumn':
      writeStrings(writer, step.table, step.from, step.to);
      break;
    case 'dropTable':
      writer.string(step.table);
      break;
    case 'dropColumn':
    case 'addColumn':
    case 'changeColumn':
      writeStrings(writer, step.table, step.column);
      break;
    case 'moveColumns':
      writer.string(step.table);
      writeList(writer, step.order);
      break;
    case 'mapRows':
      writer.string(step.table);
      writer.bool(step.reads);
      break;
    case 'splitTable':
      writer.string(step.table);
      writeList(writer, step.into);
      writer.bool(step.reads);
      break;
    case 'run':
      break;
    case 'assert':
      writer.string(step.text);
      writer.u8(step.sql === undefined ? 1 : 0);
      if (step.sql !== undefined) writer.string(step.sql);
  }
}

function writeList(writer: BinaryWriter, texts: readonly string[]): void {
  writer.u32(texts.length);
  writeStrings(writer, ...texts);
}

function writeStrings(writer: BinaryWriter, ...texts: readonly string[]): void {
  for (const text of texts) writer.string(text);
}
