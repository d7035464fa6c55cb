import { limits } from '../limits.ts';
import { DecodeError } from '../values/binary-reader.ts';
import type { DeclaredMigration } from './declared-step.ts';
import { decodeRawModule } from './decode-raw-module.ts';
import type { MigrationDefinition, ModuleDefinition } from './definition.ts';
import { DefinitionErrors, type Problems } from './problems.ts';
import type { RawModule } from './raw-module.ts';
import { schemaHashOf } from './schema-hash.ts';
import type { Scope } from './scope.ts';

/**
 * Checks the migrations of a module as far as they stand by themselves. Whether their steps fit is
 * seen when they are planned: the schema after the last one is that of the program, which changes.
 * `validate` checks the definitions before them.
 */
export function validateMigrations(
  { raw, problems }: Pick<Scope, 'raw' | 'problems'>,
  validate: Validate,
): MigrationDefinition[] {
  const { migrations, submodules } = raw;
  const { migrationCountMax, migrationStepsInAllMax } = limits;
  if (migrations.length === 0) return [];
  if (migrations.length > migrationCountMax) {
    problems.report(
      `the module has ${migrations.length} migrations, more than ${migrationCountMax}`,
    );
    return [];
  }
  const stepCount = migrations.reduce((sum, { steps, down = [] }) => {
    return sum + steps.length + down.length;
  }, 0);
  if (stepCount > migrationStepsInAllMax) {
    problems.report(
      `the migrations have ${stepCount} steps in all, more than ${migrationStepsInAllMax}`,
    );
    return [];
  }
  if (submodules.some(({ namespace }) => namespace === oldNamespace)) {
    problems.report(
      `a module with migrations cannot have a submodule \`${oldNamespace}\`: ` +
        'that is where migrations find the tables as they were',
    );
  }
  return migrations.flatMap((migration, at) => {
    const before = migrations[at - 1]?.id;
    if (before !== undefined && before >= migration.id) {
      problems.report(
        before === migration.id
          ? `migration \`${before}\` is declared twice`
          : `migration \`${migration.id}\` comes after \`${before}\`, but is before it by its name`,
      );
    }
    return validateMigration(migration, problems, validate) ?? [];
  });
}

type Validate = (raw: RawModule) => ModuleDefinition;

/** Where whole steps find the tables before. */
export const oldNamespace = 'old';

function validateMigration(
  migration: DeclaredMigration,
  problems: Problems,
  validate: Validate,
): MigrationDefinition | undefined {
  const { id, hash, before, steps, down = [] } = migration;
  const { migrationDefinitionBytesMax, migrationStepsMax } = limits;
  const report = (problem: string) => problems.report(`migration \`${id}\` ${problem}`);
  if (!migrationIdPattern.test(id)) report(`has no valid id: ${migrationIdText}`);
  if (hash.length !== hashBytes) report(`has a hash of ${hash.length} bytes, not ${hashBytes}`);
  if (Math.max(steps.length, down.length) > migrationStepsMax) {
    report(`has more than ${migrationStepsMax} steps`);
  }
  if (before.length > migrationDefinitionBytesMax) {
    report(`starts from a definition larger than ${migrationDefinitionBytesMax} bytes`);
    return undefined;
  }
  const from = definitionBefore(before, validate);
  if (typeof from !== 'string') return { ...migration, from, fromHash: schemaHashOf(from) };
  report(`starts from a definition that is not valid: ${from}`);
  return undefined;
}

/** What the bytes describe, or why they do not. */
function definitionBefore(bytes: Uint8Array, validate: Validate): ModuleDefinition | string {
  try {
    const raw = decodeRawModule(bytes);
    if (raw.migrations.length > 0) return 'it declares migrations itself';
    return validate(raw);
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    if (error instanceof DefinitionErrors) return error.messages[0] ?? error.message;
    throw error;
  }
}

/** A number, so that files sort in their order, and a name. */
export const migrationIdPattern = /^[0-9]{4}-[a-z0-9][a-z0-9_-]{0,62}$/;
export const migrationIdText =
  'four digits, `-`, and a name of small letters, digits, `-` and `_`, as in `0003-split-names`';

const hashBytes = 32;
