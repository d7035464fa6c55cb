import { limits } from '../limits.ts';
import type { ModuleDefinition, TableDefinition } from './definition.ts';
import { Problems } from './problems.ts';
import type { RawModule } from './raw-module.ts';
import { openScope, type Scope, sharedNameText } from './scope.ts';
import { validateCrons } from './validate-crons.ts';
import { validateDerivedIndexes } from './validate-derived-indexes.ts';
import { validateEnv } from './validate-env.ts';
import { lifecycleTexts, validateFunctions } from './validate-functions.ts';
import { validateHttp } from './validate-http.ts';
import { validateMigrations } from './validate-migrations.ts';
import { validateSchedules } from './validate-schedules.ts';
import { validateTables } from './validate-tables.ts';
import { validateTypes } from './validate-types.ts';
import { withVectors } from './validate-vectors.ts';
import { validateViews } from './validate-views.ts';

/**
 * Checks a module's description and gives every entity its canonical name. Throws
 * `DefinitionErrors` with all errors, not only the first.
 */
export function validateModule(raw: RawModule): ModuleDefinition {
  const problems = new Problems();
  const definition = validateScope(openScope(raw, problems));
  problems.throwIfAny();
  return definition;
}

function validateScope(scope: Scope): ModuleDefinition {
  const { raw, typespace } = scope;
  const types = validateTypes(scope);
  const tables = withVectors(scope, validateTables(scope));
  const derivedIndexes = validateDerivedIndexes(scope, tables);
  const schedules = validateSchedules(scope, tables);
  const functions = validateFunctions(scope);
  const views = validateViews(scope, tables, functions.names);
  const http = validateHttp(scope);
  const scheduled = tables.map((table) => ({
    ...table,
    schedule: schedules.get(table.sourceName),
    derivedIndexes: derivedIndexes.get(table.sourceName) ?? [],
  }));
  return {
    version: raw.version,
    typespace,
    sourceTypespace: raw.typespace,
    types,
    tables: scheduled.sort(byName),
    reducers: functions.reducers,
    procedures: functions.procedures,
    views,
    httpHandlers: http.handlers,
    httpRoutes: http.routes,
    rowLevelSecurity: validateRowFilters(scope),
    crons: validateCrons(scope, scheduled),
    env: validateEnv(scope),
    migrations: validateMigrations(scope, validateModule),
    submodules: validateSubmodules(scope),
  };
}

/** Row filters are checked later, against the tables of the database that receives them. */
function validateRowFilters({ raw, problems }: Scope): readonly string[] {
  const { rowLevelSecurity } = raw;
  const max = limits.rowFilterCountMax;
  if (rowLevelSecurity.length > max) {
    problems.report(`the module has ${rowLevelSecurity.length} RLS rules, more than ${max}`);
  }
  return rowLevelSecurity;
}

/** Each submodule has its own types, names and policy. */
function validateSubmodules({ raw, problems }: Scope): ModuleDefinition['submodules'] {
  const namespaces = new Set<string>();
  return raw.submodules.map(({ namespace, module }) => {
    problems.checkIdentifiers(namespace);
    if (namespaces.has(namespace)) {
      problems.report(sharedNameText(namespace));
    }
    namespaces.add(namespace);
    const bytes = new TextEncoder().encode(namespace).length;
    if (bytes > namespaceBytesMax) {
      const limit = `exceeds the ${namespaceBytesMax}-byte limit`;
      problems.report(`submodule namespace \`${namespace}\` is ${bytes} bytes, which ${limit}`);
    }
    for (const { event } of module.lifecycleReducers) {
      problems.report(
        `lifecycle event ${lifecycleTexts[event]} is not permitted in submodule under namespace ` +
          `\`${namespace}\`; lifecycle reducers may only be declared in the root module`,
      );
    }
    return { namespace, module: validateScope(openScope(module, problems)) };
  });
}

const namespaceBytesMax = 63;

function byName(a: TableDefinition, b: TableDefinition): number {
  return a.name < b.name ? -1 : 1;
}
